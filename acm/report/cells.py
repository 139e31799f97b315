"""Compare the cells and the rows of Table 3 with the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.experiments import Record, recipe
from acm.experiments.recipes import HYPERPARAMETERS
from acm.registry import MODELS
from acm.report.comparison import LIMIT, Comparison, compare, pooled, signed, verdict_of

#: The key of a cell: its model and its graph.
Cell = tuple[str, str]

#: The models of Table 3, from the first row to the last.
ROWS = tuple(name for name, entry in MODELS.items() if 3 in entry.tables)

#: The paper's cells of Table 3.
PRINTED = {(c.name, c.dataset): c for c in paper.printed_values("sota") if c.dataset}


def table_3(records: Iterable[Record]) -> dict[Cell, Comparison]:
    """Compare every trained cell of Table 3 with the paper, in the order of the table.

    Only records with the cell's recipe and the cell's kind of splits count. Ablations do not.
    """
    groups: dict[Cell, list[Record]] = {}
    for record in sorted(records, key=lambda r: r.split):
        groups.setdefault((record.model, record.dataset), []).append(record)
    cells = {}
    for cell in product(ROWS, PAPER_DATASETS):
        if cell not in groups:
            continue
        entry, wanted = MODELS[cell[0]], recipe(*cell, PRINTED[cell].split_scheme)
        values = ("split_scheme", *HYPERPARAMETERS, "options")
        chosen = [
            r
            for r in groups[cell]
            if (r.seed, r.channels, r.mix) == (0, "+".join(entry.channels), entry.mix)
            and all(getattr(r, name) == getattr(wanted, name) for name in values)
        ]
        if chosen:
            cells[cell] = compare(chosen)
    return cells


def coverage_sentence(cells: Mapping[Cell, Comparison], left_out: Mapping[str, int]) -> str:
    """Return in words how many cells are trained, how many agree, and the records left out.

    `left_out` counts, by reason, the records that do not belong to this training rule or numerics.
    """
    verdicts = [c.verdict for c in cells.values()]
    missing, reproduced, higher, lower = map(
        verdicts.count, ("not comparable", "reproduced", "higher", "lower")
    )
    comparable = len(verdicts) - missing
    reasons = ", ".join(f"{count} of {reason}" for reason, count in left_out.items() if count)
    return (
        f"{len(cells)} of the {len(ROWS) * len(PAPER_DATASETS)} cells of Table 3 are trained, and"
        f" {comparable} of them are comparable. In the other {missing} a mean or a standard"
        f" deviation is missing in the paper or here. In {reproduced} of the comparable cells"
        f" ({100 * reproduced / max(comparable, 1):.0f} %) our mean agrees with the paper's: the"
        f" two differ by at most {LIMIT:g} standard errors. Our mean is higher in {higher} of the"
        f" cells and lower in {lower}. Records left out: {reasons or 'none'}."
    )


def rows(cells: Mapping[Cell, Comparison]) -> pd.DataFrame:
    """Return the mean difference of each model over its comparable graphs, in points.

    Cornell is left out of the mean: its nodes, features, labels and splits are those of Texas.
    `higher` and `lower` count the cells that differ by more than two standard errors.
    """
    lines = []
    for model in ROWS:
        comparable = {
            dataset: c
            for (name, dataset), c in cells.items()
            if name == model and c.verdict != "not comparable"
        }
        if independent := [c for dataset, c in comparable.items() if dataset != "cornell"]:
            mean = pooled(independent)
            verdicts = [c.verdict for c in comparable.values()]
            lines.append(
                {
                    "model": model,
                    "verdict": verdict_of(mean.delta, mean.standard_error),
                    "mean Δ": mean.delta,
                    "SE": mean.standard_error,
                    "Δ / SE": mean.delta / mean.standard_error,
                    "cells": len(verdicts),
                    "higher": verdicts.count("higher"),
                    "lower": verdicts.count("lower"),
                }
            )
    return pd.DataFrame(lines)


def rows_sentence(rows: pd.DataFrame) -> str:
    """Return in words how many models differ from the paper over all their graphs."""
    reproduced, higher, lower = (
        (rows["verdict"] == verdict).sum() for verdict in ("reproduced", "higher", "lower")
    )
    return (
        f"{len(rows)} models can be compared over all their graphs. The mean difference of"
        f" {reproduced} is at most {LIMIT:g} standard errors; {higher} are higher than in the paper"
        f" and {lower} lower. The average difference of all models is"
        f" {signed(rows['mean Δ'].mean())} points."
    )
