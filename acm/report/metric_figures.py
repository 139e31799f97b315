"""Figures of homophily: graph by graph, node by node, and where ties decide."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from acm.data import load
from acm.metrics import aggregation_homophily, aggregation_similarity, all_metrics
from acm.report.metrics import local_homophily

#: Told apart by the colour-blind too, on white and on black.
_MEASURES = {"H_edge": ("#999999", "s"), "H_node": ("#009e73", "^"), "H_class": ("#d55e00", "v"),
             "H_agg": ("#0072b2", "o")}
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
        axes.vlines(place, *found[name]["H_agg"].interval, color=_MEASURES["H_agg"][0],
                    linewidth=5, alpha=0.35)
    for measure, (color, marker) in _MEASURES.items():
        axes.plot(range(len(order)), [found[name][measure] for name in order], marker,
                  color=color, label=measure)
    axes.set_xticks(range(len(order)), order, rotation=30, ha="right")
    axes.set(ylabel="homophily", ylim=(-0.03, 1.03))
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=len(_MEASURES), frameon=False)
    return figure


def plot_node_distributions(names: Sequence[str], columns: int = 5) -> Figure:
    """How many of a node's neighbours are like it, and whether aggregation tells its class.

    A panel a graph: the distribution of the share of neighbours in a node's own class, coloured by
    the outcome of the node's comparison in H_agg. Nodes without neighbours are left out.
    """
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(8.4, 1.9 * rows + 0.6), sharex=True,
                                squeeze=False, layout="constrained")
    bins = np.linspace(0, 1, 11)
    for panel, name in zip(axes.flat, names):
        data = load(name)
        share = local_homophily(data.edge_index, data.y).numpy()
        sign = aggregation_homophily(data.edge_index, data.y).sign.numpy()
        linked = ~np.isnan(share)
        panel.hist([share[linked & (sign == s)] for s, _, _ in _OUTCOMES], bins, stacked=True,
                   weights=[np.full(int((linked & (sign == s)).sum()), 1 / linked.sum())
                            for s, _, _ in _OUTCOMES],
                   color=[color for _, _, color in _OUTCOMES],
                   label=[f"comparison {text}" for _, text, _ in _OUTCOMES])
        panel.set_title(name, fontsize="small")
        panel.tick_params(labelsize="x-small")
        panel.spines[["top", "right"]].set_visible(False)
    for panel in axes.flat[len(names):]:
        panel.set_visible(False)
    figure.supxlabel("share of neighbours in the same class", fontsize="small")
    figure.supylabel("share of nodes", fontsize="small")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3,
                  frameon=False, fontsize="small")
    return figure


def plot_ties(names: Sequence[str]) -> Figure:
    """For how many nodes the comparison holds, ties and fails: by labels and by features."""
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
    titles = ("labels: H_agg", "features: S_agg(S(I, X))")
    for panel, title in zip(panels, titles):
        shares = []
        for name in names:
            data = load(name)
            score = aggregation_homophily(data.edge_index, data.y) if title == titles[0] else \
                aggregation_similarity(data.x, None, data.y, filter="identity",
                                       normalize_features=True)
            shares.append([float((score.sign == s).double().mean()) for s, _, _ in _OUTCOMES])
        left = np.zeros(len(names))
        for (_, text, color), width in zip(_OUTCOMES, np.array(shares).T):
            panel.barh(range(len(names)), width, left=left, color=color, label=text)
            left += width
        panel.set_yticks(range(len(names)), names)
        panel.invert_yaxis() if panel is panels[0] else None
        panel.set(title=title, xlabel="share of nodes", xlim=(0, 1))
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3,
                  frameon=False)
    return figure
