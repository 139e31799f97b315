"""Read the known reasons why cells of Table 3 differ from the paper."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError, unknown
from acm.report.cells import ROWS, Cell
from acm.report.comparison import Comparison

FILE = Path(__file__).with_name("reasons.csv")
#: This value of `dataset` stands for all graphs of the model that have no separate line.
EVERY = "*"
#: The valid values of the first three columns. The fourth column, `reason`, is free text.
COLUMNS = {
    "model": ROWS,
    "dataset": (*PAPER_DATASETS, EVERY),
    "kind": ("poor_optimum", "other_code", "printed_twice", "row_of_another_model", "unexplained"),
}


def read_reasons(path: Path = FILE) -> dict[Cell, str]:
    """Return the reason for each (model, graph or `*`); an invalid line raises `UsageError`."""
    reasons: dict[Cell, str] = {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        if lines.fieldnames != [*COLUMNS, "reason"]:
            raise UsageError(f"{path.name}: the columns must be {', '.join(COLUMNS)}, reason")
        for line in lines:
            where = f"{path.name}, line {lines.line_num}"
            if None in line or not (line["reason"] or "").strip():
                raise UsageError(f"{where}: expected a model, a graph, a kind and a reason")
            for column, valid in COLUMNS.items():
                if line[column] not in valid:
                    raise UsageError(f"{where}: {unknown(column, line[column], valid)}")
            cell = line["model"], line["dataset"]
            if cell in reasons:
                raise UsageError(f"{where}: {' on '.join(cell)} already has a reason")
            reasons[cell] = line["reason"].strip()
    return reasons


def explain(
    cells: Mapping[Cell, Comparison], reasons: Mapping[Cell, str] | None = None
) -> dict[Cell, str]:
    """Return a reason or "unexplained" for each cell that is higher or lower than the paper's.

    The default of `reasons` is the content of `reasons.csv`.
    """
    reasons = read_reasons() if reasons is None else reasons
    return {
        cell: reasons.get(cell) or reasons.get((cell[0], EVERY)) or "unexplained"
        for cell, c in cells.items()
        if c.verdict in ("higher", "lower")
    }
