"""Format comparisons as tables: as a data frame, and as HTML for the book."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape

import pandas as pd

from acm.data.names import PAPER_DATASETS
from acm.report.cells import ROWS, Cell
from acm.report.comparison import Comparison, signed

#: The sign of each verdict, for readers who cannot distinguish the colors.
SIGNS = {"reproduced": "=", "higher": "▲", "lower": "▼", "not comparable": "○", "not run": "·"}


def comparison_table(comparisons: Iterable[Comparison]) -> pd.DataFrame:
    """Return one row per cell; Δ is our mean minus the paper's in points, SE its standard error."""
    return pd.DataFrame(
        [
            {
                "model": c.records[0].model,
                "graph": c.records[0].dataset,
                "verdict": c.verdict,
                "splits": len(c.records),
                "ours": c.ours,
                "paper": c.paper_value.shown if c.paper_value else "–",
                "Δ": c.delta,
                "SE": c.standard_error,
                "Δ / SE": c.delta / (c.standard_error or math.nan),
            }
            for c in comparisons
        ],
        columns=["model", "graph", "verdict", "splits", "ours", "paper", "Δ", "SE", "Δ / SE"],
    )


def table_html(table: pd.DataFrame, label: str) -> str:
    """Return an HTML table that the reader can sort; `label` names it for screen readers."""
    columns = {
        name: [_FORMATS.get(name, lambda value: escape(str(value)))(value) for value in values]
        for name, values in table.items()
    }
    return html_box(pd.DataFrame(columns).set_index(table.columns[0]), label, "sortable")


def matrix_html(cells: Mapping[Cell, Comparison]) -> str:
    """Return an HTML table, models by graphs, of the signs of the verdicts and of Δ in points."""
    rows = [[_mark(cells.get((model, dataset))) for dataset in PAPER_DATASETS] for model in ROWS]
    legend = "".join(map(_verdict, SIGNS))
    table = pd.DataFrame(rows, pd.Index(ROWS, name="model"), PAPER_DATASETS)
    return f'<p class="verdicts">{legend}</p>' + html_box(table, "Verdicts of all cells", "matrix")


def _mark(c: Comparison | None) -> str:
    if c is None:
        return _span("not run", SIGNS["not run"])
    delta = "" if math.isnan(c.delta) else f" {signed(c.delta, 1)}"
    spoken = _span("visually-hidden", f" {c.verdict}")
    return _span(c.verdict, f"{SIGNS[c.verdict]}{delta}{spoken}")


def _verdict(verdict: str) -> str:
    return _span(verdict, f"{SIGNS[verdict]} {verdict}")


def _span(kind: str, html: str) -> str:
    return f'<span class="{kind.replace(" ", "-")}">{html}</span>'


_FORMATS = {
    "verdict": _verdict,
    "Δ": signed,
    "mean Δ": signed,
    "SE": lambda value: "–" if math.isnan(value) else f"{value:.2f}",
    "Δ / SE": signed,
    "why": lambda reason: _span("why", escape(reason)),
}


def html_box(table: pd.DataFrame, label: str, kind: str) -> str:
    """Return the HTML of a table in a box that scrolls; the entries of `table` are HTML."""
    # pandas would print the index name in a separate row, so it becomes the columns' name.
    html = table.rename_axis(index=None, columns=table.index.name).to_html(
        escape=False, border=0, justify="unset", classes=["verdicts", kind]
    )
    # `tabindex` lets keyboard users select and scroll the box.
    return f'<div class="table-box" role="region" tabindex="0" aria-label="{label}">{html}</div>'
