"""Pictures of the worked examples and of filters: graphs with their matrices, responses."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from acm.theory.labelled_graph import Example

#: Colours that stay apart for colour-blind readers (Okabe and Ito), by class.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")


def plot_example(example: Example, boxes: Sequence[tuple[int, int]] = ()) -> Figure:
    """A worked example: the graph, `S(Â, Z)` and `S(I − Â, Z)`.

    Args:
        example: What to draw.
        boxes: Pairs of classes whose block of `S(I − Â, Z)` is framed, as in the paper's App. G.
    """
    figure, axes = plt.subplot_mosaic(
        [["graph", "graph"], ["low", "high"]],
        figsize=(7.4, 6.8),
        gridspec_kw={"height_ratios": [0.8, 1]},
    )
    left, right = axes["graph"], [axes["low"], axes["high"]]
    colour = {node: COLOURS[kind - 1] for node, kind in example.classes.items()}
    for u, v in example.edges:
        left.plot(*zip(example.places[u], example.places[v]), color="0.6", lw=0.9, zorder=1)
    x, y = np.array([example.places[node] for node in example.nodes]).T
    left.scatter(x, y, s=260, c=list(colour.values()), edgecolors="black", zorder=2)
    for node, (x, y) in example.places.items():
        left.text(x, y, str(node), ha="center", va="center", color="white", weight="bold", zorder=3)
    left.set_aspect("equal")
    left.margins(0.12)
    left.axis("off")
    largest = max(abs(float(w)) for name in ("low", "high") for w in example.similarity(name).flat)
    for axes, name, title in zip(
        right, ("low", "high"), (r"$S(\hat{A}, Z)$", r"$S(I - \hat{A}, Z)$")
    ):
        weights = example.similarity(name).astype(float)
        axes.imshow(weights, cmap="PuOr", vmin=-largest, vmax=largest)
        size = 9 if len(weights) < 10 else 5
        for (i, j), weight in np.ndenumerate(weights):
            dark = abs(weight) > 0.6 * largest
            axes.text(j, i, f"{weight + 0.0:.2f}", ha="center", va="center", fontsize=size,
                      color="white" if dark else "black")  # fmt: skip
        axes.set_title(title)
        axes.set_xticks(range(len(weights)), example.nodes)
        axes.set_yticks(range(len(weights)), example.nodes)
        axes.tick_params(length=0)
        for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
            for tick, node in zip(ticks, example.nodes):
                tick.set_color(colour[node])
                tick.set_weight("bold")
    for a, b in [pair for one, other in boxes for pair in ((one, other), (other, one))]:
        rows, columns = (
            [example.nodes.index(node) for node in example.members(kind)] for kind in (a, b)
        )
        right[1].add_patch(
            Rectangle((columns[0] - 0.5, rows[0] - 0.5), len(columns), len(rows),
                      fill=False, edgecolor="black", lw=2)
        )  # fmt: skip
    return figure


def plot_response(found: dict[str, np.ndarray], bins: int = 12) -> Figure:
    """The gains of both filters over frequency, and the energy they leave of a graph's signals.

    Args:
        found: What `acm.theory.filterbank.energies` returns.
        bins: How many intervals of frequency energy is summed over.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    frequency = found["frequency"]
    top = max(1.05, float(frequency.max()) * 1.02)
    line = np.linspace(0, top, 200)
    names = {"signal": ("0.45", "$X$"), "low": (COLOURS[0], r"$\hat{A}X$"),
             "high": (COLOURS[1], r"$(I-\hat{A})X$")}  # fmt: skip
    for name, gain in (("low", abs(1 - line)), ("high", line)):
        left.plot(line, gain, color=names[name][0], label=f"gain of {name} pass")
    left.plot(frequency, np.full_like(frequency, -0.06), "|", color="0.3", label="eigenvalues")
    left.set(xlabel=r"frequency $1-\lambda(\hat{A})$", ylabel="gain", ylim=(-0.12, None))
    left.legend()
    edges = np.linspace(0, top, bins + 1)
    for shift, (name, (colour, label)) in enumerate(names.items()):
        # The frequency of constants is 0 up to rounding, and must not fall below the first bin.
        total, _ = np.histogram(frequency.clip(min=0), edges, weights=found[name])
        width = (edges[1] - edges[0]) / 3.5
        right.bar(edges[:-1] + width * (shift + 0.75), total / found["signal"].sum(), width,
                  color=colour, label=label)  # fmt: skip
    right.set(xlabel=r"frequency $1-\lambda(\hat{A})$", ylabel="share of the energy of $X$")
    right.legend()
    return figure
