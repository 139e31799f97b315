"""Whether the splits of a table were lucky: the same models on many more of the same graph."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from acm.data.names import PAPER_DATASETS, check_whole
from acm.errors import UsageError
from acm.experiments import Record
from acm.report.comparison import LIMIT, Comparison, by_cell, compare
from acm.report.numbers import SignedTable, signed
from acm.report.table3 import row_names


@dataclass(frozen=True)
class Draw:
    """A model on the first splits of a graph, beside the same model on more of them.

    Attributes:
        first: Ours against the paper's on the splits that the table has.
        whole: The same on all that were run.
        luck: The mean of the first less that of the others, in points.
        standard_error: Of that difference, the splits taken as independent.
    """

    first: Comparison
    whole: Comparison
    luck: float
    standard_error: float

    @property
    def dataset(self) -> str:
        """The graph."""
        return self.first.records[0].dataset

    @property
    def model(self) -> str:
        """The model."""
        return self.first.records[0].model


def draws(records: Iterable[Record], first: int = 10) -> list[Draw]:
    """How the first splits of every cell stand to the others, graph by graph.

    Args:
        records: Of any cells, in any order, each on splits `0, 1, …`.
        first: How many splits the table has.

    Raises:
        UsageError: If a cell lacks one of these, has fewer than two others, or no number of the
            paper to be held against; or if `first` is below two.
    """
    check_whole("first", first, 2)
    found = []
    for cell in sorted(by_cell(records), key=lambda cell: _place(cell[0])):
        what = f"{cell[0].model} on {cell[0].dataset}"
        cell.sort(key=lambda r: r.split)
        if len(cell) < first + 2 or any(r.split != k for k, r in enumerate(cell)):
            raise UsageError(
                f"{what}: splits 0 to {first - 1} and two or more others are needed, each once and"
                " none left out"
            )
        ours, others = cell[:first], cell[first:]
        there, rest = compare(ours), compare(others)
        if there.verdict == "not comparable":
            raise UsageError(f"{what}: the paper has no mean and standard deviation of it")
        error = math.hypot(there.std / math.sqrt(first), rest.std / math.sqrt(len(others)))
        found.append(Draw(there, compare(cell), there.mean - rest.mean, error))
    return found


def _place(record: Record) -> tuple[int, int]:
    """Where a cell stands in the paper's tables; what is not there comes last."""
    graphs, models = [*PAPER_DATASETS, record.dataset], [*row_names(), record.model]
    return graphs.index(record.dataset), models.index(record.model)


def draws_table(found: Sequence[Draw]) -> pd.DataFrame:
    """A line for every cell: ours on the first splits and on all, and the paper's.

    Raises:
        UsageError: If there is none.
    """
    first, whole = _numbers(found)
    return SignedTable.of(
        pd.DataFrame(
            {
                "graph": [d.dataset for d in found],
                "model": [d.model for d in found],
                "paper": [d.first.published.shown for d in found],
                f"{first} splits": [d.first.ours for d in found],
                f"{whole} splits": [d.whole.ours for d in found],
                "luck": [d.luck for d in found],
                "its standard error": [f"{d.standard_error:.2f}" for d in found],
                f"verdict, {first}": [d.first.verdict for d in found],
                f"verdict, {whole}": [d.whole.verdict for d in found],
            }
        ),
        {"luck": 2},
    )


def draws_sentence(found: Sequence[Draw]) -> str:
    """What more splits change, in words.

    Raises:
        UsageError: If there is none.
    """
    first, whole = _numbers(found)
    listed = []
    for graph in dict.fromkeys(d.dataset for d in found):
        own = [d for d in found if d.dataset == graph]
        luck = statistics.fmean(d.luck for d in own)
        excess = _excess(own)
        listed.append(f"{signed(luck)} on {graph} ({signed(excess[0])} and {signed(excess[1])})")
    most = max(abs(d.luck) / d.standard_error if d.standard_error else math.inf for d in found)
    both = [d.first for d in found], [d.whole for d in found]
    counts = [sum(c.verdict == "reproduced" for c in cells) for cells in both]
    excess = _excess(found)
    return (
        f"Averaged over the models, the first {first} splits give this much more than the others,"
        f" in points (in brackets the paper's mean less ours, on {first} splits and on all"
        f" {whole}): {', '.join(listed)}. The largest luck of a cell is {most:.1f} of its standard"
        f" errors. Over all {len(found)} cells the paper's mean less ours is {signed(excess[0])}"
        f" points on average on {first} splits, and {signed(excess[1])} on all {whole}. On {first}"
        f" splits {counts[0]} of the {len(found)} cells agree with the paper within {LIMIT:g}"
        f" standard errors, on {whole} splits {counts[1]} do."
    )


def _excess(found: Sequence[Draw]) -> tuple[float, float]:
    """The paper's mean less ours, averaged over cells: on the first splits, and on all."""
    first = statistics.fmean(-d.first.delta for d in found)
    return first, statistics.fmean(-d.whole.delta for d in found)


def _numbers(found: Sequence[Draw]) -> tuple[int, int]:
    """How many splits the table has, and how many were run."""
    if not found:
        raise UsageError("no cell was run on more splits")
    sizes = {(len(d.first.records), len(d.whole.records)) for d in found}
    if len(sizes) > 1:
        raise UsageError("the cells were not all run on equally many splits")
    return sizes.pop()
