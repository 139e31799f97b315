"""Plot training curves, channel weights, test accuracies and the metrics of graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch_geometric.utils import remove_self_loops, to_undirected

from acm.data import load
from acm.errors import UsageError
from acm.metrics import aggregation_homophily, aggregation_similarity, all_metrics
from acm.nn import CHANNELS
from acm.report.comparison import Comparison
from acm.training import TrainingResult

#: Colors that color-blind readers can tell apart, on a white and on a black background.
BLUE, RED, GREEN, YELLOW, GRAY = "#0072b2", "#d55e00", "#009e73", "#f0e442", "#999999"
_CHANNELS = {"low": BLUE, "high": RED, "identity": GRAY, "structure": GREEN}
_MEASURES = {"H_edge": (GRAY, "s"), "H_node": (GREEN, "^"), "H_class": (RED, "v"),
             "H_agg": (BLUE, "o")}  # fmt: skip
#: The label and color of each value of `Score.sign`.
_OUTCOMES = {1: ("holds", BLUE), 0: ("ties", YELLOW), -1: ("fails", RED)}
_SIGNS = {"higher": " ▲", "lower": " ▼"}
#: A class with a smaller share of the nodes has no label, because labels would overlap.
_SMALLEST_LABELED_SHARE = 0.07


def _panels(rows: int = 1, columns: int = 1, **options) -> tuple[Figure, np.ndarray]:
    """Return a figure and its panels, `[rows, columns]`."""
    # `plt.rc_context` would be shorter, but after it Jupyter no longer displays figures.
    figure, panels = plt.subplots(rows, columns, layout="constrained", squeeze=False, **options)
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def plot_history(result: TrainingResult) -> Figure:
    """Plot the losses and the validation accuracy of each epoch, and mark the selected epoch."""
    history = result.history
    figure, ((loss, accuracy),) = _panels(1, 2, figsize=(8, 2.8))
    loss.plot(history.train_loss, label="training", color=BLUE)
    loss.plot(history.val_loss, label="validation", color=RED)
    loss.set(xlabel="epoch", ylabel="cross-entropy")
    accuracy.plot(100 * np.array(history.val_accuracy), color=RED)
    accuracy.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(0, 102))
    for axes in (loss, accuracy):
        axes.axvline(result.best_epoch, color="#777777", linestyle=":", label="selected epoch")
    loss.legend(frameon=False)
    return figure


def plot_channel_weights(
    weights: Sequence[Tensor], y: Tensor, channels: Sequence[str] = CHANNELS
) -> Figure:
    """Plot the channel weights of each node: one panel per layer, nodes sorted by class.

    Args:
        weights: Channel weights of each layer, `[N, len(channels)]`; each row sums to one.
        y: Classes, `[N]`. Small classes have no label on the axis.
        channels: The names of the columns of `weights`.
    """
    y = y.cpu().numpy()
    alphas = [w.detach().cpu().numpy() for w in weights]
    if not alphas or any(a.shape != (len(y), len(channels)) for a in alphas):
        raise UsageError(
            f"the channel weights have shapes {[a.shape for a in alphas]}: each layer needs"
            f" ({len(y)}, {len(channels)})"
        )
    size = 8, 1.2 + 1.6 * len(alphas)
    figure, panels = _panels(len(alphas), figsize=size, sharex=True)
    starts = np.flatnonzero(np.diff(np.sort(y), prepend=-1))
    for layer, (axes, alpha) in enumerate(zip(panels.flat, alphas), start=1):
        # Nodes of a class are sorted by their first weight, to show the distribution of weights.
        alpha = alpha[np.lexsort((-alpha[:, 0], y))]
        top = alpha.cumsum(axis=1)
        for k, channel in enumerate(channels):
            axes.stairs(
                top[:, k],
                np.arange(len(y) + 1),
                baseline=top[:, k] - alpha[:, k],
                fill=True,
                color=_CHANNELS[channel],
                label=channel,
            )
        axes.vlines(starts[1:], 0, 1, color="white", linewidth=1.5)
        axes.set(ylabel=f"layer {layer}", xlim=(0, len(y)), ylim=(0, 1))
    sizes = np.diff(starts, append=len(y))
    labeled = sizes >= _SMALLEST_LABELED_SHARE * len(y)
    axes.set_xticks((starts + sizes / 2)[labeled], [f"class {c}" for c in np.unique(y)[labeled]])
    axes.tick_params(axis="x", length=0)
    handles = axes.get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=len(channels), frameon=False)
    return figure


def plot_splits(comparisons: Mapping[str, Comparison], title: str = "") -> Figure:
    """Plot one line per cell: our test accuracy on each split, and the paper's mean and ±.

    The keys of `comparisons` label the lines. A triangle marks a cell whose mean differs from the
    paper's by more than two standard errors.
    """
    # The figure is narrow, so that its text is readable on a phone.
    figure, ((axes,),) = _panels(figsize=(5.6, 1.1 + 0.24 * len(comparisons)))
    for y, c in enumerate(comparisons.values()):
        accuracy = [100 * r.test_accuracy for r in c.records]
        # Each dot is shifted down by its split number, so that equal accuracies do not overlap.
        shifted = y + np.linspace(-0.28, 0.02, len(accuracy))
        axes.plot(accuracy, shifted, "o", ms=3, alpha=0.6, color=BLUE)
        axes.plot(c.mean, y - 0.13, "|", ms=9, color=BLUE)
        if c.paper_value is not None and c.paper_value.mean is not None:
            printed = c.paper_value.mean, y + 0.26, None, c.paper_value.std
            axes.errorbar(*printed, fmt="s", ms=3, lw=1, capsize=2, color=RED)
    labels = [label + _SIGNS.get(c.verdict, "") for label, c in comparisons.items()]
    axes.set_yticks(range(len(labels)), labels, fontsize="small")
    axes.set(xlabel="test accuracy (%)", ylim=(len(labels) - 0.4, -0.6))
    axes.grid(axis="x", alpha=0.3)
    for boundary in range(1, len(labels)):
        axes.axhline(boundary - 0.5, color="#dddddd", linewidth=0.5, zorder=0)
    axes.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    legend = {"one of our splits": ("o", BLUE), "our mean": ("|", BLUE), "the paper": ("s-", RED)}
    for text, (marker, color) in legend.items():
        axes.plot([], [], marker, ms=4, lw=1, color=color, label=text)
    figure.legend(loc="outside upper right", ncols=3, fontsize="small", frameon=False)
    return figure


def plot_homophily(names: Sequence[str]) -> Figure:
    """Plot H_edge, H_node, H_class, H_agg of the undirected graphs, with the interval of H_agg."""
    metrics = {}
    for name in names:
        data = load(name)
        metrics[name] = all_metrics(None, data.edge_index, data.y)
    order = sorted(names, key=lambda name: metrics[name]["H_edge"])
    figure, ((axes,),) = _panels(figsize=(8, 3.8))
    for x, name in enumerate(order):
        values = [metrics[name][measure] for measure in _MEASURES]
        axes.vlines(x, min(values), max(values), color="#cccccc", zorder=0)
        axes.vlines(x, *metrics[name]["H_agg"].interval, color=BLUE, linewidth=5, alpha=0.35)
    for measure, (color, marker) in _MEASURES.items():
        axes.plot([metrics[name][measure] for name in order], marker, color=color, label=measure)
    axes.set_xticks(range(len(order)), order, rotation=30, ha="right")
    axes.set(ylabel="homophily", ylim=(-0.03, 1.03))
    axes.grid(axis="y", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=len(_MEASURES), frameon=False)
    return figure


def local_homophily(edge_index: Tensor, y: Tensor) -> Tensor:
    """Return for each node the share of neighbors that have the node's class, `[N]`.

    A node without neighbors gets NaN. Self-loops and the directions of edges are ignored.
    """
    node, neighbor = to_undirected(remove_self_loops(edge_index)[0], num_nodes=len(y))
    same = torch.bincount(node[y[node] == y[neighbor]], minlength=len(y))
    return same / torch.bincount(node, minlength=len(y))


def plot_node_distributions(names: Sequence[str]) -> Figure:
    """Plot a histogram of `local_homophily` over the nodes, one panel per graph.

    Colors show whether the node's comparison in H_agg holds, ties or fails. Nodes without neighbors
    are left out.
    """
    rows = -(-len(names) // 5)
    figure, axes = _panels(rows, 5, figsize=(8.4, 1.9 * rows + 0.6), sharex=True)
    for panel, name in zip(axes.flat, names):
        data = load(name)
        share = local_homophily(data.edge_index, data.y).numpy()
        sign = aggregation_homophily(data.edge_index, data.y).sign.numpy()
        has_neighbors = ~np.isnan(share)
        groups = [share[has_neighbors & (sign == s)] for s in _OUTCOMES]
        panel.hist(
            groups,
            np.linspace(0, 1, 11),
            stacked=True,
            weights=[np.full(len(group), 1 / has_neighbors.sum()) for group in groups],
            color=[color for _, color in _OUTCOMES.values()],
            label=[f"comparison {text}" for text, _ in _OUTCOMES.values()],
        )
        panel.set_title(name, fontsize="small")
        panel.tick_params(labelsize="x-small")
    for panel in axes.flat[len(names) :]:
        panel.set_visible(False)
    figure.supxlabel("share of neighbors in the same class", fontsize="small")
    figure.supylabel("share of nodes", fontsize="small")
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3, fontsize="small", frameon=False)
    return figure


def plot_ties(names: Sequence[str]) -> Figure:
    """Plot the shares of nodes whose comparison holds, ties or fails, for H_agg and for S_agg."""
    figure, (panels,) = _panels(1, 2, figsize=(8, 3.4), sharey=True)
    signs: tuple[list[Tensor], list[Tensor]] = [], []
    for data in map(load, names):
        signs[0].append(aggregation_homophily(data.edge_index, data.y).sign)
        options = {"filter": "identity", "normalize_features": True}
        signs[1].append(aggregation_similarity(data.x, None, data.y, **options).sign)
    for panel, graphs in zip(panels, signs):
        start = np.zeros(len(names))
        for sign, (text, color) in _OUTCOMES.items():
            width = [float((graph == sign).double().mean()) for graph in graphs]
            panel.barh(names, width, left=start, color=color, label=text)
            start += width
        panel.set(xlabel="share of nodes", xlim=(0, 1))
    panels[0].set_title("labels: H_agg")
    panels[1].set_title("features: S_agg(S(I, X))")
    panels[0].invert_yaxis()
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=3, frameon=False)
    return figure
