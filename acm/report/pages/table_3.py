"""Table 3 as a whole: which way the differences lean, more splits, and lengths of trainings."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError, check_whole
from acm.experiments import Record
from acm.experiments.trial import training_rule
from acm.report.cells import Cell, row_names
from acm.report.comparison import LIMIT, Comparison, by_cell, compare
from acm.report.numbers import SignedTable, signed
from acm.training import RELEASED


def selection_bias_sentence(cells: Mapping[Cell, Comparison]) -> str:
    """Say in how many cells the paper's mean is the higher one, and by how much on average.

    Only rows that the paper's authors trained count, and Cornell is left out, which has the nodes,
    labels and splits of Texas.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
    """
    deltas = [
        -c.delta
        for (_, dataset), c in cells.items()
        if c.verdict != "not comparable"
        and dataset != "cornell"
        and not (c.paper_value.marker or c.paper_value.interval)
        and len(c.records) == c.paper_value.splits
    ]
    if len(deltas) < 2:
        return "Too few cells were trained to say."
    mean = statistics.fmean(deltas)
    error = statistics.stdev(deltas) / math.sqrt(len(deltas))
    return (
        f"In {sum(d > 0 for d in deltas)} of {len(deltas)} comparable cells the paper's mean is"
        f" higher than ours. The mean difference is {signed(mean)} points, with a standard error of"
        f" {error:.2f} over the cells."
    )


@dataclass(frozen=True)
class SplitSensitivity:
    """A model on the first splits of a graph, and the same model on more of them.

    Attributes:
        first: Comparison on the splits that the table has.
        whole: Comparison on all splits.
        difference: Mean of the first splits less that of the others, in points.
        standard_error: Standard error of the difference, for independent splits.
    """

    first: Comparison
    whole: Comparison
    difference: float
    standard_error: float

    @property
    def dataset(self) -> str:
        """Return the graph."""
        return self.first.records[0].dataset

    @property
    def model(self) -> str:
        """Return the model."""
        return self.first.records[0].model


def split_sensitivity(records: Iterable[Record], first: int = 10) -> list[SplitSensitivity]:
    """Compare the first splits of every cell with the others.

    Args:
        records: Records of any cells, in any order, each cell on splits `0, 1, …`.
        first: How many splits the table has.

    Raises:
        UsageError: If a cell lacks one of these splits, has fewer than two others or no number of
            the paper, or if `first` is below two.
    """
    check_whole("first", first, 2)
    result = []
    for cell in sorted(by_cell(records), key=_order):
        name = f"{cell[0].model} on {cell[0].dataset}"
        cell.sort(key=lambda r: r.split)
        if len(cell) < first + 2 or any(r.split != k for k, r in enumerate(cell)):
            raise UsageError(
                f"{name}: splits 0 to {first - 1} and two or more others are needed, each once and"
                " none left out"
            )
        ours, others = compare(cell[:first]), compare(cell[first:])
        if ours.verdict == "not comparable":
            raise UsageError(f"{name}: the paper has no mean and standard deviation of it")
        error = math.hypot(ours.std / math.sqrt(first), others.std / math.sqrt(len(others.records)))
        result.append(SplitSensitivity(ours, compare(cell), ours.mean - others.mean, error))
    return result


def _order(cell: list[Record]) -> tuple[int, int]:
    """Sort as the paper's tables do, with other graphs and models at the end."""
    graphs, models = [*PAPER_DATASETS, cell[0].dataset], [*row_names(), cell[0].model]
    return graphs.index(cell[0].dataset), models.index(cell[0].model)


def split_sensitivity_table(cells: Sequence[SplitSensitivity]) -> pd.DataFrame:
    """Return one line per cell: our means on the first splits and on all, and the paper's.

    Raises:
        UsageError: If there is no cell.
    """
    first, whole = _numbers_of_splits(cells)
    return SignedTable.of(
        pd.DataFrame(
            {
                "graph": [c.dataset for c in cells],
                "model": [c.model for c in cells],
                "paper": [c.first.paper_value.shown for c in cells],
                f"{first} splits": [c.first.ours for c in cells],
                f"{whole} splits": [c.whole.ours for c in cells],
                "difference": [c.difference for c in cells],
                "its standard error": [f"{c.standard_error:.2f}" for c in cells],
                f"verdict, {first}": [c.first.verdict for c in cells],
                f"verdict, {whole}": [c.whole.verdict for c in cells],
            }
        ),
        {"difference": 2},
    )


def split_sensitivity_sentence(cells: Sequence[SplitSensitivity]) -> str:
    """Say what more splits change.

    Raises:
        UsageError: If there is no cell.
    """
    first, whole = _numbers_of_splits(cells)
    graphs = []
    for graph in dict.fromkeys(c.dataset for c in cells):
        group = [c for c in cells if c.dataset == graph]
        difference = statistics.fmean(c.difference for c in group)
        on_first, on_all = _paper_minus_ours(group)
        graphs.append(f"{signed(difference)} on {graph} ({signed(on_first)} and {signed(on_all)})")
    largest = max(abs(c.difference) / c.standard_error if c.standard_error else math.inf
                  for c in cells)  # fmt: skip
    agree = [sum(getattr(c, n).verdict == "reproduced" for c in cells) for n in ("first", "whole")]
    on_first, on_all = _paper_minus_ours(cells)
    return (
        f"On {first} splits {agree[0]} of the {len(cells)} cells agree with the paper within"
        f" {LIMIT:g} standard errors, on {whole} splits {agree[1]} do. The paper's mean less ours"
        f" is {signed(on_first)} points on average on {first} splits, and {signed(on_all)} on all"
        f" {whole}. The mean of the first {first} splits less that of the others, in points, is"
        f" {', '.join(graphs)}; the brackets hold the paper's mean less ours on {first} splits and"
        f" on all {whole}. The largest difference of a cell is {largest:.1f} of its standard"
        " errors."
    )


def _paper_minus_ours(cells: Sequence[SplitSensitivity]) -> tuple[float, float]:
    first = statistics.fmean(-c.first.delta for c in cells)
    return first, statistics.fmean(-c.whole.delta for c in cells)


def _numbers_of_splits(cells: Sequence[SplitSensitivity]) -> tuple[int, int]:
    if not cells:
        raise UsageError("no cell was trained on more splits")
    sizes = {(len(c.first.records), len(c.whole.records)) for c in cells}
    if len(sizes) > 1:
        raise UsageError("the cells were not all trained on equally many splits")
    return sizes.pop()


#: Lengths that differ by more than this share count as different: printed times have two to three
#: digits, and lengths of single trainings vary.
CLOSE = 0.15

#: The released rule ends no training sooner, since it compares with a window of epochs.
SOONEST = RELEASED.window + 2


@dataclass(frozen=True)
class TrainingEpochs:
    """The mean number of epochs of a cell's trainings, ours and the paper's.

    Attributes:
        model, dataset: The cell.
        ours: Mean over our records.
        paper: Printed seconds of a training over printed seconds of an epoch.
    """

    model: str
    dataset: str
    ours: float
    paper: float

    @property
    def ratio(self) -> float:
        """Return our number over the paper's."""
        return self.ours / self.paper

    @property
    def close(self) -> bool:
        """Return whether neither is larger than the other by more than `CLOSE`."""
        return 1 / (1 + CLOSE) <= self.ratio <= 1 + CLOSE


def training_epochs(cells: Mapping[Cell, Comparison]) -> list[TrainingEpochs]:
    """Return the numbers of epochs of all cells whose times the paper prints.

    Deezer-Europe is left out: its training rule has a fixed number of epochs, which cannot agree
    or disagree.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
    """
    result = []
    for (model, dataset), cell in cells.items():
        try:
            row = paper.hyperparameters(model, dataset)
        except UsageError:
            continue
        released = training_rule(dataset) == "released"
        if row.epochs and released and cell.records[0].split_scheme == "random":
            result.append(TrainingEpochs(model, dataset, cell.epochs, row.epochs))
    return result


def training_epochs_sentence(cells: Sequence[TrainingEpochs]) -> str:
    """Say how many trainings are as long as the paper's."""
    if not cells:
        return "No trained cell has its times printed."
    close = sum(c.close for c in cells)
    longer = [c for c in cells if c.paper > (1 + CLOSE) * SOONEST]
    return (
        f"Of {len(cells)} cells whose times the paper prints, {close}"
        f" ({100 * close / len(cells):.0f} %) train for the paper's mean number of epochs, within"
        f" {100 * CLOSE:.0f} %. No training can stop before epoch {SOONEST}, so lengths near"
        f" {SOONEST} are weak evidence. Of the {len(longer)} cells that train longer in the paper,"
        f" {sum(c.close for c in longer)} do so here."
    )


def training_epochs_table(cells: Sequence[TrainingEpochs]) -> pd.DataFrame:
    """Return the cells whose lengths differ, the most different first."""
    differ = sorted((c for c in cells if not c.close), key=lambda c: -max(c.ratio, 1 / c.ratio))
    return pd.DataFrame(
        {
            "model": [c.model for c in differ],
            "graph": [c.dataset for c in differ],
            "epochs, ours": [f"{c.ours:,.0f}" for c in differ],
            "epochs, paper": [f"{c.paper:,.0f}" for c in differ],
            "difference": [f"{signed(100 * (c.ratio - 1), 0)} %" for c in differ],
        }
    )
