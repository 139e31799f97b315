"""Whether the paper's means look like the best of several draws of splits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from acm.errors import UsageError
from acm.report.comparison import LIMIT, Comparison
from acm.report.numbers import signed
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
    values = _largest(draws)
    return float(values.mean()), float(values.std())


def agreement_with_best_of(draws: float) -> float:
    """How probably a mean of ours agrees with the paper's, if that is the best of several draws.

    Both vary alike and are taken from the same experiment: all that could be asked of one that is
    done over. Of a single draw it is 95 %.

    Args:
        draws: Of how many, as for `best_of`.

    Raises:
        UsageError: If it is below 1, or above a million.
    """
    largest, reach = _largest(draws), LIMIT * math.sqrt(2)
    return float((norm.cdf(largest + reach) - norm.cdf(largest - reach)).mean())


def _largest(draws: float) -> np.ndarray:
    """The largest of so many standard normal values, at evenly spaced probabilities."""
    if not 1 <= draws <= _MOST:
        raise UsageError(f"the best of {draws}: a number from 1 to {_MOST:,.0f} is needed")
    return norm.ppf(((np.arange(_STEPS) + 0.5) / _STEPS) ** (1 / draws))


def draws_for(excess: float) -> float:
    """Of how many standard normal values the largest has that median: `log ½ / log Φ(excess)`."""
    log_share = norm.logcdf(min(excess, 6))  # with 6 it is a thousand million
    return float(np.clip(math.log(0.5) / log_share, 1, _MOST))


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

    Those count that can be compared and are the paper's own, over as many splits as ours: what it
    took from others has been chosen by others, and an interval is not of ten splits.

    Args:
        cells: As `table_3` returns them.
    """
    there = _counted(cells)
    found = []
    for dataset in dict.fromkeys(d for _, d in there):
        own = [c for (_, d), c in there.items() if d == dataset]
        values = [(-c.delta, _unit(c), _excess(c)) for c in own]
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
    itself; Texas and Cornell, which have the same nodes and splits, are left out together. That
    this number is itself an estimate is not allowed for. Cells for which no other graph speaks are
    left out.

    Args:
        cells: As `table_3` returns them.
    """
    there = _counted(cells)
    draws, moments = {}, {}
    for dataset in dict.fromkeys(d for _, d in there):
        same = next((twins for twins in _TWINS if dataset in twins), {dataset})
        others = [_excess(c) for (_, d), c in there.items() if d not in same]
        if others:
            draws[dataset] = draws_for(statistics.median(others))
            moments[dataset] = best_of(draws[dataset])
    found = {}
    for (model, dataset), own in there.items():
        if dataset in draws:
            mean, std = moments[dataset]
            # Both means vary by a unit, the paper's as the largest of several does.
            z = (mean - _excess(own)) / math.hypot(1, std)
            found[model, dataset] = Allowance(draws[dataset], z)
    return found


def excess_sentence(cells: Mapping[Place, Comparison]) -> str:
    """What the excess of all cells is like, and how many agree once it is allowed for."""
    there, allowed = _counted(cells), allowances(cells)
    if not allowed:
        return "Too few cells were run to say."
    ratios = [_excess(c) for c in there.values()]
    graphs = sorted(excesses(cells), key=lambda e: e.ratio)
    middle, above = statistics.median(ratios), sum(ratio > 0 for ratio in ratios)
    as_is = sum(there[place].verdict == "reproduced" for place in allowed)
    agree = sum(a.agrees for a in allowed.values())
    draws = sorted(a.draws for a in allowed.values())
    at_best = statistics.fmean(agreement_with_best_of(n) for n in draws)
    return (
        f"In {above} of {len(there)} cells the paper's mean is the higher one. The median of all is"
        f" {signed(middle, 1)} units, that of the best of {draws_for(middle):.0f} equally good"
        f" draws; by graph it is from {signed(graphs[0].ratio, 1)} ({graphs[0].dataset}) to"
        f" {signed(graphs[-1].ratio, 1)} ({graphs[-1].dataset}). Without any allowance {as_is}"
        f" of {len(allowed)} cells ({100 * as_is / len(allowed):.0f} %) agree within {LIMIT:g}"
        f" standard errors. If they are the best of as many draws as the other graphs suggest"
        f" ({draws[0]:.0f} to {draws[-1]:.0f}), the same experiment done over would have"
        f" {100 * at_best:.0f} % agree. With the allowance {agree}"
        f" ({100 * agree / len(allowed):.0f} %) do."
    )


def _counted(cells: Mapping[Place, Comparison]) -> dict[Place, Comparison]:
    return {
        place: c
        for place, c in cells.items()
        if c.verdict != "not comparable"
        and not (c.published.marker or c.published.interval)
        and len(c.records) == c.published.splits
        and c.standard_error > 0
    }


def _unit(cell: Comparison) -> float:
    """The root mean square of the two means' standard errors, in points."""
    return cell.standard_error / math.sqrt(2)


def _excess(cell: Comparison) -> float:
    """The paper's mean less ours, in units."""
    return -cell.delta / _unit(cell)
