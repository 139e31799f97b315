"""What the paper says that is not so, each entry with the test that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape

from acm.paper._rows import find, records

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
