"""Draw the metrics of graphs: homophily measures, their distribution over nodes, and ties."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from acm.data import load
from acm.metrics import aggregation_homophily, aggregation_similarity, all_metrics
from acm.metrics.graph import prepare

#: Color-blind readers can tell these colors apart, on white and on black.
_MEASURES = {
    "H_edge": ("#999999", "s"),
    "H_node": ("#009e73", "^"),
    "H_class": ("#d55e00", "v"),
    "H_agg": ("#0072b2", "o"),
}
_OUTCOMES = ((1, "holds", "#0072b2"), (0, "ties", "#f0e442"), (-1, "fails", "#d55e00"))


def plot_homophily(names: Sequence[str]) -> Figure:
    """Plot H_edge, H_node, H_class and H_agg of each graph, all on the undirected graph."""
    metrics = {}
    for name in names:
        data = load(name)
        metrics[name] = all_metrics(None, data.edge_index, data.y)
    order = sorted(names, key=lambda name: metrics[name]["H_edge"])
    figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
    for x, name in enumerate(order):
        values = [metrics[name][measure] for measure in _MEASURES]
        axes.vlines(x, min(values), max(values), color="#cccccc", zorder=0)
        axes.vlines(
            x,
            *metrics[name]["H_agg"].interval,
            color=_MEASURES["H_agg"][0],
            linewidth=5,
            alpha=0.35,
        )
    for measure, (color, marker) in _MEASURES.items():
        axes.plot(
            range(len(order)),
            [metrics[name][measure] for name in order],
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
    """Return the share of each node's neighbors in its class, `[N]`; NaN without neighbors.

    Args:
        edge_index: Edges, `[2, E]`; self-loops and directions are ignored.
        y: Labels, `[N]`.
    """
    graph = prepare(edge_index, y, loops="remove")
    same = graph.node[graph.y[graph.node] == graph.y[graph.neighbor]]
    return torch.bincount(same, minlength=len(y)) / graph.degree


def plot_node_distributions(names: Sequence[str], columns: int = 5) -> Figure:
    """Plot the distribution of `local_homophily` over the nodes, one panel per graph.

    The color shows the outcome of the node's comparison in H_agg. Nodes without neighbors are left
    out.
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
        has_neighbors = ~np.isnan(share)
        panel.hist(
            [share[has_neighbors & (sign == s)] for s, _, _ in _OUTCOMES],
            bins,
            stacked=True,
            weights=[
                np.full(int((has_neighbors & (sign == s)).sum()), 1 / has_neighbors.sum())
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
    figure.supxlabel("share of neighbors in the same class", fontsize="small")
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
    """Plot the shares of nodes whose comparison holds, ties or fails, in H_agg and S_agg."""
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
        start = np.zeros(len(names))
        for (_, text, color), width in zip(_OUTCOMES, np.array(shares).T):
            panel.barh(range(len(names)), width, left=start, color=color, label=text)
            start += width
        panel.set_yticks(range(len(names)), names)
        panel.invert_yaxis() if panel is panels[0] else None
        panel.set(title=title, xlabel="share of nodes", xlim=(0, 1))
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False
    )
    return figure
