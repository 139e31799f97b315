"""Compare the records of one cell with the paper's printed number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields

from acm import paper
from acm.errors import UsageError
from acm.experiments import Record, Trial
from acm.registry import MODELS
from acm.report.numbers import signed

#: How the ablation (Table 2) names the channels that are left when some are taken out.
_ABLATION = {"low+high": "LP+HP", "low+identity": "LP+Identity"}

#: Beyond so many standard errors two means are told apart.
LIMIT = 2.0


@dataclass(frozen=True)
class Comparison:
    """Ours and the paper's test accuracy of one cell, in percent.

    Attributes:
        records: The records of the cell, one a split.
        paper_value: The paper's cell, or `None` where it has none.
        mean, std: Of ours; `std` is that of a sample, NaN of a single split.
    """

    records: tuple[Record, ...]
    paper_value: paper.PrintedValue | None
    mean: float
    std: float

    @property
    def ours(self) -> str:
        """Our mean, and its standard deviation where there is one, as the paper prints them."""
        return f"{self.mean:.2f}" + ("" if math.isnan(self.std) else f" ± {self.std:.2f}")

    @property
    def epochs(self) -> float:
        """The mean number of epochs of our trainings."""
        return statistics.fmean(record.epochs for record in self.records)

    @property
    def delta(self) -> float:
        """Ours less the paper's mean, in points; NaN without a published one."""
        there = self.paper_value is not None and self.paper_value.mean is not None
        return self.mean - self.paper_value.mean if there else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of `delta`: of two means of independent splits."""
        if math.isnan(self.delta) or self.paper_value.std is None:
            return math.nan
        return math.hypot(self.std / math.sqrt(len(self.records)), self.paper_value.standard_error)

    @property
    def same_splits(self) -> bool:
        """Whether the paper's number is of splits that were drawn as ours."""
        return (
            self.paper_value is None
            or self.paper_value.split_scheme == self.records[0].split_scheme
        )

    @property
    def verdict(self) -> str:
        """`"reproduced"` within two standard errors, else `"higher"` or `"lower"`.

        `"not comparable"` where the paper has no mean and standard deviation, or we one split, or
        the splits are drawn otherwise.
        """
        if math.isnan(self.standard_error) or not self.same_splits:
            return "not comparable"
        if abs(self.delta) <= LIMIT * self.standard_error:
            return "reproduced"
        return "higher" if self.delta > 0 else "lower"

    def sentence(self) -> str:
        """The comparison in words."""
        first = self.records[0]
        n = len(self.records)
        ours = (
            f"{first.model} on {first.dataset}: {self.ours} % over {n}"
            f" {first.split_scheme} split{'s' if n > 1 else ''}"
        )
        if math.isnan(self.delta):
            return f"{ours}; the paper has no such number."
        # What the paper prints otherwise than it means is said beside its place.
        where = "; ".join(filter(None, (self.paper_value.source, self.paper_value.slip)))
        theirs = (
            f"{ours}; the paper has {self.paper_value.shown} ({where}),"
            f" a difference of {signed(self.delta)} points"
        )
        if not self.same_splits:
            return (
                f"{theirs}; there is no verdict, for that number is of"
                f" {self.paper_value.split_scheme} splits."
            )
        if self.verdict == "not comparable":
            return f"{theirs}; without a spread on both sides there is no verdict."
        ratio = abs(self.delta) / self.standard_error if self.standard_error else math.inf
        return (
            f"{theirs} or {ratio:.2f} standard errors ({self.standard_error:.2f}): {self.verdict}."
        )


@dataclass(frozen=True)
class Pooled:
    """Several cells taken together: whether their differences lean to one side.

    Attributes:
        below, cells: How many of the cells lie below the paper's.
        delta: The mean difference, in points.
        standard_error: Its standard error, the cells taken as independent.
        p_value: Two-sided, of the sign test: that signs are a fair coin's, the cells independent.
    """

    below: int
    cells: int
    delta: float
    standard_error: float
    p_value: float

    def sentence(self) -> str:
        """The finding in words."""
        return (
            f"{self.below} of {self.cells} means of ours lie below the paper's; were the cells"
            f" independent and either side as likely, so lopsided an outcome would have"
            f" probability {self.p_value:.3f}. The mean difference is {signed(self.delta)} points,"
            f" with a standard error of {self.standard_error:.2f}."
        )


def pooled(comparisons: Sequence[Comparison]) -> Pooled:
    """The differences of several cells taken together; cells without a verdict are left out.

    Raises:
        UsageError: If no cell is comparable.
    """
    there = [c for c in comparisons if c.verdict != "not comparable"]
    if not there:
        raise UsageError("no cell is comparable: each needs a published one and two splits")
    below, n = sum(c.delta < 0 for c in there), len(there)
    tail = sum(math.comb(n, k) for k in range(max(below, n - below), n + 1)) / 2**n
    error = math.sqrt(sum(c.standard_error**2 for c in there)) / n
    return Pooled(below, n, statistics.fmean(c.delta for c in there), error, min(1.0, 2 * tail))


def compare_cells(records: Sequence[Record]) -> list[Comparison]:
    """`compare` for each cell that the records are of, in their order."""
    return [compare(cell) for cell in by_cell(records)]


def by_cell(records: Sequence[Record]) -> list[list[Record]]:
    """The records, those of one cell together, in the order of their first."""
    cells: dict[tuple, list[Record]] = {}
    for record in records:
        cells.setdefault(_cell(record), []).append(record)
    return list(cells.values())


def compare(records: Sequence[Record]) -> Comparison:
    """Hold the records of one cell against the paper's number for it.

    Random splits are held against Table 3, or Table 2 where channels or the mixing are left out;
    fixed splits against Table 8; sparse ones against those numbers of Table 3 that are of such.

    Raises:
        UsageError: If there is no record, or they are not all of one cell.
    """
    if not records:
        raise UsageError("there is no record to compare")
    kinds = {_cell(r) for r in records}
    if len(kinds) > 1:
        differ = [name for k, name in enumerate(_ASKED) if len({kind[k] for kind in kinds}) > 1]
        raise UsageError(f"the records are of several cells: they differ in {', '.join(differ)}")
    accuracy = [100 * r.test_accuracy for r in records]
    std = statistics.stdev(accuracy) if len(accuracy) > 1 else math.nan
    return Comparison(tuple(records), _published(records[0]), statistics.fmean(accuracy), std)


_ASKED = tuple(f.name for f in fields(Trial) if f.name != "split")


def _cell(record: Record) -> tuple:
    """What the records of one cell have in common."""
    return tuple(getattr(record, name) for name in _ASKED)


def _published(record: Record) -> paper.PrintedValue | None:
    own = MODELS[record.model]
    table, model = "fixed" if record.split_scheme == "fixed" else "sota", record.model
    complete = record.channels == "+".join(own.channels)
    if not complete or record.mix != own.mix:
        # The ablation leaves out either a channel or the mixing, on random splits.
        left = "no mixing" if complete else record.mix and _ABLATION.get(record.channels)
        if not left or record.split_scheme != "random":
            return None
        table, model = "ablation", f"{model} {left}"
    try:
        found = paper.printed(table, model=model, dataset=record.dataset)
    except UsageError:
        return None
    return None if record.split_scheme == "sparse" != found.split_scheme else found


def agreement(record: Record, kept: Record) -> str:
    """Whether a training gave what a kept record of the same trial says, in words.

    Raises:
        UsageError: If the two are not of one trial.
    """
    if record.trial != kept.trial:
        raise UsageError("the two records are of different trials")
    if record.outcome == kept.outcome:
        return "This machine reproduces the kept record to the last bit."
    same = record.test_accuracy == kept.test_accuracy
    return (
        f"This machine gives {100 * record.test_accuracy:.2f} % where the kept record has"
        f" {100 * kept.test_accuracy:.2f} %"
        + (", the same accuracy by another path" if same else "")
        + f" (validation loss {record.val_loss:.6f} against {kept.val_loss:.6f})."
        f" The two ran on {record.device} with {record.versions} and on {kept.device} with"
        f" {kept.versions}, which round differently, and training amplifies that."
    )
