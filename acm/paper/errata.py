"""List the errors of the paper, and the results that two tables print differently."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from acm.paper.tables import PrintedValue, find, printed_values, records, typed

#: Maps each kind of error to its heading on the page of errata, in the order of the page.
ERRATA_KINDS = {
    "algebra": "Equations",
    "statement": "Statements",
    "table": "Tables",
    "data": "Data",
    "protocol": "Protocol",
}


@dataclass(frozen=True)
class Erratum:
    """One error of the paper.

    `place` is the location in the paper, and `label` the nearest label of the LaTeX source. `says`
    is the paper's statement in our words, and `right` the correct statement; both may contain
    `$…$`. `test` is the ID of the pytest test that shows the error. `page` is the notebook and
    section that show it, as `notebook#heading`.
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
    """Return all errors, or those of one kind in `ERRATA_KINDS`."""
    entries = tuple(typed(Erratum, record) for record in records("errata"))
    if kind is None:
        return entries
    wanted = find("kind of erratum", kind, ERRATA_KINDS)
    return tuple(entry for entry in entries if entry.kind == wanted)


#: Pairs of tables that print results of the same runs, with the column of the second table.
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


def disagreements() -> list[tuple[PrintedValue, PrintedValue]]:
    """Return all pairs of cells that print different means or deviations for the same run."""
    pairs = []
    for first_key, second_key, column in _REPEATS:
        cells = printed_values(second_key)
        second = {(c.name, c.dataset): c for c in cells if column in (None, c.column)}
        both = [(c, second.get((c.name, c.dataset))) for c in printed_values(first_key)]
        pairs += [(a, b) for a, b in both if a.dataset and b and None not in (a.mean, b.mean)]
    return [(a, b) for a, b in pairs if (a.mean, a.std) != (b.mean, b.std)]
