"""Find out which variant of a model, or which other model, gives a row of Table 3."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import replace

import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import unknown
from acm.experiments import Record
from acm.experiments.recipes import HYPERPARAMETERS, Value, default_options, read_options
from acm.registry import MODELS, model_name
from acm.report.cells import PRINTED, Cell
from acm.report.comparison import Comparison, by_cell, compare


def variants(records: Iterable[Record], model: str, option: str) -> pd.DataFrame:
    """Compare a model's cells with the paper, by graph and by the value of one hyperparameter.

    `option` names the hyperparameter, such as `"dropout"` or `"aggregator"`. Among cells with the
    same graph and value, we use those with the most splits, and of those the best by validation.
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
    lines = []
    for dataset, value in sorted(best, key=lambda key: (PAPER_DATASETS.index(key[0]), key[1])):
        c, printed = compare(best[dataset, value]), PRINTED[model, dataset].shown
        lines.append((dataset, value, printed, c.ours, f"{c.epochs:,.0f}", c.verdict))
    return pd.DataFrame(lines, columns=["graph", option, "paper", "ours", "epochs", "verdict"])


def _rank(cell: list[Record]) -> tuple[int, float]:
    return len(cell), statistics.fmean(r.val_accuracy for r in cell)


def variants_table(variants: pd.DataFrame) -> pd.DataFrame:
    """Return one row per graph, with a column for the paper and one for each value."""
    graphs, option = variants["graph"].unique(), variants.columns[1]
    table = variants.pivot(index=["graph", "paper"], columns=option, values="ours").fillna("–")
    return table.reset_index("paper").rename_axis(columns=None).loc[graphs]


def swapped_rows(
    cells: Mapping[Cell, Comparison], records: Iterable[Record], model: str
) -> pd.DataFrame:
    """Compare SGC results that are printed with a dropout with our SGC and our ACM-SGC.

    SGC has no dropout, so a printed SGC row with a dropout is likely a row of ACM-SGC.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
        records: Records of any experiments. Records of ACM-SGC count if they have the printed
            row's hyperparameters, and as many splits as the records of SGC.
        model: `"SGC-1"` or `"SGC-2"`.
    """
    acm = MODELS[f"ACM-{model}"]
    full_acm = acm.name, "random", "+".join(acm.channels), acm.mix
    by_values = {
        (c[0].dataset, c[0].lr, c[0].weight_decay, c[0].dropout): c
        for c in by_cell(records)
        if (c[0].model, c[0].split_scheme, c[0].channels, c[0].mix) == full_acm
    }
    lines = []
    for row in paper.table("hyperparameters_baselines"):
        trained = by_values.get((row.dataset, row.lr, row.weight_decay, row.dropout), [])
        sgc = cells.get((model, row.dataset))
        if row.model == model and row.dropout and sgc and len(trained) == len(sgc.records):
            line = {"graph": row.dataset, "paper": sgc.paper_value.shown}
            line["epochs"] = f"{row.epochs:,.0f}"
            as_acm = replace(compare(trained), paper_value=sgc.paper_value)
            for name, c in ((model, sgc), (acm.name, as_acm)):
                line |= {name: c.ours, f"epochs, {name}": f"{c.epochs:,.0f}"}
                line |= {f"verdict, {name}": c.verdict}
            lines.append(line)
    return pd.DataFrame(lines)
