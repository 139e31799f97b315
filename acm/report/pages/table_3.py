"""Table 3 as a whole: the mean difference, more splits, and numbers of epochs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments import Record
from acm.experiments.trial import training_rule
from acm.report.cells import ROWS, Cell
from acm.report.comparison import LIMIT, Comparison, by_cell, compare, signed
from acm.training import RELEASED


def selection_bias_sentence(cells: Mapping[Cell, Comparison]) -> str:
    """Say in how many cells the paper's mean is the higher one, and by how much on average.

    Only rows that the paper's authors trained count, and Cornell is left out, which has the nodes,
    labels and splits of Texas.
    """
    deltas = [
        -c.delta
        for (_, dataset), c in cells.items()
        if c.verdict != "not comparable"
        and dataset != "cornell"
        and not (c.paper_value.marker or c.paper_value.interval)
        and len(c.records) == c.paper_value.splits
    ]
    error = statistics.stdev(deltas) / math.sqrt(len(deltas))
    return (
        f"In {sum(d > 0 for d in deltas)} of {len(deltas)} comparable cells the paper's mean is"
        f" higher than ours. The mean difference is {signed(statistics.fmean(deltas))} points, with"
        f" a standard error of {error:.2f} over the cells."
    )


def split_sensitivity(records: Iterable[Record], first: int = 10) -> pd.DataFrame:
    """Compare the first splits of every cell with the other splits, and both with the paper.

    The difference is the mean of the first splits minus the mean of the others, in points; its
    standard error assumes independent splits.

    Args:
        records: Records of cells of Table 3, each cell on the same splits `0, 1, …`.
        first: How many splits the table has.
    """
    cells = by_cell(sorted(records, key=lambda r: r.split))
    cells.sort(key=lambda c: (PAPER_DATASETS.index(c[0].dataset), ROWS.index(c[0].model)))
    lines = []
    for cell in cells:
        model, dataset = cell[0].model, cell[0].dataset
        if [r.split for r in cell] != list(range(max(map(len, cells)))):
            raise UsageError(f"{model} on {dataset}: each split of the cells is needed, once")
        table, others, whole = compare(cell[:first]), compare(cell[first:]), compare(cell)
        lines.append(
            {
                "graph": dataset,
                "model": model,
                "paper": table.paper_value.shown,
                "first splits": table.ours,
                "all splits": whole.ours,
                "Δ, first": table.delta,
                "Δ, all": whole.delta,
                "difference": table.mean - others.mean,
                "SE": math.hypot(
                    table.std / math.sqrt(first), others.std / math.sqrt(len(others.records))
                ),
                "verdict, first": table.verdict,
                "verdict, all": whole.verdict,
            }
        )
    return pd.DataFrame(lines)


def split_sensitivity_sentence(cells: pd.DataFrame) -> str:
    """Say what more splits change."""
    on_first, on_all = (
        (cells[f"verdict, {splits}"] == "reproduced").sum() for splits in ("first", "all")
    )
    largest = (cells["difference"] / cells["SE"]).abs().max()
    return (
        f"On the first splits {on_first} of the {len(cells)} cells agree with the paper within"
        f" {LIMIT:g} standard errors, on all splits {on_all} do. The mean difference from the paper"
        f" is {signed(cells['Δ, first'].mean())} points on the first splits, and"
        f" {signed(cells['Δ, all'].mean())} on all. The largest difference between the first splits"
        f" and the others is {largest:.1f} of its standard errors."
    )


#: Numbers of epochs that differ by more than this share count as different: printed times have two
#: to three digits, and single trainings vary.
CLOSE = 0.15

#: The released rule ends no training sooner, since it compares with a window of epochs.
SOONEST = RELEASED.window + 2


def is_close(ratio: float) -> bool:
    """Return whether neither of two numbers with this ratio is larger by more than `CLOSE`."""
    return 1 / (1 + CLOSE) <= ratio <= 1 + CLOSE


def training_epochs(cells: Mapping[Cell, Comparison]) -> pd.DataFrame:
    """Compare the mean number of epochs with the paper's, where the paper prints its times.

    Deezer-Europe is left out: its training rule has a fixed number of epochs, which cannot agree
    or disagree.
    """
    tables = paper.table("hyperparameters_baselines") + paper.table("hyperparameters_acm")
    printed = {(row.model, row.dataset): row.epochs for row in tables if row.epochs}
    lines = [
        (model, dataset, c.epochs, printed[model, dataset])
        for (model, dataset), c in cells.items()
        if (model, dataset) in printed
        and training_rule(dataset) == "released"
        and c.records[0].split_scheme == "random"
    ]
    table = pd.DataFrame(lines, columns=["model", "graph", "ours", "paper"])
    ratio = table["ours"] / table["paper"]
    return table.assign(ratio=ratio, close=ratio.map(is_close))


def training_epochs_sentence(cells: pd.DataFrame) -> str:
    """Say how many trainings are as long as the paper's."""
    longer = cells[cells["paper"] > (1 + CLOSE) * SOONEST]
    return (
        f"Of {len(cells)} cells whose times the paper prints, {cells['close'].sum()}"
        f" ({100 * cells['close'].mean():.0f} %) train for the paper's mean number of epochs,"
        f" within {100 * CLOSE:.0f} %. No training can stop before epoch {SOONEST}, so lengths near"
        f" {SOONEST} are weak evidence. Of the {len(longer)} cells that train longer in the paper,"
        f" {longer['close'].sum()} do so here."
    )


def training_epochs_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells whose lengths differ, the most different first."""
    differ = cells[~cells["close"]].drop(columns="close")
    differ = differ.sort_values("ratio", key=lambda ratio: -np.abs(np.log(ratio)))
    return differ.round({"ours": 0, "paper": 0, "ratio": 2}).astype({"ours": int, "paper": int})
