"""Write comparisons as tables: a data frame for notebooks, HTML for the page of Table 3."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import pandas as pd

from acm.data.names import PAPER_DATASETS
from acm.report.cells import Cell, Row, row_names
from acm.report.comparison import Comparison
from acm.report.numbers import NONE, SignedTable, signed

#: A sign for each verdict, so that color is not needed to read the table.
SIGNS = {"reproduced": "=", "higher": "▲", "lower": "▼", "not comparable": "○", "not run": "·"}

_COLUMNS = ("dataset", "model", "splits", "ours", "paper", "Δ", "SE", "Δ / SE", "verdict")


def comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return a row for each cell: both accuracies in percent, Δ, its standard error, verdict."""
    rows = [
        (
            c.records[0].dataset,
            c.records[0].model,
            len(c.records),
            c.ours,
            _paper(c),
            round(c.delta, 2),
            round(c.standard_error, 2),
            round(_ratio(c.delta, c.standard_error), 2),
            c.verdict,
        )
        for c in comparisons
    ]
    table = pd.DataFrame(rows, columns=_COLUMNS).set_index("dataset")
    return SignedTable.of(table, {"Δ": 2, "Δ / SE": 2})


def cells_html(cells: Mapping[Cell, Comparison], reasons: Mapping[Cell, str] | None = None) -> str:
    """Write a row for each cell: our accuracy, the paper's, Δ, its standard error, the reason.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
        reasons: The reason of each cell that differs, as `explain` returns it.
    """
    reasons = reasons or {}
    rows = [
        {
            "model": escape(model),
            "graph": dataset,
            "verdict": _verdict(c.verdict),
            "ours": c.ours,
            "paper": escape(_paper(c)),
            **_difference("Δ", c.delta, c.standard_error),
            "why": _span("why", escape(reasons.get((model, dataset), ""))),
        }
        for (model, dataset), c in cells.items()
    ]
    head = ("model", "graph", "verdict", "ours", "paper", "Δ", "SE", "Δ / SE", "why")
    table = pd.DataFrame(rows, columns=head)
    misprints = [
        f"{model} on {dataset}: {c.paper_value.misprint}."
        for (model, dataset), c in cells.items()
        if c.paper_value and c.paper_value.misprint
    ]
    note = f"<p>Misprints in the paper: {escape(' '.join(misprints))}</p>" if misprints else ""
    return _html(table.set_index("model"), "Every trained cell", "sortable") + note


def rows_html(rows: Iterable[Row]) -> str:
    """Write a row for each model over all its graphs."""
    lines = []
    for row in rows:
        delta, error = math.nan, math.nan
        if row.pooled:
            delta, error = row.pooled.delta, row.pooled.standard_error
        line = {"model": escape(row.model), "together": _verdict(row.verdict)}
        line |= _difference("mean Δ", delta, error)
        lines.append(line | {"cells": row.cells, "higher": row.higher, "lower": row.lower})
    head = ("model", "together", "mean Δ", "SE", "Δ / SE", "cells", "higher", "lower")
    table = pd.DataFrame(lines, columns=head).set_index("model")
    return _html(table, "Each model over all its graphs", "sortable")


def matrix_html(cells: Mapping[Cell, Comparison]) -> str:
    """Write models by graphs: the sign of the verdict and Δ in points for each cell."""
    rows = {
        escape(model): [_matrix_cell(cells.get((model, dataset))) for dataset in PAPER_DATASETS]
        for model in row_names()
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=PAPER_DATASETS)
    legend = "".join(map(_verdict, SIGNS))
    return f'<p class="verdicts">{legend}</p>' + _html(table, "Verdicts of all cells", "matrix")


def _matrix_cell(c: Comparison | None) -> str:
    if c is None:
        return _span("not run", SIGNS["not run"])
    delta = "" if math.isnan(c.delta) else f" {signed(c.delta, 1)}"
    title = f"ours {c.ours}, paper {_paper(c)}" if c.paper_value else ""
    spoken = _span("visually-hidden", f" {c.verdict}")
    return _span(c.verdict, f"{SIGNS[c.verdict]}{delta}{spoken}", title)


def _paper(c: Comparison) -> str:
    return c.paper_value.shown if c.paper_value else NONE


def _ratio(delta: float, error: float) -> float:
    return delta / error if error else math.nan


def _difference(name: str, delta: float, error: float) -> dict[str, str]:
    return {
        name: signed(delta),
        "SE": NONE if math.isnan(error) else f"{error:.2f}",
        "Δ / SE": signed(_ratio(delta, error), 1),
    }


def _verdict(verdict: str) -> str:
    return _span(verdict, f"{SIGNS[verdict]} {verdict}")


def _span(kind: str, html: str, title: str = "") -> str:
    attribute = f' title="{escape(title)}"' if title else ""
    return f'<span class="{kind.replace(" ", "-")}"{attribute}>{html}</span>'


def _html(table: pd.DataFrame, label: str, kind: str) -> str:
    # The name of the columns, not of the index, puts "model" into the one row of headings.
    html = table.rename_axis(index=None, columns="model").to_html(
        escape=False, border=0, justify="unset", classes=["verdicts", kind]
    )
    # The box scrolls, so the keyboard must be able to reach it.
    return f'<div class="table-box" role="region" tabindex="0" aria-label="{label}">{html}</div>'
