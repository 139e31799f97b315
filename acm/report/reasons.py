"""Why a cell of ours is off the paper's, where that is known: the data file `reasons.csv`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError, unknown
from acm.report.comparison import Comparison
from acm.report.excess import allowances
from acm.report.table3 import Place, off, row_names

FILE = Path(__file__).with_name("reasons.csv")
COLUMNS = ("model", "dataset", "reason")
#: In place of a graph: all graphs of the model that have no reason of their own.
EVERY = "*"
UNEXPLAINED = "unexplained"


def read_reasons(path: Path = FILE) -> dict[Place, str]:
    """The reasons by model and graph (or `*`), as the file has them.

    Raises:
        UsageError: If the file has other columns, or a line of it an unknown model or graph, no
            reason, or the place of another line.
    """
    found: dict[Place, str] = {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise UsageError(f"{path.name}: the columns {', '.join(COLUMNS)} are needed")
        for line in lines:
            where = f"{path.name}, line {lines.line_num}"
            model, dataset, reason = (line[name] for name in COLUMNS)
            if None in line or None in (model, dataset, reason) or not reason.strip():
                raise UsageError(f"{where}: a model, a graph and a reason are needed")
            for kind, name, known in (
                ("model", model, row_names()),
                ("graph", dataset, (*PAPER_DATASETS, EVERY)),
            ):
                if name not in known:
                    raise UsageError(f"{where}: {unknown(kind, name, known)}")
            if (model, dataset) in found:
                raise UsageError(f"{where}: {model} on {dataset} has a reason already")
            found[model, dataset] = reason.strip()
    return found


def explain(
    cells: Mapping[Place, Comparison], reasons: Mapping[Place, str] | None = None
) -> dict[Place, str]:
    """For each cell that is off its reason, or `"unexplained"`.

    A cell without a reason in the file has one all the same if the paper's mean is no higher than
    its means on other graphs let expect (`acm.report.excess`).

    Args:
        cells: As `table_3` returns them.
        reasons: As `read_reasons` returns them, which is the default.
    """
    reasons = read_reasons() if reasons is None else reasons
    luck = {
        place: f"the paper's mean is no higher than the best of {a.draws:.0f} equally good draws,"
        " which its means on other graphs look like"
        for place, a in allowances(cells).items()
        if a.agrees
    }
    return {
        (model, dataset): reasons.get((model, dataset))
        or reasons.get((model, EVERY))
        or luck.get((model, dataset), UNEXPLAINED)
        for model, dataset in off(cells)
    }


def unneeded(
    cells: Mapping[Place, Comparison], reasons: Mapping[Place, str] | None = None
) -> list[str]:
    """Each reason for something that was run and is not off, in a line: it explains nothing.

    Arguments are those of `explain`. Of a `*`, one cell that is off and has no other reason will
    do. A reason for what was not run yet is not counted.
    """
    reasons = read_reasons() if reasons is None else reasons
    wrong = off(cells)
    found = []
    for model, dataset in reasons:
        if dataset != EVERY:
            if (model, dataset) in cells and (model, dataset) not in wrong:
                verdict = cells[model, dataset].verdict
                found.append(f"{model} on {dataset} has a reason, but is {verdict}")
            continue
        run = [d for m, d in cells if m == model]
        if run and not any((model, d) in wrong and (model, d) not in reasons for d in run):
            found.append(f"{model} has a reason for all graphs, but none of those run needs it")
    return found
