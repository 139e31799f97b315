"""Draw training runs: loss curves, channel weights, and test accuracies next to the paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.nn import CHANNELS
from acm.report.cells import Cell
from acm.report.comparison import Comparison
from acm.training import TrainingResult

#: One color per channel. Color-blind readers can tell them apart, on white and on black.
COLORS = {"low": "#0072b2", "high": "#d55e00", "identity": "#999999", "structure": "#009e73"}
_NAMES = {"low": "low-pass", "high": "high-pass"} | {n: n for n in ("identity", "structure")}
#: A class with a smaller share of the nodes gets no label, because the label would not fit.
_SMALLEST_LABELED_SHARE = 0.07
#: The weights of a layer are called level if their standard deviation over nodes is below this.
LEVEL = 0.005
_SIGNS = {"higher": " ▲", "lower": " ▼"}


def plot_history(result: TrainingResult) -> Figure:
    """Plot loss and validation accuracy after each epoch, and mark the selected epoch."""
    history = result.history
    figure, (loss, accuracy) = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    loss.plot(history.train_loss, label="training", color="#0072b2")
    loss.plot(history.val_loss, label="validation", color="#d55e00")
    loss.set(xlabel="epoch", ylabel="cross-entropy")
    accuracy.plot(100 * np.array(history.val_accuracy), label="validation", color="#d55e00")
    accuracy.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(0, 102))
    for axes in (loss, accuracy):
        axes.axvline(result.best_epoch, color="#777777", linestyle=":", label="selected epoch")
        axes.spines[["top", "right"]].set_visible(False)
    loss.legend(frameon=False)
    return figure


def plot_channel_weights(
    weights: Sequence[Tensor], y: Tensor, channels: Sequence[str] = CHANNELS
) -> Figure:
    """Plot how each node mixes its channels: one panel per layer, nodes sorted by class.

    Small classes get no label.

    Args:
        weights: `α` of each layer, `[N, len(channels)]`, whose rows sum to one.
        y: Classes, `[N]`.
        channels: The names of the columns of `weights`.

    Raises:
        UsageError: If there is no layer, or if a shape is not `[N, len(channels)]`.
    """
    y = y.cpu().numpy()
    alphas = [w.detach().cpu().numpy() for w in weights]
    if not alphas or any(a.shape != (len(y), len(channels)) for a in alphas):
        raise UsageError(
            f"channel weights of shapes {[a.shape for a in alphas]}: each layer needs"
            f" ({len(y)}, {len(channels)})"
        )
    figure, rows = plt.subplots(
        len(alphas),
        1,
        figsize=(8, 1.2 + 1.6 * len(alphas)),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    starts = np.flatnonzero(np.diff(np.sort(y), prepend=-1))
    middles = (starts + np.append(starts[1:], len(y))) / 2
    for layer, (axes, alpha) in enumerate(zip(rows[:, 0], alphas), start=1):
        # Nodes of a class are sorted by their first weight, so that its distribution is visible.
        order = np.lexsort((-alpha[:, 0], y))
        top = alpha[order].cumsum(axis=1)
        for k, channel in enumerate(channels):
            axes.stairs(
                top[:, k],
                np.arange(len(y) + 1),
                baseline=top[:, k] - alpha[order, k],
                fill=True,
                color=COLORS[channel],
                label=_NAMES[channel],
            )
        axes.vlines(starts[1:], 0, 1, color="white", linewidth=1.5)
        axes.set(ylabel=f"layer {layer}", xlim=(0, len(y)), ylim=(0, 1))
    labeled = np.diff(starts, append=len(y)) >= _SMALLEST_LABELED_SHARE * len(y)
    rows[-1, 0].set_xticks(middles[labeled], [f"class {c}" for c in np.unique(y)[labeled]])
    rows[-1, 0].tick_params(axis="x", length=0)
    figure.legend(
        *rows[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(channels),
        frameon=False,
    )
    return figure


def channel_sentence(weights: Sequence[Tensor], channels: Sequence[str] = CHANNELS) -> str:
    """Return in words the mean weight of each channel, and whether weights vary over nodes.

    Args:
        weights: `α` of each layer, `[N, len(channels)]`, whose rows sum to one.
        channels: The names of the columns of `weights`.

    Raises:
        UsageError: If there is no layer or no node, or if a shape is not `[N, len(channels)]`.
    """
    shapes = [tuple(w.shape) for w in weights]
    if not shapes or any(len(s) != 2 or not s[0] or s[1] != len(channels) for s in shapes):
        raise UsageError(
            f"channel weights of shapes {shapes}: each layer needs (nodes, {len(channels)})"
        )
    sentences = []
    for layer, alpha in enumerate(weights, start=1):
        alpha = alpha.detach().double()
        means = [f"{name} {100 * m:.0f} %" for name, m in zip(channels, alpha.mean(0).tolist())]
        spread = alpha.std(0, correction=0).max().item()
        sentences.append(
            f"Layer {layer} weighs {', '.join(means)} on average, with a standard deviation over"
            f" the nodes of at most {100 * spread:.1f} points: "
            + ("the weights are level." if spread < LEVEL else "the weights are not level.")
        )
    return " ".join(sentences)


def plot_splits(comparisons: Sequence[Comparison]) -> Figure:
    """Plot the test accuracy of every split next to the paper's mean and ±, cell by cell.

    Raises:
        UsageError: If there is no cell.
    """
    if not comparisons:
        raise UsageError("there is no cell to draw")
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    ours, theirs = {"color": COLORS["low"]}, {"color": COLORS["high"]}
    for x, c in enumerate(comparisons):
        accuracy = [100 * r.test_accuracy for r in c.records]
        # Dots are shifted in the order of the splits, so that equal accuracies do not overlap.
        positions = x + np.linspace(-0.28, -0.08, len(accuracy))
        axes.plot(positions, accuracy, "o", ms=3.5, alpha=0.7, **ours)
        axes.hlines(c.mean, x - 0.3, x - 0.06, **ours)
        if c.paper_value is not None and c.paper_value.mean is not None:
            mean, std = c.paper_value.mean, c.paper_value.std
            axes.errorbar(x + 0.15, mean, std, fmt="s", ms=4, capsize=3, **theirs)
    names = [c.records[0].dataset for c in comparisons]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set(ylabel="test accuracy (%)")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(handles=_legend("_"), frameon=False, fontsize="small")
    return figure


def plot_columns(cells: Mapping[Cell, Comparison]) -> list[Figure]:
    """Draw `plot_column` for each graph that has a trained cell."""
    trained = {dataset for _, dataset in cells}
    return [plot_column(cells, dataset) for dataset in PAPER_DATASETS if dataset in trained]


def plot_column(cells: Mapping[Cell, Comparison], dataset: str) -> Figure:
    """Plot the test accuracy of every split on a graph, model by model, next to the paper's.

    A triangle marks each model whose mean differs by more than two standard errors.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
        dataset: The graph.

    Raises:
        UsageError: If no cell of the graph is trained.
    """
    column = {model: c for (model, d), c in cells.items() if d == dataset}
    if not column:
        raise UsageError(f"no cell of Table 3 was run on {dataset}")
    # The figure is narrow, so that its letters can be read on a phone.
    figure, axes = plt.subplots(figsize=(5.6, 1.1 + 0.24 * len(column)), layout="constrained")
    ours, theirs = {"color": COLORS["low"]}, {"color": COLORS["high"]}
    for y, c in enumerate(column.values()):
        accuracy = [100 * r.test_accuracy for r in c.records]
        # Dots are shifted in the order of the splits, so that equal accuracies do not overlap.
        positions = y + np.linspace(-0.28, 0.02, len(accuracy))
        axes.plot(accuracy, positions, "o", ms=3, alpha=0.6, **ours)
        axes.vlines(c.mean, y - 0.36, y + 0.1, **ours)
        if c.paper_value is not None and c.paper_value.mean is not None:
            mean, std = c.paper_value.mean, c.paper_value.std
            axes.errorbar(mean, y + 0.26, xerr=std, fmt="s", ms=3, lw=1, capsize=2, **theirs)
    names = [model + _SIGNS.get(c.verdict, "") for model, c in column.items()]
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set(xlabel="test accuracy (%)", ylim=(len(names) - 0.4, -0.6))
    axes.grid(axis="x", alpha=0.3)
    for boundary in range(1, len(names)):
        axes.axhline(boundary - 0.5, color="#dddddd", linewidth=0.5, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(dataset, loc="left", fontsize="medium", fontweight="bold")
    figure.legend(
        handles=_legend("|"), loc="outside upper right", ncols=3, frameon=False, fontsize="small"
    )
    return figure


def _legend(mean_marker: str) -> list[Line2D]:
    ours, theirs = COLORS["low"], COLORS["high"]
    return [
        Line2D([], [], marker="o", ls="", ms=3, label="one of our splits", color=ours),
        Line2D([], [], marker=mean_marker, ls="", ms=9, label="our mean", color=ours),
        Line2D([], [], marker="s", ms=3, lw=1, label="the paper", color=theirs),
    ]
