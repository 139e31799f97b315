"""A graph's column of Table 3, every split a dot."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.report.comparison import Comparison
from acm.report.figures import COLORS
from acm.report.table3 import Place

_SIGNS = {"higher": " ▲", "lower": " ▼"}


def plot_columns(cells: Mapping[Place, Comparison]) -> list[Figure]:
    """`plot_column` for each graph that there are cells of."""
    there = {dataset for _, dataset in cells}
    return [plot_column(cells, dataset) for dataset in PAPER_DATASETS if dataset in there]


def plot_column(cells: Mapping[Place, Comparison], dataset: str) -> Figure:
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
        if c.published is not None and c.published.mean is not None:
            mean, std = c.published.mean, c.published.std
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
