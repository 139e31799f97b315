"""Compare our results with Table 3: each cell, and each model over all its graphs."""

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

#: The key of a cell of Table 3: (model, graph).
Cell = tuple[str, str]

#: The models of Table 3, in the order of its rows.
ROWS = tuple(name for name, entry in MODELS.items() if 3 in entry.tables)

#: The values that the paper prints in Table 3, by cell.
PRINTED = {(c.name, c.dataset): c for c in paper.printed_values("sota") if c.dataset}


def table_3(records: Iterable[Record]) -> dict[Cell, Comparison]:
    """Compare every cell of Table 3 for which records exist, in the order of the table.

    A record counts if it has the hyperparameters of the cell's recipe, the paper's split scheme,
    seed 0, and all channels of the model. Records of ablations do not count.
    """
    groups: dict[Cell, list[Record]] = {}
    for record in sorted(records, key=lambda r: r.split):
        groups.setdefault((record.model, record.dataset), []).append(record)
    cells = {}
    for cell in product(ROWS, PAPER_DATASETS):
        if cell not in groups:
            continue
        entry, expected = MODELS[cell[0]], recipe(*cell, PRINTED[cell].split_scheme)
        values = ("split_scheme", *HYPERPARAMETERS, "options")
        chosen = [
            r
            for r in groups[cell]
            if (r.seed, r.channels, r.mix) == (0, "+".join(entry.channels), entry.mix)
            and all(getattr(r, name) == getattr(expected, name) for name in values)
        ]
        if chosen:
            cells[cell] = compare(chosen)
    return cells


def coverage_sentence(cells: Mapping[Cell, Comparison], left_out: Mapping[str, int]) -> str:
    """Return in words how many cells are trained, and how many agree with the paper.

    `left_out` maps a reason, such as "another training rule", to the number of unused records.
    """
    verdicts = [c.verdict for c in cells.values()]
    missing, reproduced, higher, lower = map(
        verdicts.count, ("not comparable", "reproduced", "higher", "lower")
    )
    comparable = len(verdicts) - missing
    reasons = ", ".join(f"{count} of {reason}" for reason, count in left_out.items() if count)
    return (
        f"{len(cells)} of the {len(ROWS) * len(PAPER_DATASETS)} cells of Table 3 are trained. Of"
        f" the trained cells, {comparable} are comparable, and {missing} lack a mean or a standard"
        f" deviation in the paper or here. In {reproduced} of the comparable cells"
        f" ({100 * reproduced / max(comparable, 1):.0f} %) our mean agrees with the paper's: the"
        f" two means differ by at most {LIMIT:g} standard errors. Our mean is higher in {higher} of"
        f" the comparable cells, and lower in {lower}. Unused records: {reasons or 'none'}."
    )


def rows(cells: Mapping[Cell, Comparison]) -> pd.DataFrame:
    """Return for each model our mean minus the paper's, averaged over graphs, in points.

    The mean leaves out Cornell, which has the nodes, features, labels and splits of Texas. The
    column `cells` counts the comparable cells, Cornell included. `higher` and `lower` count the
    cells that differ from the paper by more than two standard errors.
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
    """Return in words how many models agree with the paper on average over their graphs."""
    reproduced, higher, lower = (
        (rows["verdict"] == verdict).sum() for verdict in ("reproduced", "higher", "lower")
    )
    return (
        f"For each of {len(rows)} models we average our mean minus the paper's over the graphs. For"
        f" {reproduced} models this average is within {LIMIT:g} standard errors of zero. For"
        f" {higher} models it is above this range, and for {lower} models below. The average over"
        f" all models is {signed(rows['mean Δ'].mean())} points."
    )
