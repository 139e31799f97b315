"""Choosing hyperparameters by validation, over the grids of the paper's appendix.

No test label is used: `validate_trials` runs the trials, and its rows have no test accuracy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
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
    Value,
    check_options,
    default_options,
)
from acm.experiments.run import validate_trials
from acm.experiments.store import Store, Validation
from acm.experiments.trial import Trial, trials_of
from acm.experiments.workers import Workers
from acm.registry import model_name

STRATEGIES = ("grid", "halving")
_KEEP = 1 / 3  # of the configurations, after each round of halving


@dataclass(frozen=True)
class Configuration:
    """A point of the validation surface.

    Attributes:
        hyperparameters: What was tried.
        splits: On how many splits.
        accuracy: Mean validation accuracy over these, from 0 to 1; −1 if a loss was no number.
        std: Its standard deviation over the splits (`n − 1`), 0 for a single one.
        loss: Mean validation loss.
    """

    hyperparameters: dict[str, Value]
    splits: int
    accuracy: float
    std: float
    loss: float


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes:
        chosen: The hyperparameters with the best mean validation accuracy over all splits; of
            several, those with the lowest mean validation loss.
        surface: Every configuration with what validation says of it, in the order of the grid.
        trainings: How many trials the surface rests on.
    """

    chosen: dict[str, Value]
    surface: list[Configuration]
    trainings: int


def grid(model: str, dataset: str, table: str = "real_world") -> dict[str, list[float]]:
    """The values that the paper tried for a model on a graph (Appendix A).

    The embedded graph has the ranges of the paper's synthetic ones.

    Args:
        model, dataset: Names.
        table: `"real_world"` or `"ablation"`.

    Raises:
        UsageError: If a name is unknown, or the paper has no ranges for the two.
    """
    model = model if table == "ablation" else model_name(model)
    known_dataset(dataset)
    where = ("synthetic", model) if dataset == "synthetic" else (table, model, dataset)
    try:
        space = paper.search_space(*where)
    except UsageError as error:
        raise UsageError(
            f"the paper has no search ranges for {model} on {dataset}: give those of lr,"
            " weight_decay and dropout"
        ) from error
    rest = SYNTHETIC if dataset == "synthetic" else {"hidden": WIDTH, "dropout": 0.0}
    return {name: list(space.get(name, [rest.get(name)])) for name in HYPERPARAMETERS}


def _space(model: str, dataset: str, given: Mapping | None) -> dict[str, list[Value]]:
    """The values of every hyperparameter: those given, else the paper's; of its own if given."""
    if not isinstance(given, Mapping | None):
        raise UsageError(f"space={given!r}: lists of values by name are needed")
    given, model = dict(given or {}), model_name(model)
    known = (*HYPERPARAMETERS, *default_options(model))
    for name, values in given.items():
        if name not in known:
            raise unknown("hyperparameter", name, known)
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise UsageError(f"the range of {name} is {values!r}: a list of values is needed")
        values = list(values)
        if name in HYPERPARAMETERS:
            for value in values:
                if isinstance(value, bool) or not isinstance(value, Real):
                    raise UsageError(f"the range of {name} has {value!r} in it: numbers are needed")
        else:
            values = [check_options(model, {name: value})[name] for value in values]
        given[name] = list(dict.fromkeys(v.item() if hasattr(v, "item") else v for v in values))
        if not given[name]:
            raise UsageError(f"the range of {name} is empty: one value or more are needed")
    if set(HYPERPARAMETERS) - set(given) <= {"hidden"}:
        return {"hidden": [WIDTH]} | given
    return grid(model, dataset) | given


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
    """Find the hyperparameters that validation prefers, without a look at the test sets.

    Args:
        dataset, model, split_scheme, splits, seed, options: As in `trials_of`.
        space: Values of `lr`, `weight_decay`, `dropout` and `hidden`, of which what is left out is
            the paper's range (`grid`); and of the model's own hyperparameters, of which it is the
            recipe's value.
        strategy: `"grid"` trains every configuration on every split. `"halving"` trains all on
            one split, the better third on two more, and so on: about a quarter of the work for
            ten splits, and the order among the last is the grid's own.
        store: Path of the CSV file that keeps the trials; a search that was interrupted goes on.
        device, progress, workers: As in `run`.

    Raises:
        UsageError: As `trials_of` and `run`; or if the strategy or a name in `space` is unknown, a
            range is empty, or no configuration could be trained.
    """
    if strategy not in STRATEGIES:
        raise unknown("strategy", strategy, STRATEGIES)
    given = _space(model, dataset, space)
    points = [dict(zip(given, values)) for values in itertools.product(*given.values())]
    cells = [
        trials_of(dataset, model, split_scheme, splits, seed, point, **options) for point in points
    ]
    kept = Store(store, Validation) if store else None
    seen: list[list[Validation]] = [[] for _ in cells]
    for chosen, start, stop in _rounds(strategy, seen, len(cells[0])):
        trials: list[Trial] = [t for k in chosen for t in cells[k][start:stop]]
        rows = validate_trials(trials, kept, device, progress, workers)
        for number, k in enumerate(chosen):
            seen[k] += rows[number * (stop - start) : (number + 1) * (stop - start)]
    surface = [_configuration(point, rows) for point, rows in zip(points, seen)]
    longest = max(c.splits for c in surface)
    best = max((c for c in surface if c.splits == longest), key=lambda c: (c.accuracy, -c.loss))
    if best.accuracy < 0:
        raise UsageError("no configuration could be trained: the losses were no numbers")
    return Search(best.hyperparameters, surface, sum(map(len, seen)))


def _rounds(strategy: str, seen: list[list], splits: int):
    """Which configurations to train next, and on which splits: `(numbers, start, stop)`."""
    going = list(range(len(seen)))
    if strategy == "grid":
        yield going, 0, splits
        return
    start, stop = 0, 1
    while start < splits:
        yield going, start, min(stop, splits)
        ranked = sorted(going, key=lambda k: _rank(seen[k]), reverse=True)
        going = sorted(ranked[: max(1, round(len(going) * _KEEP))])
        start, stop = stop, stop * 3


def _rank(rows: list[Validation | None]) -> tuple[float, float]:
    if None in rows:
        return -1.0, -np.inf
    return np.mean([r.val_accuracy for r in rows]), -np.mean([r.val_loss for r in rows])


def _configuration(point: dict, rows: list[Validation | None]) -> Configuration:
    accuracy, negative = _rank(rows)
    std = 0.0
    if len(rows) > 1 and None not in rows:
        std = float(np.std([r.val_accuracy for r in rows], ddof=1))
    return Configuration(point, len(rows), float(accuracy), std, -float(negative))
