"""Where rows of Table 3 come from: variants of a model, and rows of another model."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError, unknown
from acm.experiments import Record
from acm.experiments.recipes import HYPERPARAMETERS, Value, default_options, read_options
from acm.registry import MODELS, model_name
from acm.report.cells import Cell
from acm.report.comparison import Comparison, by_cell, compare
from acm.report.numbers import NONE

#: A model's comparisons by graph and by the value of one hyperparameter.
Variants = dict[str, dict[Value, Comparison]]


def variants(records: Iterable[Record], model: str, option: str) -> Variants:
    """Return a model's cells by graph and by the value of one hyperparameter.

    Of several cells with one value, the one with most splits counts, then the best by validation.

    Args:
        records: Records of any experiments; those of the model count.
        model: Its name.
        option: The hyperparameter, such as `"dropout"` or `"aggregator"`.

    Raises:
        UsageError: If there is no such model or hyperparameter.
    """
    model = model_name(model)
    names = (*HYPERPARAMETERS, *default_options(model))
    if option not in names:
        raise unknown("hyperparameter", option, names, f" of {model}")
    best: dict[tuple[str, Value], list[Record]] = {}
    for cell in by_cell([r for r in records if r.model == model]):
        values = read_options(model, cell[0].options)
        key = cell[0].dataset, values.get(option, getattr(cell[0], option, None))
        if key not in best or _rank(cell) > _rank(best[key]):
            best[key] = cell
    return {
        dataset: {value: compare(cell) for (d, value), cell in best.items() if d == dataset}
        for dataset in PAPER_DATASETS
        if any(d == dataset for d, _ in best)
    }


def _rank(cell: list[Record]) -> tuple[int, float]:
    return len(cell), statistics.fmean(r.val_accuracy for r in cell)


def variants_table(variants: Variants) -> pd.DataFrame:
    """Return one line per graph, with a column for the paper and one for each value.

    Raises:
        UsageError: If there is no variant.
    """
    if not variants:
        raise UsageError("no variant was trained")
    values = sorted({value for cells in variants.values() for value in cells})
    lines = []
    for dataset, cells in variants.items():
        paper_value = next(iter(cells.values())).paper_value
        line = {"graph": dataset, "paper": paper_value.shown if paper_value else NONE}
        lines.append(line | {v: cells[v].ours if v in cells else NONE for v in values})
    return pd.DataFrame(lines).set_index("graph")


def variants_epochs(variants: Variants) -> pd.DataFrame:
    """Return accuracy and mean number of epochs for every graph and value.

    Raises:
        UsageError: If there is no variant.
    """
    if not variants:
        raise UsageError("no variant was trained")
    return pd.DataFrame(
        [
            {
                "graph": dataset,
                "value": f"{value:g}" if isinstance(value, float) else value,
                "ours": cell.ours,
                "epochs": f"{cell.epochs:,.0f}",
            }
            for dataset, cells in variants.items()
            for value, cell in sorted(cells.items())
        ]
    ).set_index("graph")


def variants_sentence(variants: Variants) -> str:
    """Say in how many cells each value agrees with the paper."""
    sentences = []
    for value in sorted({value for cells in variants.values() for value in cells}):
        cells = [cells[value] for cells in variants.values() if value in cells]
        cells = [c for c in cells if c.verdict != "not comparable"]
        agree = sum(c.verdict == "reproduced" for c in cells)
        sentences.append(f"With {value} {agree} of {len(cells)} means agree with the paper's.")
    return " ".join(sentences)


ROWS = ("SGC-1", "SGC-2")


@dataclass(frozen=True)
class SwappedRow:
    """A printed row of SGC, trained as SGC and as its ACM form.

    Attributes:
        model, dataset: The cell.
        epochs: Number of epochs in the paper, from its printed times.
        as_printed: Our training of the model, compared with the paper's mean.
        as_acm: Our training of the ACM form with the row's hyperparameters, compared with it.
    """

    model: str
    dataset: str
    epochs: float
    as_printed: Comparison
    as_acm: Comparison


def rows_with_dropout(model: str) -> list[str]:
    """Return the graphs whose printed row of SGC-1 or SGC-2 has a dropout; most have none.

    Raises:
        UsageError: If it is another model.
    """
    model = _sgc(model)
    return [name for name in PAPER_DATASETS if (row := _row(model, name)) and row.dropout]


def swapped_rows(
    cells: Mapping[Cell, Comparison], records: Iterable[Record], model: str
) -> list[SwappedRow]:
    """Return each printed row of SGC with a dropout of which both trainings have records.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
        records: Records of any experiments. Those of the ACM form count that have the row's
            hyperparameters, if they have as many splits as those of the model.
        model: SGC-1 or SGC-2.

    Raises:
        UsageError: If it is another model.
    """
    model = _sgc(model)
    acm = MODELS[f"ACM-{model}"]
    whole = acm.name, "random", "+".join(acm.channels), acm.mix
    cells_of_acm = by_cell(
        [r for r in records if (r.model, r.split_scheme, r.channels, r.mix) == whole]
    )
    by_values = {(c[0].dataset, c[0].lr, c[0].weight_decay, c[0].dropout): c for c in cells_of_acm}
    result = []
    for dataset in rows_with_dropout(model):
        row, printed = _row(model, dataset), cells.get((model, dataset))
        trained = by_values.get((dataset, row.lr, row.weight_decay, row.dropout), [])
        if printed is not None and len(trained) == len(printed.records):
            as_acm = replace(compare(trained), paper_value=printed.paper_value)
            result.append(SwappedRow(model, dataset, row.epochs, printed, as_acm))
    return result


def swapped_rows_table(rows: Sequence[SwappedRow]) -> pd.DataFrame:
    """Return accuracy and length of each row: as printed, as SGC, and as its ACM form.

    Raises:
        UsageError: If there is no row.
    """
    if not rows:
        raise UsageError("no row was trained as both models")
    return pd.DataFrame(
        {
            "paper": [row.as_printed.paper_value.shown for row in rows],
            "epochs, paper": [f"{row.epochs:,.0f}" for row in rows],
            "SGC": [row.as_printed.ours for row in rows],
            "epochs, SGC": [f"{row.as_printed.epochs:,.0f}" for row in rows],
            "ACM-SGC": [row.as_acm.ours for row in rows],
            "epochs, ACM-SGC": [f"{row.as_acm.epochs:,.0f}" for row in rows],
        },
        index=pd.Index([f"{row.model}, {row.dataset}" for row in rows], name="row"),
    )


def swapped_rows_sentence(rows: Sequence[SwappedRow]) -> str:
    """Say with how many of the printed means each of the two models agrees."""
    acm = sum(row.as_acm.verdict == "reproduced" for row in rows)
    printed = sum(row.as_printed.verdict == "reproduced" for row in rows)
    return (
        f"Of {len(rows)} printed means the ACM form agrees with {acm or 'none'}, the printed model"
        f" with {printed or 'none'}."
    )


def epoch_time_ratio(model: str) -> dict[str, float]:
    """Return by graph the printed time of an epoch of SGC, over that of its ACM form.

    Raises:
        UsageError: If the model is not SGC-1 or SGC-2.
    """
    model = _sgc(model)
    both = {name: (_row(model, name), _row(f"ACM-{model}", name)) for name in PAPER_DATASETS}
    return {name: row.epoch_ms / acm.epoch_ms for name, (row, acm) in both.items() if row}


def _sgc(model: str) -> str:
    if (name := model_name(model)) not in ROWS:
        raise UsageError(f"{model}: one of {', '.join(ROWS)} is needed")
    return name


def _row(model: str, dataset: str) -> paper.Hyperparameters | None:
    try:
        return paper.hyperparameters(model, dataset)
    except UsageError:
        return None
