"""Which ± of Table 3 are too small to be standard deviations over splits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import chi2
from torch import Tensor

from acm import paper
from acm.data import load
from acm.data.names import PAPER_DATASETS
from acm.data.splits import Split
from acm.experiments.trial import split_of
from acm.report.cells import row_names

#: A ± with a smaller probability than this is hardly a standard deviation over splits.
RARE = 1e-3


@dataclass(frozen=True)
class PrintedStd:
    """A ± of Table 3, and the standard deviation that the choice of test nodes alone gives.

    Attributes:
        paper_value: The cell.
        chance: `chance_std` for the mean of the cell, in points.
    """

    paper_value: paper.PrintedValue
    chance: float

    @property
    def probability(self) -> float:
        """Return how likely chance alone gives a standard deviation this small.

        Accuracies are taken as normal. The standard deviation has the number of splits in the
        divisor, as the paper's.
        """
        splits = self.paper_value.splits
        return float(chi2.cdf(splits * (self.paper_value.std / self.chance) ** 2, splits - 1))


def chance_std(y: Tensor, split: Split, share: float) -> float:
    """Return the standard deviation of test accuracy if only the choice of test nodes varies.

    Every node is right with probability `share`, whatever its class and the training. A split
    trains a fixed number of nodes of each class, so the chance to be tested depends on the class.

    Args:
        y: Classes, `[N]`.
        split: Any split of the scheme.
        share: Accuracy over all nodes, from 0 to 1.

    Returns:
        The root of the expected variance, from 0 to 1.
    """
    sizes = np.bincount(y)
    untrained = np.bincount(y[~split.train], minlength=len(sizes))
    tested = int(split.test.sum())
    odds = tested / untrained.sum() * untrained / np.maximum(sizes, 1)  # of a node of each class
    return math.sqrt(share * (1 - share) * (sizes * odds * (1 - odds)).sum()) / tested


def printed_stds(datasets: Iterable[str] = PAPER_DATASETS) -> list[PrintedStd]:
    """Return every ± of Table 3 on these graphs, the least likely first.

    Raises:
        UsageError: If the data is not available.
    """
    result, rows = [], row_names()
    labels = {name: load(name).y for name in datasets}
    splits: dict[tuple[str, str], Split] = {}
    for cell in paper.table("sota"):
        if cell.name in rows and cell.dataset in labels and cell.std:
            y, scheme = labels[cell.dataset], (cell.dataset, cell.split_scheme)
            if scheme not in splits:
                splits[scheme] = split_of(*scheme, 0, y)
            chance = 100 * chance_std(y, splits[scheme], cell.mean / 100)
            result.append(PrintedStd(cell, chance))
    return sorted(result, key=lambda s: s.probability)


def printed_std_table(stds: Sequence[PrintedStd]) -> pd.DataFrame:
    """Return by model how many ± are too small, and how many of these count as intervals."""
    small = [s.paper_value for s in stds if s.probability < RARE]
    names = [name for name in row_names() if any(c.name == name for c in small)]
    cells = {name: [s.paper_value for s in stds if s.paper_value.name == name] for name in names}
    return pd.DataFrame(
        {
            "cells": [len(cells[name]) for name in names],
            "± too small": [sum(c.name == name for c in small) for name in names],
            "± taken for an interval": [sum(c.interval for c in cells[name]) for name in names],
        },
        index=pd.Index(names, name="model"),
    )


def printed_std_sentence(stds: Sequence[PrintedStd]) -> str:
    """Say which ± are too small to be standard deviations over splits."""
    small = [s for s in stds if s.probability < RARE]
    others = [s for s in stds if not s.paper_value.interval]
    if not small or not others:
        return "There are too few cells to tell."
    missed = sum(not s.paper_value.interval for s in small)
    first = others[0].paper_value
    by_chance = 1 - (1 - others[0].probability) ** len(others)
    return (
        f"{len(small)} of {len(stds)} ± are smaller than chance alone allows in one of"
        f" {1 / RARE:,.0f} cases, and {missed or 'none'} of these {'is' if missed < 2 else 'are'}"
        f" of a cell that we do not take for an interval. Of the other {len(others)} cells, the"
        f" least likely ± is that of {first.name} on {first.dataset}: {first.std:g}, where chance"
        f" gives {others[0].chance:.2f} (probability {others[0].probability:.4f}). Among so many"
        f" cells, one as unlikely appears with a probability of up to {by_chance:.2f}."
    )
