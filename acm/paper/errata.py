"""What the paper says that is not so, each entry with the test that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape

from acm.paper.tables import PrintedValue, find, printed_values, records

#: The kinds of entries, in the order of the page, with what they are called there.
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

    `place` and `label` say where in the paper (a label of the LaTeX source), `says` what stands
    there, in our words, `right` what should. `test` is the pytest node that shows it, `page` the
    stem of the notebook that does, with the heading's anchor. Text may hold `$…$`.
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
    """Every entry, or those of a kind ("algebra", "statement", "table", "data", "protocol").

    Raises:
        UsageError: For an unknown kind.
    """
    entries = tuple(Erratum(**record) for record in records("errata"))
    if kind is None:
        return entries
    wanted = find("kind of erratum", kind, ERRATA_KINDS)
    return tuple(entry for entry in entries if entry.kind == wanted)


def errata_html(entries: Iterable[Erratum]) -> str:
    """Entries as cards that stack on a narrow screen, each linked to the page that shows it."""
    return "\n".join(_card(entry) for entry in entries)


def _card(entry: Erratum) -> str:
    page, _, anchor = entry.page.partition("#")
    # Entries that this very page shows need no other file.
    target = f"#{anchor}" if page == "errata" else f"{page}.html" + (f"#{anchor}" if anchor else "")
    return (
        f'<div class="sd-card sd-mb-3 mathjax_process" id="erratum-{entry.id}">'
        f'<div class="sd-card-header"><strong>{_text(entry.place)}</strong></div>'
        f'<div class="sd-card-body"><p><em>It says:</em> {_text(entry.says)}</p>'
        f"<p><em>Right is:</em> {_text(entry.right)}</p>"
        f'<p><a href="{escape(target)}">See it</a> · <code>{escape(entry.test)}</code></p>'
        "</div></div>"
    )


def _text(text: str) -> str:
    """HTML with the formulas between the marks that MathJax looks for."""
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", escape(text))


#: Pairs of tables that repeat each other, with the column of the second (results unless a time).
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
        """Whether one is the other printed with fewer decimals."""
        pairs = ((self.first.mean, self.second.mean), (self.first.std, self.second.std))
        return all(_rounds(a, b) or _rounds(b, a) for a, b in pairs)

    def __str__(self) -> str:
        return (
            f"{self.model} on {self.dataset}: {self.first.text} in {self.first.source}; "
            f"{self.second.text} in {self.second.source}"
        )


def _rounds(fine: float | None, coarse: float | None) -> bool:
    if fine is None or coarse is None:
        return fine is coarse
    decimals = len(repr(coarse).partition(".")[2].rstrip("0"))
    return abs(fine - coarse) <= 0.5 * 10**-decimals + 1e-9


def _pairs() -> Iterator[tuple[PrintedValue, PrintedValue]]:
    for one, other, column in _REPEATS:
        again = {
            (c.name, c.dataset): c for c in printed_values(other) if column in (None, c.column)
        }
        for cell in printed_values(one):
            if cell.dataset and (found := again.get((cell.name, cell.dataset))):
                yield cell, found


def repeated() -> list[tuple[PrintedValue, PrintedValue]]:
    """Every pair of cells in which the paper prints one run's outcome twice."""
    return [pair for pair in _pairs() if None not in (pair[0].mean, pair[1].mean)]


def disagreements() -> list[Disagreement]:
    """The pairs of `repeated()` that do not print the same mean and standard deviation.

    Returns:
        Accuracies first, then epoch times, each in the order of the tables.
    """
    return [
        Disagreement(first.name, first.dataset, first, second)
        for first, second in repeated()
        if (first.mean, first.std) != (second.mean, second.std)
    ]
