"""Format the errata as HTML cards for the book."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from acm.paper import Erratum


def errata_html(entries: Iterable[Erratum]) -> str:
    """Return one HTML card per entry, with a link to the section that shows the error."""
    return "\n".join(_card(entry) for entry in entries)


def _card(entry: Erratum) -> str:
    page, _, anchor = entry.page.partition("#")
    # A link to a section of the errata page itself has no file name.
    target = f"#{anchor}" if page == "errata" else f"{page}.html" + (f"#{anchor}" if anchor else "")
    return (
        f'<div class="sd-card sd-mb-3 mathjax_process" id="erratum-{entry.id}">'
        f'<div class="sd-card-header"><strong>{_text(entry.place)}</strong></div>'
        f'<div class="sd-card-body"><p><em>The paper:</em> {_text(entry.says)}</p>'
        f"<p><em>Correct:</em> {_text(entry.right)}</p>"
        f'<p><a href="{escape(target)}">Show the error</a> · <code>{escape(entry.test)}</code></p>'
        "</div></div>"
    )


def _text(text: str) -> str:
    """Escape a text for HTML, and write each `$formula$` with the delimiters of MathJax."""
    return re.sub(r"\$([^$]+)\$", r"\\(\1\\)", escape(text))
