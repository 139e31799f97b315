"""Compare our records of a cell with the number that the paper prints."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields

from acm import paper
from acm.errors import UsageError
from acm.experiments import Record, Trial
from acm.registry import MODELS

#: The names that Table 2 gives to the channels of an ablation.
_ABLATION = {"low+high": "LP+HP", "low+identity": "LP+Identity"}

#: The fields of a trial that are equal in all records of a cell: all except the split.
_FIELDS = tuple(f.name for f in fields(Trial) if f.name != "split")

#: Two means are compatible if they differ by at most this many standard errors of the difference.
LIMIT = 2.0


def signed(number: float, decimals: int = 2) -> str:
    """Format a difference with the sign `+` or `−`; write no sign if the difference rounds to 0.

    >>> signed(-1.05), signed(2, 1), signed(-0.001), signed(float("nan"))
    ('−1.05', '+2.0', '0.00', '–')
    """
    if math.isnan(number):
        return "–"
    shown = f"{number:+.{decimals}f}"
    return shown.replace("-", "−") if shown.strip("+-0.") else shown[1:]


def verdict_of(delta: float, standard_error: float) -> str:
    """Judge `delta`: `"reproduced"` (at most `LIMIT` standard errors), `"higher"` or `"lower"`."""
    if abs(delta) <= LIMIT * standard_error:
        return "reproduced"
    return "higher" if delta > 0 else "lower"


@dataclass(frozen=True)
class Comparison:
    """The test accuracy of a cell in our records and in the paper, in percent.

    `records` has one record per split; `mean` and `std` are their mean and sample standard
    deviation (NaN for a single split). `paper_value` is `None` if the paper lacks this cell.
    """

    records: tuple[Record, ...]
    paper_value: paper.PrintedValue | None
    mean: float
    std: float

    @property
    def ours(self) -> str:
        """Our mean and standard deviation as text, `"94.75 ± 3.80"`; for one split the mean."""
        return f"{self.mean:.2f}" + ("" if math.isnan(self.std) else f" ± {self.std:.2f}")

    @property
    def epochs(self) -> float:
        """The mean number of epochs of our training runs."""
        return statistics.fmean(record.epochs for record in self.records)

    @property
    def delta(self) -> float:
        """Our mean minus the paper's, in points; NaN if the paper prints no mean."""
        printed = self.paper_value is not None and self.paper_value.mean is not None
        return self.mean - self.paper_value.mean if printed else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of `delta` for independent splits, in points; NaN if unknown."""
        if math.isnan(self.delta) or self.paper_value.std is None:
            return math.nan
        return math.hypot(self.std / math.sqrt(len(self.records)), self.paper_value.standard_error)

    @property
    def verdict(self) -> str:
        """`"reproduced"`, `"higher"`, `"lower"`, or `"not comparable"`.

        A cell is not comparable if a mean or a standard deviation is missing, or if the paper's
        number is for another split scheme.
        """
        error = self.standard_error
        if math.isnan(error) or self.paper_value.split_scheme != self.records[0].split_scheme:
            return "not comparable"
        return verdict_of(self.delta, error)

    def sentence(self) -> str:
        """Return the comparison as a sentence."""
        first, splits = self.records[0], len(self.records)
        ours = (
            f"{first.model} on {first.dataset}: {self.ours} % over {splits}"
            f" {first.split_scheme} split{'s' if splits > 1 else ''}"
        )
        if math.isnan(self.delta):
            return f"{ours}; the paper prints no mean for this cell."
        source = "; ".join(filter(None, (self.paper_value.source, self.paper_value.misprint)))
        both = (
            f"{ours}; the paper has {self.paper_value.shown} ({source}),"
            f" a difference of {signed(self.delta)} points"
        )
        if (scheme := self.paper_value.split_scheme) != first.split_scheme:
            return f"{both}; there is no verdict, since the paper's number is for {scheme} splits."
        if self.verdict == "not comparable":
            return f"{both}; there is no verdict, since a standard deviation is missing."
        ratio = abs(self.delta) / self.standard_error if self.standard_error else math.inf
        errors = f"{ratio:.2f} standard errors of {self.standard_error:.2f} points"
        return f"{both}, or {errors}: {self.verdict}."


@dataclass(frozen=True)
class Pooled:
    """The average of our mean minus the paper's over several cells, in points.

    Our mean is below the paper's in `below` of the `cells`. The `standard_error`, and the `p_value`
    of the two-sided sign test, assume independent cells.
    """

    below: int
    cells: int
    delta: float
    standard_error: float
    p_value: float

    def sentence(self) -> str:
        """Return the result as sentences."""
        return (
            f"In {self.below} of {self.cells} cells our mean is below the paper's. If the cells"
            " were independent and both signs equally likely, a result at least this one-sided"
            f" would have probability {self.p_value:.3f}. The mean difference is"
            f" {signed(self.delta)} points, with a standard error of {self.standard_error:.2f}."
        )


def pooled(comparisons: Sequence[Comparison]) -> Pooled:
    """Average `delta` over the comparable cells; raise `UsageError` if no cell is comparable."""
    comparable = [c for c in comparisons if c.verdict != "not comparable"]
    if not comparable:
        raise UsageError("no cell is comparable: the paper needs a mean and a ±, and we two splits")
    below, n = sum(c.delta < 0 for c in comparable), len(comparable)
    tail = sum(math.comb(n, k) for k in range(max(below, n - below), n + 1)) / 2**n
    error = math.sqrt(sum(c.standard_error**2 for c in comparable)) / n
    delta = statistics.fmean(c.delta for c in comparable)
    return Pooled(below, n, delta, error, min(1.0, 2 * tail))


def by_cell(records: Sequence[Record]) -> list[list[Record]]:
    """Group records by cell; the cells are in the order of their first records."""
    cells: dict[tuple, list[Record]] = {}
    for record in records:
        cells.setdefault(tuple(getattr(record, name) for name in _FIELDS), []).append(record)
    return list(cells.values())


def compare_cells(records: Sequence[Record]) -> list[Comparison]:
    """Apply `compare` to each cell, in the order of `by_cell`."""
    return [compare(cell) for cell in by_cell(records)]


def compare(records: Sequence[Record]) -> Comparison:
    """Compare the records of one cell with the number that the paper prints.

    The number is from Table 8 for fixed splits, from Table 3 for random and sparse splits, and from
    Table 2 for a model without some channel or mixing. Records of two cells raise `UsageError`.
    """
    if not records:
        raise UsageError("there is no record to compare")
    differing = [name for name in _FIELDS if len({getattr(r, name) for r in records}) > 1]
    if differing:
        raise UsageError(f"the records are of several cells: they differ in {', '.join(differing)}")
    splits = [record.split for record in records]
    if repeated := {split for split in splits if splits.count(split) > 1}:
        raise UsageError(f"split {min(repeated)} has several records: each split counts once")
    accuracy = [100 * record.test_accuracy for record in records]
    std = statistics.stdev(accuracy) if len(accuracy) > 1 else math.nan
    return Comparison(tuple(records), _paper_value(records[0]), statistics.fmean(accuracy), std)


def _paper_value(record: Record) -> paper.PrintedValue | None:
    entry, model = MODELS[record.model], record.model
    table = "fixed" if record.split_scheme == "fixed" else "sota"
    all_channels = record.channels == "+".join(entry.channels)
    if not all_channels or record.mix != entry.mix:
        # Table 2 has only random splits, and removes either channels or the mixing, not both.
        ablation = "no mixing" if all_channels else record.mix and _ABLATION.get(record.channels)
        if not ablation or record.split_scheme != "random":
            return None
        table, model = "ablation", f"{model} {ablation}"
    try:
        value = paper.printed(table, model=model, dataset=record.dataset)
    except UsageError:
        return None
    return None if record.split_scheme == "sparse" != value.split_scheme else value


def agreement(record: Record, stored: Record) -> str:
    """Return in words whether a training run agrees with a stored record of the same trial.

    There are three verdicts: the same bits, the rounding of another processor or of other versions,
    or a difference without such a reason.
    """
    if record.trial != stored.trial:
        raise UsageError("the two records belong to different trials")
    if record.outcome == stored.outcome:
        return "**Equal to the bit.** This machine reproduces the stored record to the last bit."
    other = (record.device, record.versions) != (stored.device, stored.versions)
    verdict, reason = (
        ("Different rounding.", "Processors and versions round differently, and training amplifies")
        if other
        else ("Different.", "Equal processors and versions should give equal bits, so we expect no")
    )
    return (
        f"**{verdict}** The test accuracy is {100 * record.test_accuracy:.2f} % on this machine and"
        f" {100 * stored.test_accuracy:.2f} % in the stored record. The validation loss is"
        f" {record.val_loss:.6f} on this machine and {stored.val_loss:.6f} in the stored record."
        f" This machine used {record.device} with {record.versions}. The stored record used"
        f" {stored.device} with {stored.versions}. {reason} differences."
    )
