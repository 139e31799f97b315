"""Whether a printed ± can be the standard deviation over the splits that the caption calls it."""

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
from acm.report.table3 import row_names

#: A ± that chance undercuts less often than this is hardly a standard deviation over splits.
RARE = 1e-3


@dataclass(frozen=True)
class Spread:
    """A ± of Table 3, beside what chance alone makes of a split's test nodes.

    Attributes:
        published: The cell.
        chance: What `split_chance` gives for its mean, in points.
    """

    published: paper.Published
    chance: float

    @property
    def probability(self) -> float:
        """That chance alone gives so small a standard deviation, or a smaller one.

        Accuracies are taken as normal; the standard deviation is one with the number of splits in
        the divisor, as the paper's.
        """
        splits = self.published.splits
        return float(chi2.cdf(splits * (self.published.std / self.chance) ** 2, splits - 1))


def split_chance(y: Tensor, split: Split, share: float) -> float:
    """The standard deviation of a split's test accuracy if only the choice of nodes varies.

    The model gets the very same nodes right whatever it was trained on, each with the probability
    `share` whatever its class (it is the root of the variance that is expected then). How likely a
    node is to be tested depends on its class, of which a split trains a fixed number; published
    splits are taken as drawn like that. What differs between trainings comes on top.

    Args:
        y: Classes, `[N]`.
        split: Any one: of drawn ones, all have these numbers of nodes.
        share: From 0 to 1.

    Returns:
        A share, too.
    """
    whole = np.bincount(y)
    left = np.bincount(y[~split.train], minlength=len(whole))
    tested = int(split.test.sum())
    odds = tested / left.sum() * left / np.maximum(whole, 1)  # of a node of each class
    return math.sqrt(share * (1 - share) * (whole * odds * (1 - odds)).sum()) / tested


def spreads(datasets: Iterable[str] = PAPER_DATASETS) -> list[Spread]:
    """Every ± of Table 3 on these graphs, the least likely first.

    Raises:
        UsageError: If the data cannot be had.
    """
    found, rows = [], row_names()
    labels = {name: load(name).y for name in datasets}
    splits: dict[tuple[str, str], Split] = {}
    for cell in paper.table("sota"):
        if cell.name in rows and cell.dataset in labels and cell.std:
            y, place = labels[cell.dataset], (cell.dataset, cell.protocol)
            if place not in splits:
                splits[place] = split_of(*place, 0, y)
            found.append(Spread(cell, 100 * split_chance(y, splits[place], cell.mean / 100)))
    return sorted(found, key=lambda s: s.probability)


def spread_table(found: Sequence[Spread]) -> pd.DataFrame:
    """Row by row, how many ± are too small, and how many of these are taken for intervals."""
    small = [s.published for s in found if s.probability < RARE]
    names = [name for name in row_names() if any(c.name == name for c in small)]
    own = {name: [c for c in small if c.name == name] for name in names}
    return pd.DataFrame(
        {
            "cells": [sum(s.published.name == name for s in found) for name in names],
            "± too small": [len(own[name]) for name in names],
            "± taken for an interval": [
                sum(s.published.name == name and s.published.interval for s in found)
                for name in names
            ],
        },
        index=pd.Index(names, name="model"),
    )


def spread_sentence(found: Sequence[Spread]) -> str:
    """What the probabilities tell apart, in words."""
    small = [s for s in found if s.probability < RARE]
    others = [s for s in found if not s.published.interval]
    if not small or not others:
        return "There are too few cells to tell."
    missed = sum(not s.published.interval for s in small)
    first = others[0]
    where = f"{first.published.name} on {first.published.dataset}"
    by_luck = 1 - (1 - first.probability) ** len(others)
    return (
        f"{len(small)} of {len(found)} are so small that chance alone would undercut them less"
        f" than once in {1 / RARE:,.0f} times, and {missed or 'none'} of these"
        f" {'is' if missed < 2 else 'are'} of a cell that is not taken for an interval here. Of"
        f" the {len(others)} that are not, the least likely is that of {where},"
        f" {first.published.std:g} where chance has {first.chance:.2f} (probability"
        f" {first.probability:.4f}); among so many, one as unlikely turns up with a probability of"
        f" up to {by_luck:.2f}."
    )
