"""Draw the example graphs with their similarity matrices, and the gains of the two filters."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from acm.theory.labeled_graph import Example

#: Colors by class, from the palette of Okabe and Ito, which color-blind readers can tell apart.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")


def plot_example(example: Example, boxes: Sequence[tuple[int, int]] = ()) -> Figure:
    """Draw the graph of an example with `S(Â, Z)` and `S(I − Â, Z)`.

    In `S(I − Â, Z)`, `boxes` lists the pairs of classes whose blocks have a frame (App. G).
    """
    figure, panels = plt.subplot_mosaic(
        [["graph", "graph"], ["low", "high"]],
        figsize=(7.4, 6.8),
        gridspec_kw={"height_ratios": [0.8, 1]},
    )
    graph = panels["graph"]
    color = {node: COLORS[label - 1] for node, label in example.classes.items()}
    for u, v in example.edges:
        graph.plot(*zip(example.positions[u], example.positions[v]), color="0.6", lw=0.9, zorder=1)
    x, y = np.array([example.positions[node] for node in example.nodes]).T
    graph.scatter(x, y, s=260, c=list(color.values()), edgecolors="black", zorder=2)
    text = {"ha": "center", "va": "center"}
    for node, (x, y) in example.positions.items():
        graph.text(x, y, str(node), color="white", weight="bold", zorder=3, **text)
    graph.set_aspect("equal")
    graph.margins(0.12)
    graph.axis("off")
    titles = {"low": r"$S(\hat{A}, Z)$", "high": r"$S(I - \hat{A}, Z)$"}
    largest = max(abs(float(w)) for channel in titles for w in example.similarity[channel].flat)
    for channel, title in titles.items():
        axes = panels[channel]
        weights = example.similarity[channel].astype(float)
        axes.imshow(weights, cmap="PuOr", vmin=-largest, vmax=largest)
        size = 9 if len(weights) < 10 else 5
        for (i, j), weight in np.ndenumerate(weights):
            contrast = "white" if abs(weight) > 0.6 * largest else "black"
            # Adding zero removes the sign of a negative zero.
            axes.text(j, i, f"{weight + 0.0:.2f}", fontsize=size, color=contrast, **text)
        axes.set_title(title)
        axes.set_xticks(range(len(weights)), example.nodes)
        axes.set_yticks(range(len(weights)), example.nodes)
        axes.tick_params(length=0)
        for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
            for tick, node in zip(ticks, example.nodes):
                tick.set(color=color[node], weight="bold")
    for pair in boxes:
        for row_class, column_class in (pair, pair[::-1]):
            rows, columns = (
                [example.nodes.index(node) for node in example.members(label)]
                for label in (row_class, column_class)
            )
            corner = (columns[0] - 0.5, rows[0] - 0.5)
            frame = Rectangle(corner, len(columns), len(rows), fill=False, edgecolor="black", lw=2)
            panels["high"].add_patch(frame)
    return figure


def plot_response(energies: dict[str, np.ndarray], bins: int = 12) -> Figure:
    """Plot the gains of both filters, and a histogram of `filterbank.energies` by frequency."""
    figure, (gains, bars) = plt.subplots(1, 2, figsize=(10, 3.8))
    frequency = energies["frequency"]
    top = max(1.05, float(frequency.max()) * 1.02)
    line = np.linspace(0, top, 200)
    styles = {
        "signal": ("0.45", "$X$"),
        "low": (COLORS[0], r"$\hat{A}X$"),
        "high": (COLORS[1], r"$(I-\hat{A})X$"),
    }
    for channel, gain in (("low", abs(1 - line)), ("high", line)):
        gains.plot(line, gain, color=styles[channel][0], label=f"gain of {channel} pass")
    gains.plot(frequency, np.full_like(frequency, -0.06), "|", color="0.3", label="eigenvalues")
    gains.set(xlabel=r"frequency $1-\lambda(\hat{A})$", ylabel="gain", ylim=(-0.12, None))
    gains.legend()
    edges = np.linspace(0, top, bins + 1)
    width = (edges[1] - edges[0]) / 3.5
    for shift, (name, (color, label)) in enumerate(styles.items()):
        # Floating-point error can make the frequency 0 negative, which is below the first bin.
        total, _ = np.histogram(frequency.clip(min=0), edges, weights=energies[name])
        share = total / energies["signal"].sum()
        bars.bar(edges[:-1] + width * (shift + 0.75), share, width, color=color, label=label)
    bars.set(xlabel=r"frequency $1-\lambda(\hat{A})$", ylabel="share of the energy of $X$")
    bars.legend()
    return figure
