"""One row of Table 3 by two definitions: a model's accuracy by one of its hyperparameters."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import pandas as pd

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError, unknown
from acm.experiments import Record
from acm.experiments.options import Value, own, read_options
from acm.experiments.recipes import HYPERPARAMETERS
from acm.nn import model_name
from acm.report.comparison import Comparison, by_cell, compare
from acm.report.numbers import NONE


def variants(records: Iterable[Record], model: str, option: str) -> dict[str, dict]:
    """A model's cells by graph and by the value of one of its hyperparameters.

    Of several cells with one value the best by validation counts, of those on most splits.

    Args:
        records: Of any experiments; those of the model count.
        model: Its name.
        option: The hyperparameter, such as `"dropout"`, or of its own, such as `"aggregator"`.

    Returns:
        By graph, in the order of the tables, and by value a `Comparison`.

    Raises:
        UsageError: If there is no such model, or it has no such hyperparameter.
    """
    model = model_name(model)
    known = (*HYPERPARAMETERS, *own(model))
    if option not in known:
        raise unknown("hyperparameter", option, known, f" of {model}")
    best: dict[tuple[str, Value], list[Record]] = {}
    for cell in by_cell([r for r in records if r.model == model]):
        values = read_options(model, cell[0].options)
        place = cell[0].dataset, values.get(option, getattr(cell[0], option, None))
        if place not in best or _rank(cell) > _rank(best[place]):
            best[place] = cell
    return {
        dataset: {value: compare(cell) for (d, value), cell in best.items() if d == dataset}
        for dataset in PAPER_DATASETS
        if any(d == dataset for d, _ in best)
    }


def _rank(cell: list[Record]) -> tuple[int, float]:
    return len(cell), statistics.fmean(r.val_accuracy for r in cell)


def variants_table(found: dict[str, dict]) -> pd.DataFrame:
    """The same as a table: a line for every graph, a column for the paper and each value.

    Raises:
        UsageError: If there is none.
    """
    if not found:
        raise UsageError("no variant was run")
    values = sorted({value for cells in found.values() for value in cells})
    return pd.DataFrame(
        [
            {"graph": dataset, "paper": _paper(next(iter(cells.values())))}
            | {value: cells[value].ours if value in cells else NONE for value in values}
            for dataset, cells in found.items()
        ]
    ).set_index("graph")


def variants_lengths(found: dict[str, dict]) -> pd.DataFrame:
    """Accuracy and mean number of epochs for every graph and value, as a table.

    Raises:
        UsageError: If there is none.
    """
    if not found:
        raise UsageError("no variant was run")
    return pd.DataFrame(
        [
            {
                "graph": dataset,
                "value": f"{value:g}" if isinstance(value, float) else value,
                "ours": cell.ours,
                "epochs": f"{cell.epochs:,.0f}",
            }
            for dataset, cells in found.items()
            for value, cell in sorted(cells.items())
        ]
    ).set_index("graph")


def variants_sentence(found: dict[str, dict]) -> str:
    """In how many cells each value agrees with the paper, in words."""
    values = sorted({value for cells in found.values() for value in cells})
    said = []
    for value in values:
        there = [cells[value] for cells in found.values() if value in cells]
        there = [c for c in there if c.verdict != "not comparable"]
        agree = sum(c.verdict == "reproduced" for c in there)
        said.append(f"With {value} {agree} of {len(there)} means agree with the paper's.")
    return " ".join(said)


def _paper(cell: Comparison) -> str:
    return cell.published.shown if cell.published else NONE
