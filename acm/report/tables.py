"""Comparisons as tables."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from acm.report.comparison import Comparison
from acm.report.numbers import NONE, SignedTable

_COLUMNS = ("dataset", "model", "splits", "ours", "paper", "Δ", "SE", "Δ / SE", "verdict")


def comparison_table(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """One row a cell: ours and the paper's accuracy in percent, Δ, its standard error, verdict."""
    rows = []
    for c in comparisons:
        first = c.records[0]
        rows.append(
            {
                "dataset": first.dataset,
                "model": first.model,
                "splits": len(c.records),
                "ours": c.ours,
                "paper": c.published.shown if c.published else NONE,
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
