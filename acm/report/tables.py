"""Write comparisons as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import pandas as pd

from acm.data.names import PAPER_DATASETS
from acm.report.cells import Cell, Row, row_names
from acm.report.comparison import Comparison
from acm.report.numbers import NONE, SignedTable, signed

_COLUMNS = ("dataset", "model", "splits", "ours", "paper", "Δ", "SE", "Δ / SE", "verdict")


def comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return a row for each cell: both accuracies in percent, Δ, its standard error, verdict."""
    rows = []
    for c in comparisons:
        first = c.records[0]
        rows.append(
            {
                "dataset": first.dataset,
                "model": first.model,
                "splits": len(c.records),
                "ours": c.ours,
                "paper": c.paper_value.shown if c.paper_value else NONE,
                "Δ": round(c.delta, 2),
                "SE": round(c.standard_error, 2),
                "Δ / SE": round(c.delta / c.standard_error, 2)
                if c.standard_error
                else float("nan"),
                "verdict": c.verdict,
            }
        )
    table = pd.DataFrame(rows, columns=_COLUMNS).set_index("dataset")
    return SignedTable.of(table, {"Δ": 2, "Δ / SE": 2})


#: A sign for each verdict, which says it without colour.
SIGNS = {"reproduced": "=", "higher": "▲", "lower": "▼", "not comparable": "○", "not run": "·"}


def cells_html(cells: Mapping[Cell, Comparison], reasons: Mapping[Cell, str] | None = None) -> str:
    """Write a row for each cell: our accuracy, the paper's, Δ, its standard error, the reason.

    Args:
        cells: As `table_3` returns them.
        reasons: The reason of each cell that differs, as `explain` of its page returns it.
    """
    reasons = reasons or {}
    lines = []
    for (model, dataset), c in cells.items():
        theirs = c.paper_value.mean if c.paper_value else None
        lines.append(
            [
                _cell(model),
                _cell(dataset),
                _verdict(c.verdict),
                _cell(c.ours, c.mean),
                _cell(c.paper_value.shown if c.paper_value else NONE, theirs),
                *_difference(c.delta, c.standard_error),
                _cell(reasons.get((model, dataset), ""), kind="why"),
            ]
        )
    head = ("model", "graph", "verdict", "ours", "paper", "Δ", "SE", "Δ / SE", "why")
    return _sortable("Every cell that was run", head, lines) + _slips(cells)


def rows_html(rows: Iterable[Row]) -> str:
    """Write a row for each model over all its graphs."""
    lines = []
    for row in rows:
        delta, error = math.nan, math.nan
        if row.pooled:
            delta, error = row.pooled.delta, row.pooled.standard_error
        counts = [_cell(str(n), n) for n in (row.cells, row.higher, row.lower)]
        verdict = _verdict(row.verdict)
        lines.append([_cell(row.model), verdict, *_difference(delta, error), *counts])
    head = ("model", "together", "mean Δ", "SE", "Δ / SE", "cells", "higher", "lower")
    return _sortable("Every row as a whole", head, lines)


def matrix_html(cells: Mapping[Cell, Comparison]) -> str:
    """Write models by graphs: the sign of the verdict and Δ in points for each cell."""
    body = []
    for model in row_names():
        line = [f'<th scope="row">{escape(model)}</th>']
        for dataset in PAPER_DATASETS:
            c = cells.get((model, dataset))
            if c is None:  # perhaps most of them: a quiet mark, which the legend explains
                line.append(f'<td class="{_kind("not run")}">{SIGNS["not run"]}</td>')
                continue
            verdict = c.verdict
            shown = SIGNS[verdict]
            if not math.isnan(c.delta):
                shown += f" {signed(c.delta, 1)}"
            said = f"ours {c.ours}, paper {c.paper_value.shown}" if c.paper_value else ""
            line.append(
                f'<td class="{_kind(verdict)}" title="{escape(said)}">{shown}'
                f'<span class="visually-hidden"> {verdict}</span></td>'
            )
        body.append(f"<tr>{''.join(line)}</tr>")
    head = "".join(f'<th scope="col">{name}</th>' for name in PAPER_DATASETS)
    legend = "".join(
        f'<span class="{_kind(verdict)}">{sign} {verdict}</span>' for verdict, sign in SIGNS.items()
    )
    return (
        f'<p class="verdicts">{legend}</p>{_box("Verdicts, models by graphs")}'
        '<table class="dataframe verdicts matrix"><thead><tr><th scope="col">model</th>'
        f"{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _slips(cells: Mapping[Cell, Comparison]) -> str:
    """What the paper prints otherwise than it is shown, in a line below."""
    said = [
        f"{model} on {dataset}: {c.paper_value.slip}."
        for (model, dataset), c in cells.items()
        if c.paper_value and c.paper_value.slip
    ]
    if not said:
        return ""
    return f"<p>Slips of the paper: {escape(' '.join(said))}</p>"


def _cell(text: str, key: float | None = None, kind: str = "") -> tuple[str, str]:
    """What a cell of a table that sorts shows, and its attributes."""
    # Only numbers are sorted by something else than what they read.
    by = "" if key is None or math.isnan(key) else f' data-sort="{key:.6g}"'
    return escape(text), by + (f' class="{kind}"' if kind else "")


def _difference(delta: float, error: float) -> list[tuple[str, str]]:
    ratio = delta / error if error else math.nan
    size = NONE if math.isnan(error) else f"{error:.2f}"
    return [_cell(signed(delta), delta), _cell(size, error), _cell(signed(ratio, 1), ratio)]


def _verdict(verdict: str) -> tuple[str, str]:
    return _cell(f"{SIGNS[verdict]} {verdict}", kind=_kind(verdict))


def _kind(verdict: str) -> str:
    return verdict.replace(" ", "-")


def _sortable(label: str, head: Sequence[str], lines: Iterable[Sequence[tuple[str, str]]]) -> str:
    body = []
    for first, *rest in lines:
        tags = [f'<th scope="row"{first[1]}>{first[0]}</th>']
        tags += [f"<td{attributes}>{text}</td>" for text, attributes in rest]
        body.append(f"<tr>{''.join(tags)}</tr>")
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    return (
        f'{_box(label)}<table class="dataframe verdicts sortable"><thead><tr>{names}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _box(label: str) -> str:
    # It scrolls, so a keyboard has to reach it.
    return f'<div class="table-box" role="region" tabindex="0" aria-label="{escape(label)}">'
