"""One row of Table 3 by two definitions: a model's accuracy by one of its hyperparameters."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2, norm
from torch import Tensor

from acm import paper
from acm.data import load
from acm.data.names import PAPER_DATASETS, check_whole
from acm.data.splits import Split
from acm.errors import UsageError, unknown
from acm.experiments import Record
from acm.experiments.recipes import HYPERPARAMETERS, Value, default_options, read_options
from acm.experiments.trial import split_of
from acm.registry import MODELS, model_name
from acm.report.cells import Cell, off, row_names
from acm.report.comparison import LIMIT, Comparison, by_cell, compare
from acm.report.numbers import NONE, SignedTable, signed
from acm.training import TrainingProtocol


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
    known = (*HYPERPARAMETERS, *default_options(model))
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
    return cell.paper_value.shown if cell.paper_value else NONE


@dataclass(frozen=True)
class Draw:
    """A model on the first splits of a graph, beside the same model on more of them.

    Attributes:
        first: Ours against the paper's on the splits that the table has.
        whole: The same on all that were run.
        luck: The mean of the first less that of the others, in points.
        standard_error: Of that difference, the splits taken as independent.
    """

    first: Comparison
    whole: Comparison
    luck: float
    standard_error: float

    @property
    def dataset(self) -> str:
        """The graph."""
        return self.first.records[0].dataset

    @property
    def model(self) -> str:
        """The model."""
        return self.first.records[0].model


def draws(records: Iterable[Record], first: int = 10) -> list[Draw]:
    """How the first splits of every cell stand to the others, graph by graph.

    Args:
        records: Of any cells, in any order, each on splits `0, 1, …`.
        first: How many splits the table has.

    Raises:
        UsageError: If a cell lacks one of these, has fewer than two others, or no number of the
            paper to be held against; or if `first` is below two.
    """
    check_whole("first", first, 2)
    found = []
    for cell in sorted(by_cell(records), key=lambda cell: _place(cell[0])):
        what = f"{cell[0].model} on {cell[0].dataset}"
        cell.sort(key=lambda r: r.split)
        if len(cell) < first + 2 or any(r.split != k for k, r in enumerate(cell)):
            raise UsageError(
                f"{what}: splits 0 to {first - 1} and two or more others are needed, each once and"
                " none left out"
            )
        ours, others = cell[:first], cell[first:]
        there, rest = compare(ours), compare(others)
        if there.verdict == "not comparable":
            raise UsageError(f"{what}: the paper has no mean and standard deviation of it")
        error = math.hypot(there.std / math.sqrt(first), rest.std / math.sqrt(len(others)))
        found.append(Draw(there, compare(cell), there.mean - rest.mean, error))
    return found


def _place(record: Record) -> tuple[int, int]:
    """Where a cell stands in the paper's tables; what is not there comes last."""
    graphs, models = [*PAPER_DATASETS, record.dataset], [*row_names(), record.model]
    return graphs.index(record.dataset), models.index(record.model)


def draws_table(found: Sequence[Draw]) -> pd.DataFrame:
    """A line for every cell: ours on the first splits and on all, and the paper's.

    Raises:
        UsageError: If there is none.
    """
    first, whole = _numbers(found)
    return SignedTable.of(
        pd.DataFrame(
            {
                "graph": [d.dataset for d in found],
                "model": [d.model for d in found],
                "paper": [d.first.paper_value.shown for d in found],
                f"{first} splits": [d.first.ours for d in found],
                f"{whole} splits": [d.whole.ours for d in found],
                "luck": [d.luck for d in found],
                "its standard error": [f"{d.standard_error:.2f}" for d in found],
                f"verdict, {first}": [d.first.verdict for d in found],
                f"verdict, {whole}": [d.whole.verdict for d in found],
            }
        ),
        {"luck": 2},
    )


def draws_sentence(found: Sequence[Draw]) -> str:
    """What more splits change, in words.

    Raises:
        UsageError: If there is none.
    """
    first, whole = _numbers(found)
    listed = []
    for graph in dict.fromkeys(d.dataset for d in found):
        own = [d for d in found if d.dataset == graph]
        luck = statistics.fmean(d.luck for d in own)
        excess = _excess(own)
        listed.append(f"{signed(luck)} on {graph} ({signed(excess[0])} and {signed(excess[1])})")
    most = max(abs(d.luck) / d.standard_error if d.standard_error else math.inf for d in found)
    both = [d.first for d in found], [d.whole for d in found]
    counts = [sum(c.verdict == "reproduced" for c in cells) for cells in both]
    excess = _excess(found)
    return (
        f"Averaged over the models, the first {first} splits give this much more than the others,"
        f" in points (in brackets the paper's mean less ours, on {first} splits and on all"
        f" {whole}): {', '.join(listed)}. The largest luck of a cell is {most:.1f} of its standard"
        f" errors. Over all {len(found)} cells the paper's mean less ours is {signed(excess[0])}"
        f" points on average on {first} splits, and {signed(excess[1])} on all {whole}. On {first}"
        f" splits {counts[0]} of the {len(found)} cells agree with the paper within {LIMIT:g}"
        f" standard errors, on {whole} splits {counts[1]} do."
    )


def _excess(found: Sequence[Draw]) -> tuple[float, float]:
    """The paper's mean less ours, averaged over cells: on the first splits, and on all."""
    first = statistics.fmean(-d.first.delta for d in found)
    return first, statistics.fmean(-d.whole.delta for d in found)


def _numbers(found: Sequence[Draw]) -> tuple[int, int]:
    """How many splits the table has, and how many were run."""
    if not found:
        raise UsageError("no cell was run on more splits")
    sizes = {(len(d.first.records), len(d.whole.records)) for d in found}
    if len(sizes) > 1:
        raise UsageError("the cells were not all run on equally many splits")
    return sizes.pop()


#: Graphs with the same nodes, labels and splits: what one says, the other has said already.
_TWINS = ({"cornell", "texas"},)
_STEPS = 20_000
_MOST = 1e6


def best_of(draws: float) -> tuple[float, float]:
    """Mean and standard deviation of the largest of several independent standard normal values.

    Args:
        draws: Of how many; any number from 1 up, for the distribution `Φ(x)^draws` has a meaning
            between the whole ones.

    Raises:
        UsageError: If it is below 1, or above a million.
    """
    values = _largest(draws)
    return float(values.mean()), float(values.std())


def agreement_with_best_of(draws: float) -> float:
    """How probably a mean of ours agrees with the paper's, if that is the best of several draws.

    Both vary alike and are taken from the same experiment: all that could be asked of one that is
    done over. Of a single draw it is 95 %.

    Args:
        draws: Of how many, as for `best_of`.

    Raises:
        UsageError: If it is below 1, or above a million.
    """
    largest, reach = _largest(draws), LIMIT * math.sqrt(2)
    return float((norm.cdf(largest + reach) - norm.cdf(largest - reach)).mean())


def _largest(draws: float) -> np.ndarray:
    """The largest of so many standard normal values, at evenly spaced probabilities."""
    if not 1 <= draws <= _MOST:
        raise UsageError(f"the best of {draws}: a number from 1 to {_MOST:,.0f} is needed")
    return norm.ppf(((np.arange(_STEPS) + 0.5) / _STEPS) ** (1 / draws))


def draws_for(excess: float) -> float:
    """Of how many standard normal values the largest has that median: `log ½ / log Φ(excess)`."""
    log_share = norm.logcdf(min(excess, 6))  # with 6 it is a thousand million
    return float(np.clip(math.log(0.5) / log_share, 1, _MOST))


@dataclass(frozen=True)
class Excess:
    """How far the paper's means lie above ours on a graph; medians over its cells.

    Attributes:
        dataset: The graph.
        cells: How many count.
        points: The paper's mean less ours.
        unit: The standard error of a mean over the splits, the two sides' taken together, in
            points.
        ratio: The paper's mean less ours, in such units.
    """

    dataset: str
    cells: int
    points: float
    unit: float
    ratio: float


def excesses(cells: Mapping[Cell, Comparison]) -> list[Excess]:
    """The excess on every graph that has a cell which counts.

    Those count that can be compared and are the paper's own, over as many splits as ours: what it
    took from others has been chosen by others, and an interval is not of ten splits.

    Args:
        cells: As `table_3` returns them.
    """
    there = _counted(cells)
    found = []
    for dataset in dict.fromkeys(d for _, d in there):
        own = [c for (_, d), c in there.items() if d == dataset]
        values = [(-c.delta, _unit(c), _excess_excess(c)) for c in own]
        found.append(Excess(dataset, len(own), *map(statistics.median, zip(*values))))
    return found


def excess_table(found: Iterable[Excess]) -> pd.DataFrame:
    """The excesses, the graph whose means vary least first."""
    found = sorted(found, key=lambda e: e.unit)
    return pd.DataFrame(
        {
            "graph": [e.dataset for e in found],
            "cells": [e.cells for e in found],
            "paper less ours, points": [f"{e.points:.2f}" for e in found],
            "a mean varies by, points": [f"{e.unit:.2f}" for e in found],
            "in these units": [f"{e.ratio:.1f}" for e in found],
        }
    )


@dataclass(frozen=True)
class Allowance:
    """A cell whose published mean is taken as the best of several draws.

    Attributes:
        draws: Of how many, by what the other graphs say.
        z: How many standard errors ours is then off from what it would be.
    """

    draws: float
    z: float

    @property
    def agrees(self) -> bool:
        """Whether that is at most two."""
        return abs(self.z) <= LIMIT


def allowances(cells: Mapping[Cell, Comparison]) -> dict[Cell, Allowance]:
    """Every cell that counts, as if the paper's mean were the best of several draws.

    Of how many, the median excess of the other graphs' cells says, so that no cell is measured by
    itself; Texas and Cornell, which have the same nodes and splits, are left out together. That
    this number is itself an estimate is not allowed for. Cells for which no other graph speaks are
    left out.

    Args:
        cells: As `table_3` returns them.
    """
    there = _counted(cells)
    draws, moments = {}, {}
    for dataset in dict.fromkeys(d for _, d in there):
        same = next((twins for twins in _TWINS if dataset in twins), {dataset})
        others = [_excess_excess(c) for (_, d), c in there.items() if d not in same]
        if others:
            draws[dataset] = draws_for(statistics.median(others))
            moments[dataset] = best_of(draws[dataset])
    found = {}
    for (model, dataset), compared in there.items():
        if dataset in draws:
            mean, std = moments[dataset]
            # Both means vary by a unit, the paper's as the largest of several does.
            z = (mean - _excess_excess(compared)) / math.hypot(1, std)
            found[model, dataset] = Allowance(draws[dataset], z)
    return found


def excess_sentence(cells: Mapping[Cell, Comparison]) -> str:
    """What the excess of all cells is like, and how many agree once it is allowed for."""
    there, allowed = _counted(cells), allowances(cells)
    if not allowed:
        return "Too few cells were run to say."
    ratios = [_excess_excess(c) for c in there.values()]
    graphs = sorted(excesses(cells), key=lambda e: e.ratio)
    middle, above = statistics.median(ratios), sum(ratio > 0 for ratio in ratios)
    as_is = sum(there[place].verdict == "reproduced" for place in allowed)
    agree = sum(a.agrees for a in allowed.values())
    draws = sorted(a.draws for a in allowed.values())
    at_best = statistics.fmean(agreement_with_best_of(n) for n in draws)
    return (
        f"In {above} of {len(there)} cells the paper's mean is the higher one. The median of all is"
        f" {signed(middle, 1)} units, that of the best of {draws_for(middle):.0f} equally good"
        f" draws; by graph it is from {signed(graphs[0].ratio, 1)} ({graphs[0].dataset}) to"
        f" {signed(graphs[-1].ratio, 1)} ({graphs[-1].dataset}). Without any allowance {as_is}"
        f" of {len(allowed)} cells ({100 * as_is / len(allowed):.0f} %) agree within {LIMIT:g}"
        f" standard errors. If they are the best of as many draws as the other graphs suggest"
        f" ({draws[0]:.0f} to {draws[-1]:.0f}), the same experiment done over would have"
        f" {100 * at_best:.0f} % agree. With the allowance {agree}"
        f" ({100 * agree / len(allowed):.0f} %) do."
    )


def _counted(cells: Mapping[Cell, Comparison]) -> dict[Cell, Comparison]:
    return {
        place: c
        for place, c in cells.items()
        if c.verdict != "not comparable"
        and not (c.paper_value.marker or c.paper_value.interval)
        and len(c.records) == c.paper_value.splits
        and c.standard_error > 0
    }


def _unit(cell: Comparison) -> float:
    """The root mean square of the two means' standard errors, in points."""
    return cell.standard_error / math.sqrt(2)


def _excess_excess(cell: Comparison) -> float:
    """The paper's mean less ours, in units."""
    return -cell.delta / _unit(cell)


#: Means of so unlike lengths are called different: the paper rounds its times to two or three
#: digits, and lengths of single trainings vary.
CLOSE = 0.15

#: The rule of nine graphs ends no training sooner: the epochs that its window asks for.
SOONEST = TrainingProtocol().window + 2


@dataclass(frozen=True)
class Lengths:
    """The mean number of epochs of a cell's trainings.

    Attributes:
        model, dataset: The cell.
        ours: Of our records.
        paper: The seconds of a training over those of an epoch, as the paper prints them.
    """

    model: str
    dataset: str
    ours: float
    paper: float

    @property
    def ratio(self) -> float:
        """Ours over the paper's."""
        return self.ours / self.paper

    @property
    def close(self) -> bool:
        """Whether neither is longer than the other by more than `CLOSE`."""
        return 1 / (1 + CLOSE) <= self.ratio <= 1 + CLOSE


def lengths(cells: Mapping[Cell, Comparison]) -> list[Lengths]:
    """The lengths of those cells for which the paper prints both times.

    Args:
        cells: As `table_3` returns them.
    """
    found = []
    for (model, dataset), cell in cells.items():
        try:
            printed = paper.hyperparameters(model, dataset)
        except UsageError:
            continue
        if printed.epochs and cell.records[0].split_scheme == "random":
            found.append(Lengths(model, dataset, cell.epochs, printed.epochs))
    return found


def lengths_sentence(found: list[Lengths]) -> str:
    """How many agree, in words."""
    if not found:
        return "No cell that was run has its times printed."
    close = sum(each.close for each in found)
    longer = [each for each in found if each.paper > (1 + CLOSE) * SOONEST]
    as_long = sum(each.close for each in longer)
    return (
        f"Of {len(found)} cells whose times the paper prints {close}"
        f" ({100 * close / len(found):.0f} %) trained as long here as there, within"
        f" {100 * CLOSE:.0f} % of the mean number of epochs. None can stop before {SOONEST}, so"
        f" that lengths near that say little: of the {len(longer)} that went on for longer in the"
        f" paper, {as_long} did here as well."
    )


def lengths_table(found: list[Lengths]) -> pd.DataFrame:
    """Those that differ, the most different first."""
    differ = sorted(
        (each for each in found if not each.close), key=lambda e: -max(e.ratio, 1 / e.ratio)
    )
    return pd.DataFrame(
        {
            "model": [each.model for each in differ],
            "graph": [each.dataset for each in differ],
            "epochs, ours": [f"{each.ours:,.0f}" for each in differ],
            "epochs, paper": [f"{each.paper:,.0f}" for each in differ],
            "difference": [f"{signed(100 * (each.ratio - 1), 0)} %" for each in differ],
        }
    )


ROWS = ("SGC-1", "SGC-2")


@dataclass(frozen=True)
class Misnamed:
    """A printed row of SGC, trained as what it is called and as its ACM form.

    Attributes:
        model, dataset: The cell.
        epochs: How long the paper's trainings went on, by its times.
        own: Our training of the model, against the paper's mean.
        instead: That of the ACM form with the hyperparameters of the row, against the same mean.
    """

    model: str
    dataset: str
    epochs: float
    own: Comparison
    instead: Comparison


def rows_with_dropout(model: str) -> list[str]:
    """The graphs whose printed row of SGC-1 or SGC-2 has a dropout; most have none.

    Raises:
        UsageError: If it is another model.
    """
    model = _sgc(model)
    return [name for name in PAPER_DATASETS if (row := _row(model, name)) and row.dropout]


def misnamed(
    cells: Mapping[Cell, Comparison], records: Iterable[Record], model: str
) -> list[Misnamed]:
    """Each printed row of SGC-1 or SGC-2 with a dropout, of which both trainings are at hand.

    Args:
        cells: As `table_3` returns them.
        records: Of any experiments; of the ACM form those with the row's hyperparameters count, if
            they are of as many splits as the model's own.
        model: The name of the row.

    Raises:
        UsageError: If it is another model.
    """
    model, found = _sgc(model), []
    form = MODELS[f"ACM-{model}"]
    whole = form.name, "random", "+".join(form.channels), form.mix
    forms = by_cell([r for r in records if (r.model, r.split_scheme, r.channels, r.mix) == whole])
    there = {(c[0].dataset, c[0].lr, c[0].weight_decay, c[0].dropout): c for c in forms}
    for dataset in rows_with_dropout(model):
        row, own = _row(model, dataset), cells.get((model, dataset))
        trained = there.get((dataset, row.lr, row.weight_decay, row.dropout), [])
        if own is not None and len(trained) == len(own.records):
            instead = replace(compare(trained), paper_value=own.paper_value)
            found.append(Misnamed(model, dataset, row.epochs, own, instead))
    return found


def misnamed_table(found: list[Misnamed]) -> pd.DataFrame:
    """Accuracy and length of each: as printed, by its name, and as the ACM form.

    Raises:
        UsageError: If there is none.
    """
    if not found:
        raise UsageError("no row was trained as both models")
    return pd.DataFrame(
        {
            "paper": [each.own.paper_value.shown for each in found],
            "epochs, paper": [f"{each.epochs:,.0f}" for each in found],
            "SGC": [each.own.ours for each in found],
            "epochs, SGC": [f"{each.own.epochs:,.0f}" for each in found],
            "ACM-SGC": [each.instead.ours for each in found],
            "epochs, ACM-SGC": [f"{each.instead.epochs:,.0f}" for each in found],
        },
        index=pd.Index([f"{each.model}, {each.dataset}" for each in found], name="row"),
    )


def misnamed_sentence(found: list[Misnamed]) -> str:
    """With how many of the printed means each training agrees, in words."""
    form = sum(each.instead.verdict == "reproduced" for each in found)
    own = sum(each.own.verdict == "reproduced" for each in found)
    return (
        f"Of {len(found)} printed means the ACM form agrees with {form or 'none'}, the model that"
        f" they are printed for with {own or 'none'}."
    )


def times(model: str) -> dict[str, float]:
    """By graph the printed time of an epoch of SGC-1 or SGC-2, over that of its ACM form.

    Raises:
        UsageError: If it is another model.
    """
    model = _sgc(model)
    both = {name: (_row(model, name), _row(f"ACM-{model}", name)) for name in PAPER_DATASETS}
    return {name: row.epoch_ms / form.epoch_ms for name, (row, form) in both.items() if row}


def _sgc(model: str) -> str:
    if (name := model_name(model)) not in ROWS:
        raise UsageError(f"{model}: one of {', '.join(ROWS)} is needed")
    return name


def _row(model: str, dataset: str) -> paper.Hyperparameters | None:
    try:
        return paper.hyperparameters(model, dataset)
    except UsageError:
        return None


FILE = Path(__file__).parents[1] / "reasons.csv"
COLUMNS = ("model", "dataset", "reason")
#: In place of a graph: all graphs of the model that have no reason of their own.
EVERY = "*"
UNEXPLAINED = "unexplained"


def read_reasons(path: Path = FILE) -> dict[Cell, str]:
    """The reasons by model and graph (or `*`), as the file has them.

    Raises:
        UsageError: If the file has other columns, or a line of it an unknown model or graph, no
            reason, or the place of another line.
    """
    found: dict[Cell, str] = {}
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
    cells: Mapping[Cell, Comparison], reasons: Mapping[Cell, str] | None = None
) -> dict[Cell, str]:
    """For each cell that is off its reason, or `"unexplained"`.

    A cell without a reason in the file has one all the same if the paper's mean is no higher than
    its means on other graphs let expect (`acm.report.pages.table_3`).

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
    cells: Mapping[Cell, Comparison], reasons: Mapping[Cell, str] | None = None
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


#: A ± that chance undercuts less often than this is hardly a standard deviation over splits.
RARE = 1e-3


@dataclass(frozen=True)
class Spread:
    """A ± of Table 3, beside what chance alone makes of a split's test nodes.

    Attributes:
        paper_value: The cell.
        chance: What `split_chance` gives for its mean, in points.
    """

    paper_value: paper.PrintedValue
    chance: float

    @property
    def probability(self) -> float:
        """That chance alone gives so small a standard deviation, or a smaller one.

        Accuracies are taken as normal; the standard deviation is one with the number of splits in
        the divisor, as the paper's.
        """
        splits = self.paper_value.splits
        return float(chi2.cdf(splits * (self.paper_value.std / self.chance) ** 2, splits - 1))


def split_chance(y: Tensor, split: Split, share: float) -> float:
    """The standard deviation of a split's test accuracy if only the choice of nodes varies.

    The model gets the very same nodes right whatever it was trained on, each with the probability
    `share` whatever its class (it is the root of the variance that is expected then). How likely a
    node is to be tested depends on its class, of which a split trains a fixed number; published
    splits are taken as drawn like that. What differs between trainings comes on top.

    Args:
        y: Classes, `[N]`.
        split: Any one: of drawn ones, all have these numbers of nodes.
        share: From 0 to 1.

    Returns:
        A share, too.
    """
    whole = np.bincount(y)
    left = np.bincount(y[~split.train], minlength=len(whole))
    tested = int(split.test.sum())
    odds = tested / left.sum() * left / np.maximum(whole, 1)  # of a node of each class
    return math.sqrt(share * (1 - share) * (whole * odds * (1 - odds)).sum()) / tested


def spreads(datasets: Iterable[str] = PAPER_DATASETS) -> list[Spread]:
    """Every ± of Table 3 on these graphs, the least likely first.

    Raises:
        UsageError: If the data cannot be had.
    """
    found, rows = [], row_names()
    labels = {name: load(name).y for name in datasets}
    splits: dict[tuple[str, str], Split] = {}
    for cell in paper.table("sota"):
        if cell.name in rows and cell.dataset in labels and cell.std:
            y, place = labels[cell.dataset], (cell.dataset, cell.split_scheme)
            if place not in splits:
                splits[place] = split_of(*place, 0, y)
            found.append(Spread(cell, 100 * split_chance(y, splits[place], cell.mean / 100)))
    return sorted(found, key=lambda s: s.probability)


def spread_table(found: Sequence[Spread]) -> pd.DataFrame:
    """Row by row, how many ± are too small, and how many of these are taken for intervals."""
    small = [s.paper_value for s in found if s.probability < RARE]
    names = [name for name in row_names() if any(c.name == name for c in small)]
    own = {name: [c for c in small if c.name == name] for name in names}
    return pd.DataFrame(
        {
            "cells": [sum(s.paper_value.name == name for s in found) for name in names],
            "± too small": [len(own[name]) for name in names],
            "± taken for an interval": [
                sum(s.paper_value.name == name and s.paper_value.interval for s in found)
                for name in names
            ],
        },
        index=pd.Index(names, name="model"),
    )


def spread_sentence(found: Sequence[Spread]) -> str:
    """What the probabilities tell apart, in words."""
    small = [s for s in found if s.probability < RARE]
    others = [s for s in found if not s.paper_value.interval]
    if not small or not others:
        return "There are too few cells to tell."
    missed = sum(not s.paper_value.interval for s in small)
    first = others[0]
    where = f"{first.paper_value.name} on {first.paper_value.dataset}"
    by_luck = 1 - (1 - first.probability) ** len(others)
    return (
        f"{len(small)} of {len(found)} are so small that chance alone would undercut them less"
        f" than once in {1 / RARE:,.0f} times, and {missed or 'none'} of these"
        f" {'is' if missed < 2 else 'are'} of a cell that is not taken for an interval here. Of"
        f" the {len(others)} that are not, the least likely is that of {where},"
        f" {first.paper_value.std:g} where chance has {first.chance:.2f} (probability"
        f" {first.probability:.4f}); among so many, one as unlikely turns up with a probability of"
        f" up to {by_luck:.2f}."
    )
