"""Whether published means are as if each were the best of several draws of its splits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import norm

from acm.errors import UsageError
from acm.report.comparison import LIMIT, Comparison
from acm.report.table3 import Place

#: Graphs with the same nodes, labels and splits: what one says, the other has said already.
_TWINS = ({"cornell", "texas"},)
_STEPS = 20_000
_MOST = 1e6


def best_of(draws: float) -> tuple[float, float]:
    """Mean and standard deviation of the largest of several independent standard normal values.

    Args:
        draws: Of how many; any number from 1 up, for the distribution `Φ(x)^draws` has a meaning
            between the whole ones.

    Raises:
        UsageError: If it is below 1, or above a million.
    """
    if not 1 <= draws <= _MOST:
        raise UsageError(f"the best of {draws}: a number from 1 to {_MOST:,.0f} is needed")
    values = norm.ppf(((np.arange(_STEPS) + 0.5) / _STEPS) ** (1 / draws))
    return float(values.mean()), float(values.std())


def draws_for(excess: float) -> float:
    """Of how many standard normal values the largest is that large on average; 1 from 0 down."""
    if excess <= 0:
        return 1.0
    least = best_of(_MOST)[0]
    return _MOST if excess >= least else brentq(lambda n: best_of(n)[0] - excess, 1, _MOST)


@dataclass(frozen=True)
class Excess:
    """How far the paper's means lie above ours on a graph; medians over its cells.

    Attributes:
        dataset: The graph.
        cells: How many count.
        points: The paper's mean less ours.
        unit: The standard error of a mean over the splits, the two sides' taken together, in
            points.
        ratio: The paper's mean less ours, in such units.
    """

    dataset: str
    cells: int
    points: float
    unit: float
    ratio: float


def excesses(cells: Mapping[Place, Comparison]) -> list[Excess]:
    """The excess on every graph that has a cell which counts.

    Those count that can be compared and are the paper's own: what it took from others has been
    chosen by others.

    Args:
        cells: As `table_3` returns them.
    """
    there = _counted(cells)
    found = []
    for dataset in dict.fromkeys(d for _, d in there):
        own = [c for (_, d), c in there.items() if d == dataset]
        values = [(-c.delta, _unit(c), -c.delta / _unit(c)) for c in own]
        found.append(Excess(dataset, len(own), *map(statistics.median, zip(*values))))
    return found


def excess_table(found: Iterable[Excess]) -> pd.DataFrame:
    """The excesses, the graph whose means vary least first."""
    found = sorted(found, key=lambda e: e.unit)
    return pd.DataFrame(
        {
            "graph": [e.dataset for e in found],
            "cells": [e.cells for e in found],
            "paper less ours, points": [f"{e.points:.2f}" for e in found],
            "a mean varies by, points": [f"{e.unit:.2f}" for e in found],
            "in these units": [f"{e.ratio:.1f}" for e in found],
        }
    )


@dataclass(frozen=True)
class Allowance:
    """A cell whose published mean is taken as the best of several draws.

    Attributes:
        draws: Of how many, by what the other graphs say.
        z: How many standard errors ours is then off from what it would be.
    """

    draws: float
    z: float

    @property
    def agrees(self) -> bool:
        """Whether that is at most two."""
        return abs(self.z) <= LIMIT


def allowances(cells: Mapping[Place, Comparison]) -> dict[Place, Allowance]:
    """Every cell that counts, as if the paper's mean were the best of several draws.

    Of how many, the median excess of the other graphs' cells says, so that no cell is measured by
    itself; Texas and Cornell, which have the same nodes and splits, are left out together. Cells
    for which no other graph speaks are left out.

    Args:
        cells: As `table_3` returns them.
    """
    there = _counted(cells)
    found = {}
    for (model, dataset), own in there.items():
        same = next((twins for twins in _TWINS if dataset in twins), {dataset})
        others = [-c.delta / _unit(c) for (_, d), c in there.items() if d not in same]
        if others:
            draws = draws_for(statistics.median(others))
            mean, std = best_of(draws)
            error = math.hypot(_ours(own), own.published.standard_error * std)
            off = own.delta + mean * own.published.standard_error
            found[model, dataset] = Allowance(draws, off / error)
    return found


def excess_sentence(cells: Mapping[Place, Comparison]) -> str:
    """What the excess of all cells is like, and how many agree once it is allowed for."""
    there, allowed = _counted(cells), allowances(cells)
    if not allowed:
        return "Too few cells were run to say."
    ratios = [-c.delta / _unit(c) for c in there.values()]
    graphs = sorted(excesses(cells), key=lambda e: e.ratio)
    middle = statistics.median(ratios)
    as_is = sum(there[place].verdict == "reproduced" for place in allowed)
    agree = sum(a.agrees for a in allowed.values())
    draws = sorted(a.draws for a in allowed.values())
    return (
        f"Over all {len(there)} of them the paper's mean lies {middle:.1f} such units above ours in"
        f" the median, as would the best of {draws_for(middle):.0f} equally good draws; by graph it"
        f" is from {graphs[0].ratio:.1f} ({graphs[0].dataset}) to {graphs[-1].ratio:.1f}"
        f" ({graphs[-1].dataset}). With the"
        f" number of draws that the other graphs give (from {draws[0]:.0f} to {draws[-1]:.0f}),"
        f" {agree} of {len(allowed)} cells ({100 * agree / len(allowed):.0f} %) are within"
        f" {LIMIT:g} standard errors of what such a choice would make of ours; as they stand,"
        f" {as_is} ({100 * as_is / len(allowed):.0f} %) are."
    )


def _counted(cells: Mapping[Place, Comparison]) -> dict[Place, Comparison]:
    return {
        place: c
        for place, c in cells.items()
        if c.verdict != "not comparable" and c.published.marker != "*" and c.standard_error > 0
    }


def _ours(cell: Comparison) -> float:
    """The standard error of our mean, in points."""
    return cell.std / math.sqrt(len(cell.records))


def _unit(cell: Comparison) -> float:
    """The root mean square of the two means' standard errors, in points."""
    return cell.standard_error / math.sqrt(2)
