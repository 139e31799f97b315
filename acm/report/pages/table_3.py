"""Compare Table 3 as a whole with the paper: mean difference, more splits, and epochs."""

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
from acm.experiments.trial import training_protocol
from acm.report.cells import ROWS, Cell
from acm.report.comparison import LIMIT, Comparison, by_cell, compare, signed
from acm.training import RELEASED


def selection_bias_sentence(cells: Mapping[Cell, Comparison]) -> str:
    """Say in how many cells the paper's mean is higher than ours, and by how much on average.

    We leave out results of other authors, cells with another number of splits than the paper, and
    Cornell, which has the nodes, labels and splits of Texas.
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
        f" higher than ours. The paper's mean minus ours is {signed(statistics.fmean(deltas))}"
        f" points on average over all {len(deltas)} cells, with a standard error of {error:.2f}."
    )


def split_sensitivity(records: Iterable[Record], first: int = 10) -> pd.DataFrame:
    """Compare our mean on the first splits with the mean on the other splits, and with the paper.

    The column `difference` is the mean on the first splits minus the mean on the other splits, in
    points. Its standard error `SE` assumes independent splits.

    Args:
        records: Records of cells of Table 3, each cell on the same splits `0, 1, …`.
        first: How many splits Table 3 uses.
    """
    cells = by_cell(sorted(records, key=lambda r: r.split))
    cells.sort(key=lambda c: (PAPER_DATASETS.index(c[0].dataset), ROWS.index(c[0].model)))
    lines = []
    for cell in cells:
        model, dataset = cell[0].model, cell[0].dataset
        if [r.split for r in cell] != list(range(max(map(len, cells)))):
            raise UsageError(f"{model} on {dataset} needs one record of every split")
        on_first, others, on_all = compare(cell[:first]), compare(cell[first:]), compare(cell)
        lines.append(
            {
                "graph": dataset,
                "model": model,
                "paper": on_first.paper_value.shown,
                "first splits": on_first.ours,
                "all splits": on_all.ours,
                "Δ, first": on_first.delta,
                "Δ, all": on_all.delta,
                "difference": on_first.mean - others.mean,
                "SE": math.hypot(
                    on_first.std / math.sqrt(first), others.std / math.sqrt(len(others.records))
                ),
                "verdict, first": on_first.verdict,
                "verdict, all": on_all.verdict,
            }
        )
    return pd.DataFrame(lines)


def split_sensitivity_sentence(cells: pd.DataFrame) -> str:
    """Say in words how much more splits change the verdicts and the differences."""
    on_first, on_all = (
        (cells[f"verdict, {splits}"] == "reproduced").sum() for splits in ("first", "all")
    )
    largest = (cells["difference"] / cells["SE"]).abs().max()
    return (
        f"On the first splits {on_first} of the {len(cells)} cells agree with the paper within"
        f" {LIMIT:g} standard errors; on all splits {on_all} cells agree. Our mean minus the"
        f" paper's is {signed(cells['Δ, first'].mean())} points on average on the first splits, and"
        f" {signed(cells['Δ, all'].mean())} points on all splits. Between the first and the other"
        f" splits, the largest difference of our means is {largest:.1f} standard errors."
    )


#: Two numbers of epochs are close if the larger exceeds the smaller by at most this fraction. The
#: tolerance covers the rounding of the printed times and the variation between trainings.
CLOSE = 0.15

#: The smallest number of epochs: the released rule cannot stop earlier.
SOONEST = RELEASED.window + 2


def is_close(ratio: float) -> bool:
    """Return whether two numbers with this ratio are close, as defined by `CLOSE`."""
    return 1 / (1 + CLOSE) <= ratio <= 1 + CLOSE


def training_epochs(cells: Mapping[Cell, Comparison]) -> pd.DataFrame:
    """Compare our mean number of epochs with the paper's, for cells whose times the paper prints.

    Deezer-Europe is left out, because its training rule has a fixed number of epochs.
    """
    tables = paper.table("hyperparameters_baselines") + paper.table("hyperparameters_acm")
    printed = {(row.model, row.dataset): row.epochs for row in tables if row.epochs}
    lines = [
        (model, dataset, c.epochs, printed[model, dataset])
        for (model, dataset), c in cells.items()
        if (model, dataset) in printed
        and training_protocol(dataset) is RELEASED
        and c.records[0].split_scheme == "random"
    ]
    table = pd.DataFrame(lines, columns=["model", "graph", "ours", "paper"])
    ratio = table["ours"] / table["paper"]
    return table.assign(ratio=ratio, close=ratio.map(is_close))


def training_epochs_sentence(cells: pd.DataFrame) -> str:
    """Say in how many cells our number of epochs is close to the paper's."""
    longer = cells[cells["paper"] > (1 + CLOSE) * SOONEST]
    return (
        f"Of {len(cells)} cells whose times the paper prints, {cells['close'].sum()}"
        f" ({100 * cells['close'].mean():.0f} %) have the paper's mean number of epochs here,"
        f" within {100 * CLOSE:.0f} %. Every training has at least {SOONEST} epochs, so agreement"
        f" near {SOONEST} epochs is weak evidence. In the paper {len(longer)} cells train clearly"
        f" longer; {longer['close'].sum()} of these {len(longer)} cells agree."
    )


def training_epochs_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells whose numbers of epochs are not close, sorted by how much they differ."""
    differ = cells[~cells["close"]].drop(columns="close")
    differ = differ.sort_values("ratio", key=lambda ratio: -np.abs(np.log(ratio)))
    return differ.round({"ours": 0, "paper": 0, "ratio": 2}).astype({"ours": int, "paper": int})
