"""Figures of one training."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from acm.errors import UsageError
from acm.nn import CHANNELS
from acm.report.comparison import Comparison
from acm.training import Fit

#: One colour a channel, told apart by the colour-blind too, on white and on black.
COLORS = {"low": "#0072b2", "high": "#d55e00", "identity": "#999999"}
#: A class of a smaller share of the nodes is too narrow to stand above its name.
_LABEL = 0.07
_NAMES = {"low": "low-pass", "high": "high-pass", "identity": "identity"}


def plot_history(fit: Fit) -> Figure:
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
        if c.published is not None and c.published.mean is not None:
            axes.errorbar(
                place + 0.15,
                c.published.mean,
                c.published.std,
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
