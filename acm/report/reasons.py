"""Read the known reasons why cells of Table 3 differ from the paper."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError, unknown
from acm.report.cells import Cell, off, row_names
from acm.report.comparison import Comparison

FILE = Path(__file__).with_name("reasons.csv")
COLUMNS = ("model", "dataset", "kind", "reason")
#: The kinds of reasons. An unexplained cell has a text that says what was tried.
KINDS = {
    "poor_optimum": "the printed hyperparameters hardly train",
    "other_code": "the number is from other authors, whose hyperparameters are not printed",
    "printed_twice": "the paper prints another number for the same run",
    "row_of_another_model": "the number is that of another model",
    "unexplained": "unexplained",
}
#: This name of a graph stands for all graphs of the model that have no separate reason.
EVERY = "*"
UNEXPLAINED = "unexplained"


def read_reasons(path: Path = FILE) -> dict[Cell, str]:
    """Return the reasons by model and graph (or `*`).

    Raises:
        UsageError: If the file has other columns, or if a line has an unknown model, graph or kind,
            has no reason, or repeats the cell of an earlier line.
    """
    reasons: dict[Cell, str] = {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise UsageError(f"{path.name}: the columns {', '.join(COLUMNS)} are needed")
        for line in lines:
            where = f"{path.name}, line {lines.line_num}"
            model, dataset, kind, reason = (line[name] for name in COLUMNS)
            if None in line or None in (model, dataset, kind, reason) or not reason.strip():
                raise UsageError(f"{where}: a model, a graph, a kind and a reason are needed")
            for what, name, valid in (
                ("model", model, row_names()),
                ("graph", dataset, (*PAPER_DATASETS, EVERY)),
                ("kind", kind, KINDS),
            ):
                if name not in valid:
                    raise UsageError(f"{where}: {unknown(what, name, valid)}")
            if (model, dataset) in reasons:
                raise UsageError(f"{where}: {model} on {dataset} has a reason already")
            reasons[model, dataset] = reason.strip()
    return reasons


def explain(
    cells: Mapping[Cell, Comparison], reasons: Mapping[Cell, str] | None = None
) -> dict[Cell, str]:
    """Return the reason, or "unexplained", for each cell that differs from the paper.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
        reasons: Reasons by cell, by default those of `read_reasons`.
    """
    reasons = read_reasons() if reasons is None else reasons
    return {
        cell: reasons.get(cell) or reasons.get((cell[0], EVERY)) or UNEXPLAINED
        for cell in off(cells)
    }
