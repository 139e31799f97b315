"""Whether a printed ± can be the standard deviation over the splits that the caption calls it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd
from scipy.stats import chi2

from acm import paper
from acm.experiments import Record
from acm.report.table3 import row_names

#: More nodes than any split has, and fewer than half of what two accuracies' digits tell apart.
_MOST_NODES = 100_000

#: A ± that chance undercuts less often than this is hardly a standard deviation over splits.
RARE = 1e-3


@dataclass(frozen=True)
class Spread:
    """A ± of Table 3, beside what chance alone makes of a split's test nodes.

    Attributes:
        published: The cell.
        nodes: Test nodes of a split.
        chance: The standard deviation of a split's accuracy, in points, if the model got the very
            same share of all nodes right whatever it was trained on, so that all that varies is
            which nodes are tested (drawn without replacement). What differs between trainings
            comes on top.
    """

    published: paper.Published
    nodes: int
    chance: float

    @property
    def probability(self) -> float:
        """That chance alone gives so small a standard deviation, or a smaller one.

        Accuracies are taken as normal; the standard deviation is one with the number of splits in
        the divisor, as the paper's.
        """
        splits = self.published.splits
        return float(chi2.cdf(splits * (self.published.std / self.chance) ** 2, splits - 1))


def nodes_tested(records: Iterable[Record]) -> dict[tuple[str, str], int]:
    """How many nodes a split tests, by graph and protocol: what all accuracies are shares of.

    Args:
        records: At best many of each graph: of one alone, half of 10 nodes right is half of 2.
    """
    found: dict[tuple[str, str], int] = {}
    for r in records:
        place = r.dataset, r.protocol
        share = Fraction(r.test_accuracy).limit_denominator(_MOST_NODES)
        found[place] = math.lcm(found.get(place, 1), share.denominator)
    return found


def spreads(records: Iterable[Record]) -> list[Spread]:
    """Every ± of Table 3 on graphs that there are records of, the least likely first.

    Args:
        records: Of any experiments; all that is taken from them is how many nodes are tested.
    """
    nodes, found = nodes_tested(records), []
    whole = {c.dataset: c.mean for c in paper.table("statistics") if c.name == "nodes"}
    rows = row_names()
    for cell in paper.table("sota"):
        there = (cell.dataset, cell.protocol) in nodes
        if cell.name not in rows or not there or not cell.std:
            continue
        share, n = cell.mean / 100, nodes[cell.dataset, cell.protocol]
        rest = 1 - n / whole[cell.dataset]
        found.append(Spread(cell, n, 100 * math.sqrt(share * (1 - share) / n * rest)))
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
        return "There are too few records to tell."
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
