"""List the errors of the paper, each with the test that shows it, and its disagreements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from acm.paper.tables import PrintedValue, find, printed_values, records

#: The kinds of entries in the order of the page, with the headings of the page.
ERRATA_KINDS = {
    "algebra": "Equations",
    "statement": "Statements",
    "table": "Tables",
    "data": "Data",
    "protocol": "Protocol",
}


@dataclass(frozen=True)
class Erratum:
    """One entry.

    `place` names the place in the paper, and `label` the nearest label of the LaTeX source. `says`
    is the paper's statement in our words, `right` the correct one; both may hold `$…$`. `test` is
    the pytest node that shows the error, `page` the notebook's stem with the heading's anchor.
    """

    id: str
    place: str
    label: str
    says: str
    right: str
    kind: str
    test: str
    page: str


@cache
def errata(kind: str | None = None) -> tuple[Erratum, ...]:
    """Return every entry, or the entries of one kind.

    Args:
        kind: One of `ERRATA_KINDS`.

    Raises:
        UsageError: For an unknown kind.
    """
    entries = tuple(Erratum(**record) for record in records("errata"))
    if kind is None:
        return entries
    wanted = find("kind of erratum", kind, ERRATA_KINDS)
    return tuple(entry for entry in entries if entry.kind == wanted)


#: Pairs of tables that print the same runs, with the column of the second table.
_REPEATS = (
    ("sota", "ablation", None),
    ("sota", "hyperparameters_baselines", "results"),
    ("sota", "hyperparameters_acm", "results"),
    ("ablation", "hyperparameters_baselines", "results"),
    ("ablation", "hyperparameters_acm", "results"),
    ("fixed", "hyperparameters_fixed", "results"),
    ("ablation_times", "hyperparameters_baselines", "average epoch time"),
    ("ablation_times", "hyperparameters_acm", "average epoch time"),
)


@dataclass(frozen=True)
class Disagreement:
    """Two cells for one model and data set that differ in mean or standard deviation."""

    model: str
    dataset: str
    first: PrintedValue
    second: PrintedValue

    @property
    def rounding(self) -> bool:
        """Whether one cell is the other cell, printed with fewer decimals."""
        pairs = ((self.first.mean, self.second.mean), (self.first.std, self.second.std))
        return all(_rounds(a, b) or _rounds(b, a) for a, b in pairs)


def _rounds(fine: float | None, coarse: float | None) -> bool:
    if fine is None or coarse is None:
        return fine is coarse
    decimals = len(repr(coarse).partition(".")[2].rstrip("0"))
    return abs(fine - coarse) <= 0.5 * 10**-decimals + 1e-9


def repeated() -> list[tuple[PrintedValue, PrintedValue]]:
    """Return every pair of cells that print the outcome of one run twice."""
    pairs = []
    for first_key, second_key, column in _REPEATS:
        second_cells = {
            (c.name, c.dataset): c for c in printed_values(second_key) if column in (None, c.column)
        }
        for first in printed_values(first_key):
            second = second_cells.get((first.name, first.dataset)) if first.dataset else None
            if second and None not in (first.mean, second.mean):
                pairs.append((first, second))
    return pairs


def disagreements() -> list[Disagreement]:
    """Return the pairs of `repeated()` that differ in mean or standard deviation.

    Returns:
        The accuracies, then the epoch times, in the order of the tables.
    """
    return [
        Disagreement(first.name, first.dataset, first, second)
        for first, second in repeated()
        if (first.mean, first.std) != (second.mean, second.std)
    ]
