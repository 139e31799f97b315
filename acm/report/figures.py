"""Figures of one training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from acm.data import load
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.metrics import aggregation_homophily, aggregation_similarity, all_metrics
from acm.metrics.graph import prepare
from acm.nn import CHANNELS
from acm.report.cells import Cell
from acm.report.comparison import Comparison
from acm.training import TrainingResult

#: One colour a channel, told apart by the colour-blind too, on white and on black.
COLORS = {"low": "#0072b2", "high": "#d55e00", "identity": "#999999"}
#: A class of a smaller share of the nodes is too narrow to stand above its name.
_LABEL = 0.07
_NAMES = {"low": "low-pass", "high": "high-pass", "identity": "identity"}


def plot_history(fit: TrainingResult) -> Figure:
    """Loss and validation accuracy after each epoch, with the selected epoch marked."""
    history = fit.history
    figure, (loss, accuracy) = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    loss.plot(history.train_loss, label="training", color="#0072b2")
    loss.plot(history.val_loss, label="validation", color="#d55e00")
    loss.set(xlabel="epoch", ylabel="cross-entropy")
    accuracy.plot(100 * np.array(history.val_accuracy), label="validation", color="#d55e00")
    accuracy.set(xlabel="epoch", ylabel="accuracy (%)", ylim=(0, 102))
    for axes in (loss, accuracy):
        axes.axvline(fit.best_epoch, color="#777777", linestyle=":", label="selected epoch")
        axes.spines[["top", "right"]].set_visible(False)
    loss.legend(frameon=False)
    return figure


def plot_channel_weights(
    weights: Sequence[Tensor], y: Tensor, channels: Sequence[str] = CHANNELS
) -> Figure:
    """How each node mixes its channels: a column a node, nodes sorted by class, one row a layer.

    Classes are named along the axis, but for those too narrow for it.

    Args:
        weights: `α` of each layer, `[N, len(channels)]`, whose rows sum to one.
        y: Classes, `[N]`.
        channels: What the columns of `weights` stand for.

    Raises:
        UsageError: If the shapes do not fit.
    """
    y = y.cpu().numpy()
    alphas = [w.detach().cpu().numpy() for w in weights]
    if not alphas or any(a.shape != (len(y), len(channels)) for a in alphas):
        raise UsageError(
            f"channel weights of shapes {[a.shape for a in alphas]}: one"
            f" ({len(y)}, {len(channels)}) a layer is needed"
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
        # Within a class by the first channel's weight, so that the shares can be read off.
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
    wide = np.diff(starts, append=len(y)) >= _LABEL * len(y)
    rows[-1, 0].set_xticks(middles[wide], [f"class {c}" for c in np.unique(y)[wide]])
    rows[-1, 0].tick_params(axis="x", length=0)
    figure.legend(
        *rows[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(channels),
        frameon=False,
    )
    return figure


def plot_splits(comparisons: Sequence[Comparison]) -> Figure:
    """The test accuracy of every split, beside the paper's mean and its ±.

    Raises:
        UsageError: If there is no cell.
    """
    if not comparisons:
        raise UsageError("there is no cell to draw")
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for place, c in enumerate(comparisons):
        accuracy = [100 * r.test_accuracy for r in c.records]
        # Spread by the order of the splits, so that equal accuracies stay apart.
        offset = np.linspace(-0.28, -0.08, len(accuracy))
        axes.plot(
            place + offset,
            accuracy,
            "o",
            color=COLORS["low"],
            markersize=3.5,
            alpha=0.7,
            label="a split of ours" if place == 0 else None,
        )
        axes.hlines(
            c.mean,
            place - 0.3,
            place - 0.06,
            color=COLORS["low"],
            label="our mean" if place == 0 else None,
        )
        if c.paper_value is not None and c.paper_value.mean is not None:
            axes.errorbar(
                place + 0.15,
                c.paper_value.mean,
                c.paper_value.std,
                fmt="s",
                capsize=3,
                color=COLORS["high"],
                markersize=4,
                label="the paper, mean and ±" if place == 0 else None,
            )
    names = [c.records[0].dataset for c in comparisons]
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set(ylabel="test accuracy (%)")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")
    return figure


#: Bands whose weights vary less than this from node to node (standard deviation) look level.
LEVEL = 0.005


def channel_sentence(weights: Sequence[Tensor], channels: Sequence[str] = CHANNELS) -> str:
    """For each layer the mean weight of every channel, and whether nodes are treated alike.

    Args:
        weights: `α` of each layer, `[N, len(channels)]`, whose rows sum to one.
        channels: What the columns of `weights` stand for.

    Raises:
        UsageError: If there is no layer or no node, or a shape does not fit.
    """
    shapes = [tuple(w.shape) for w in weights]
    if not shapes or any(len(s) != 2 or not s[0] or s[1] != len(channels) for s in shapes):
        raise UsageError(
            f"channel weights of shapes {shapes}: one (nodes, {len(channels)}) a layer is needed"
        )
    said = []
    for layer, alpha in enumerate(weights, start=1):
        alpha = alpha.detach().double()
        means = [f"{name} {100 * m:.0f} %" for name, m in zip(channels, alpha.mean(0).tolist())]
        spread = alpha.std(0, correction=0).max().item()
        said.append(
            f"Layer {layer} weighs {', '.join(means)} on average, with a standard deviation over"
            f" the nodes of at most {100 * spread:.1f} points: "
            + ("its bands are level." if spread < LEVEL else "its bands are not level.")
        )
    return " ".join(said)


#: Told apart by the colour-blind too, on white and on black.
_MEASURES = {
    "H_edge": ("#999999", "s"),
    "H_node": ("#009e73", "^"),
    "H_class": ("#d55e00", "v"),
    "H_agg": ("#0072b2", "o"),
}
_OUTCOMES = ((1, "holds", "#0072b2"), (0, "ties", "#f0e442"), (-1, "fails", "#d55e00"))


def plot_homophily(names: Sequence[str]) -> Figure:
    """H_edge, H_node, H_class and H_agg of each graph, all on the undirected graph."""
    found = {}
    for name in names:
        data = load(name)
        found[name] = all_metrics(None, data.edge_index, data.y)
    order = sorted(names, key=lambda name: found[name]["H_edge"])
    figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
    for place, name in enumerate(order):
        values = [found[name][measure] for measure in _MEASURES]
        axes.vlines(place, min(values), max(values), color="#cccccc", zorder=0)
        axes.vlines(
            place,
            *found[name]["H_agg"].interval,
            color=_MEASURES["H_agg"][0],
            linewidth=5,
            alpha=0.35,
        )
    for measure, (color, marker) in _MEASURES.items():
        axes.plot(
            range(len(order)),
            [found[name][measure] for name in order],
            marker,
            color=color,
            label=measure,
        )
    axes.set_xticks(range(len(order)), order, rotation=30, ha="right")
    axes.set(ylabel="homophily", ylim=(-0.03, 1.03))
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=len(_MEASURES), frameon=False)
    return figure


def local_homophily(edge_index: Tensor, y: Tensor) -> Tensor:
    """The share of each node's neighbours that are of its class, `[N]`; NaN without neighbours.

    Args:
        edge_index: Edges, `[2, E]`; loops and directions are disregarded.
        y: Labels, `[N]`.
    """
    graph = prepare(edge_index, y, loops="remove")
    same = graph.node[graph.y[graph.node] == graph.y[graph.neighbor]]
    return torch.bincount(same, minlength=len(y)) / graph.degree


def plot_node_distributions(names: Sequence[str], columns: int = 5) -> Figure:
    """How many of a node's neighbours are like it, and whether aggregation tells its class.

    A panel a graph: the distribution of the share of neighbours in a node's own class, coloured by
    the outcome of the node's comparison in H_agg. Nodes without neighbours are left out.
    """
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(8.4, 1.9 * rows + 0.6),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    bins = np.linspace(0, 1, 11)
    for panel, name in zip(axes.flat, names):
        data = load(name)
        share = local_homophily(data.edge_index, data.y).numpy()
        sign = aggregation_homophily(data.edge_index, data.y).sign.numpy()
        linked = ~np.isnan(share)
        panel.hist(
            [share[linked & (sign == s)] for s, _, _ in _OUTCOMES],
            bins,
            stacked=True,
            weights=[
                np.full(int((linked & (sign == s)).sum()), 1 / linked.sum())
                for s, _, _ in _OUTCOMES
            ],
            color=[color for _, _, color in _OUTCOMES],
            label=[f"comparison {text}" for _, text, _ in _OUTCOMES],
        )
        panel.set_title(name, fontsize="small")
        panel.tick_params(labelsize="x-small")
        panel.spines[["top", "right"]].set_visible(False)
    for panel in axes.flat[len(names) :]:
        panel.set_visible(False)
    figure.supxlabel("share of neighbours in the same class", fontsize="small")
    figure.supylabel("share of nodes", fontsize="small")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=3,
        frameon=False,
        fontsize="small",
    )
    return figure


def plot_ties(names: Sequence[str]) -> Figure:
    """For how many nodes the comparison holds, ties and fails: by labels and by features."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
    titles = ("labels: H_agg", "features: S_agg(S(I, X))")
    for panel, title in zip(panels, titles):
        shares = []
        for name in names:
            data = load(name)
            score = (
                aggregation_homophily(data.edge_index, data.y)
                if title == titles[0]
                else aggregation_similarity(
                    data.x, None, data.y, filter="identity", normalize_features=True
                )
            )
            shares.append([float((score.sign == s).double().mean()) for s, _, _ in _OUTCOMES])
        left = np.zeros(len(names))
        for (_, text, color), width in zip(_OUTCOMES, np.array(shares).T):
            panel.barh(range(len(names)), width, left=left, color=color, label=text)
            left += width
        panel.set_yticks(range(len(names)), names)
        panel.invert_yaxis() if panel is panels[0] else None
        panel.set(title=title, xlabel="share of nodes", xlim=(0, 1))
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False
    )
    return figure


_SIGNS = {"higher": " ▲", "lower": " ▼"}


def plot_columns(cells: Mapping[Cell, Comparison]) -> list[Figure]:
    """`plot_column` for each graph that there are cells of."""
    there = {dataset for _, dataset in cells}
    return [plot_column(cells, dataset) for dataset in PAPER_DATASETS if dataset in there]


def plot_column(cells: Mapping[Cell, Comparison], dataset: str) -> Figure:
    """The test accuracy of every split on a graph, model by model, beside the paper's.

    A model whose mean is off by more than two standard errors has a triangle at its name.

    Args:
        cells: As `table_3` returns them.
        dataset: The graph.

    Raises:
        UsageError: If no cell of it was run.
    """
    column = {model: c for (model, d), c in cells.items() if d == dataset}
    if not column:
        raise UsageError(f"no cell of Table 3 was run on {dataset}")
    # Narrow, so that its letters are still read on a phone.
    figure, axes = plt.subplots(figsize=(5.6, 1.1 + 0.24 * len(column)), layout="constrained")
    ours, theirs = {"color": COLORS["low"]}, {"color": COLORS["high"]}
    for place, c in enumerate(column.values()):
        accuracy = [100 * r.test_accuracy for r in c.records]
        # Spread by the order of the splits, so that equal accuracies stay apart.
        heights = place + np.linspace(-0.28, 0.02, len(accuracy))
        axes.plot(accuracy, heights, "o", ms=3, alpha=0.6, **ours)
        axes.vlines(c.mean, place - 0.36, place + 0.1, **ours)
        if c.paper_value is not None and c.paper_value.mean is not None:
            mean, std = c.paper_value.mean, c.paper_value.std
            axes.errorbar(mean, place + 0.26, xerr=std, fmt="s", ms=3, lw=1, capsize=2, **theirs)
    names = [model + _SIGNS.get(c.verdict, "") for model, c in column.items()]
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set(xlabel="test accuracy (%)", ylim=(len(names) - 0.4, -0.6))
    axes.grid(axis="x", alpha=0.3)
    for boundary in range(1, len(names)):
        axes.axhline(boundary - 0.5, color="#dddddd", linewidth=0.5, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(dataset, loc="left", fontsize="medium", fontweight="bold")
    signs = [
        Line2D([], [], marker="o", ls="", ms=3, label="a split of ours", **ours),
        Line2D([], [], marker="|", ls="", ms=9, label="our mean", **ours),
        Line2D([], [], marker="s", ms=3, lw=1, label="the paper", **theirs),
    ]
    figure.legend(
        handles=signs, loc="outside upper right", ncols=3, frameon=False, fontsize="small"
    )
    return figure
