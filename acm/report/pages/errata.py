"""Show the errata as HTML cards for the book's page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from acm.paper import Erratum


def errata_html(entries: Iterable[Erratum]) -> str:
    """Return one card per entry, with a link to the page that shows the error."""
    return "\n".join(_card(entry) for entry in entries)


def _card(entry: Erratum) -> str:
    page, _, anchor = entry.page.partition("#")
    # The errata page links to its own sections without a file name.
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
    """Return HTML with formulas between the marks of MathJax."""
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", escape(text))
