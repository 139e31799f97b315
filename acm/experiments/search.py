"""Choose hyperparameters by validation, over the ranges of the paper's appendix.

A search reads no test label: `validate_trials` runs the trials and returns no test accuracy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np

from acm import paper
from acm.data.names import dataset as known_dataset
from acm.errors import UsageError, unknown
from acm.experiments.recipes import (
    HYPERPARAMETERS,
    SYNTHETIC,
    WIDTH,
    default_options,
    read_options,
)
from acm.experiments.run import validate_trials
from acm.experiments.store import Store, Validation
from acm.experiments.trial import NUMERICS, trials_of
from acm.experiments.values import Value
from acm.experiments.workers import Workers
from acm.registry import model_name

STRATEGIES = ("grid", "halving")
_SURVIVORS = 1 / 3  # the share of configurations that a round of halving keeps


@dataclass(frozen=True)
class Configuration:
    """One configuration with its validation results.

    Attributes:
        hyperparameters: The values by name.
        splits: The number of splits it was trained on.
        accuracy: Mean validation accuracy from 0 to 1; −1 if a loss was not a number.
        std: Standard deviation over the splits (`n − 1`); 0 for one split.
        loss: Mean validation loss.
    """

    hyperparameters: dict[str, Value]
    splits: int
    accuracy: float
    std: float
    loss: float


@dataclass(frozen=True)
class Search:
    """The outcome of a search.

    Attributes:
        chosen: The hyperparameters with the best mean validation accuracy over all splits. The
            lower validation loss decides ties.
        surface: Every configuration, in the order of the grid.
        trainings: The number of trials.
    """

    chosen: dict[str, Value]
    surface: list[Configuration]
    trainings: int


def grid(model: str, dataset: str, table: str = "real_world") -> dict[str, list[float]]:
    """Return the values that the paper tried for a model on a graph (Appendix A).

    Args:
        model, dataset: Names. The graph "synthetic" has the paper's ranges on synthetic graphs.
        table: `"real_world"` or `"ablation"`.

    Raises:
        UsageError: If a name is unknown, or the paper prints no ranges for model and graph.
    """
    model = model if table == "ablation" else model_name(model)
    known_dataset(dataset)
    names = ("synthetic", model) if dataset == "synthetic" else (table, model, dataset)
    try:
        space = paper.search_space(*names)
    except UsageError as error:
        raise UsageError(
            f"the paper has no search ranges for {model} on {dataset}: give those of lr,"
            " weight_decay and dropout"
        ) from error
    defaults = SYNTHETIC if dataset == "synthetic" else {"hidden": WIDTH, "dropout": 0.0}
    return {name: list(space.get(name, [defaults.get(name)])) for name in HYPERPARAMETERS}


def configurations(
    dataset: str, model: str, space: Mapping[str, Sequence[Value]] | None = None
) -> list[dict[str, Value]]:
    """Return every configuration of a search, in the order of the grid.

    Args:
        dataset, model: Names.
        space: Values by name, as in `search`.

    Raises:
        UsageError: As `search`, for the model, the graph and the space.
    """
    ranges = _ranges(model, dataset, space)
    return [dict(zip(ranges, values)) for values in itertools.product(*ranges.values())]


def count_trainings(configurations: int, splits: int, strategy: str = "grid") -> int:
    """Return how many trainings a search does, before it starts.

    Args:
        configurations: The number of configurations.
        splits: The number of splits.
        strategy: `"grid"` or `"halving"`.
    """
    return sum(
        size * (stop - start) for size, start, stop in _plan(configurations, splits, strategy)
    )


def _ranges(model: str, dataset: str, space: Mapping | None) -> dict[str, list[Value]]:
    if not isinstance(space, Mapping | None):
        raise UsageError(f"space={space!r}: lists of values by name are needed")
    ranges, model = dict(space or {}), model_name(model)
    names = (*HYPERPARAMETERS, *default_options(model))
    for name, values in ranges.items():
        if name not in names:
            raise unknown("hyperparameter", name, names)
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise UsageError(f"the range of {name} is {values!r}: a list of values is needed")
        values = list(values)
        if name not in HYPERPARAMETERS:
            values = [read_options(model, {name: value})[name] for value in values]
        for value in values if name in HYPERPARAMETERS else ():
            if isinstance(value, bool) or not isinstance(value, Real):
                raise UsageError(f"the range of {name} has {value!r} in it: numbers are needed")
        # NumPy's numbers become Python's, and a value named twice is tried once.
        ranges[name] = list(dict.fromkeys(v.item() if hasattr(v, "item") else v for v in values))
        if not ranges[name]:
            raise UsageError(f"the range of {name} is empty: one value or more are needed")
    if set(HYPERPARAMETERS) - set(ranges) <= {"hidden"}:
        return {"hidden": [WIDTH]} | ranges
    return grid(model, dataset) | ranges


def search(
    dataset: str,
    model: str,
    split_scheme: str = "random",
    splits: int | None = None,
    seed: int = 0,
    space: Mapping[str, Sequence[Value]] | None = None,
    strategy: str = "grid",
    store: str | Path | None = None,
    device: str = "cpu",
    progress: bool = True,
    workers: Workers | None = None,
    **options,
) -> Search:
    """Find the hyperparameters with the best validation accuracy.

    Args:
        dataset, model, split_scheme, splits, seed, options: As in `trials_of`.
        space: Values by name. A name of `lr`, `weight_decay`, `dropout` and `hidden` that is left
            out has the paper's range (`grid`); an option that is left out has the recipe's value.
        strategy: `"grid"` trains every configuration on every split. `"halving"` trains all on
            one split, the best third on two more splits, the best third of these on six more.
        store: Path of the CSV file that keeps the trials. A search resumes from its file.
        device, progress, workers: As in `run_trials`.

    Raises:
        UsageError: As `trials_of` and `run_trials`; for an unknown strategy or name in `space`, an
            empty range, or if every loss stopped being a number.
    """
    if strategy not in STRATEGIES:
        raise unknown("strategy", strategy, STRATEGIES)
    points = configurations(dataset, model, space)
    cells = [
        trials_of(dataset, model, split_scheme, splits, seed, point, **options) for point in points
    ]
    numerics = options.get("numerics", NUMERICS)
    records = Store(store, Validation, numerics) if store else None
    rows: list[list[Validation | None]] = [[] for _ in cells]
    for size, start, stop in _plan(len(cells), len(cells[0]), strategy):
        # A round continues the best configurations of the round before it.
        trained = [k for k in range(len(cells)) if len(rows[k]) == start]
        ranked = sorted(trained, key=lambda k: _rank(rows[k]), reverse=True) if start else trained
        chosen = sorted(ranked[:size])
        trials = [trial for k in chosen for trial in cells[k][start:stop]]
        outcomes = iter(validate_trials(trials, records, device, progress, workers))
        for k in chosen:
            rows[k] += itertools.islice(outcomes, stop - start)
    surface = [_configuration(point, results) for point, results in zip(points, rows)]
    complete = [c for c in surface if c.splits == len(cells[0])]
    best = max(complete, key=lambda c: (c.accuracy, -c.loss))
    if best.accuracy < 0:
        raise UsageError("no configuration could be trained: the losses were no numbers")
    return Search(best.hyperparameters, surface, sum(map(len, rows)))


def _plan(configurations: int, splits: int, strategy: str) -> Iterator[tuple[int, int, int]]:
    """Yield each round: how many configurations train, on the splits from `start` to `stop`."""
    if strategy == "grid":
        yield configurations, 0, splits
        return
    start, stop = 0, 1
    while start < splits:
        yield configurations, start, min(stop, splits)
        configurations = max(1, round(configurations * _SURVIVORS))
        start, stop = stop, stop * 3


def _rank(rows: list[Validation | None]) -> tuple[float, float]:
    if None in rows:  # a training whose loss stopped being a number
        return -1.0, -np.inf
    return np.mean([r.val_accuracy for r in rows]), -np.mean([r.val_loss for r in rows])


def _configuration(point: dict, rows: list[Validation | None]) -> Configuration:
    accuracy, negative_loss = _rank(rows)
    std = 0.0
    if len(rows) > 1 and None not in rows:
        std = float(np.std([r.val_accuracy for r in rows], ddof=1))
    return Configuration(point, len(rows), float(accuracy), std, -float(negative_loss))
