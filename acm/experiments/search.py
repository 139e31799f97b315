"""Choose hyperparameters by validation; `validate_trials` reads no test label."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from acm import paper
from acm.data.names import dataset as check_dataset
from acm.errors import UsageError, unknown
from acm.experiments.recipes import HYPERPARAMETERS, SYNTHETIC, WIDTH, Value, check_value
from acm.experiments.run import validate_trials
from acm.experiments.store import Store, Validation
from acm.experiments.trial import NUMERICS, trials_of
from acm.experiments.workers import Workers
from acm.registry import model_name

STRATEGIES = ("grid", "halving")


@dataclass(frozen=True)
class Configuration:
    """One configuration with its mean validation accuracy and loss over the trained splits.

    The accuracy is −1 if a loss was not a number. The divisor of `std` is `splits − 1`.
    """

    hyperparameters: dict[str, Value]
    splits: int
    accuracy: float
    std: float
    loss: float


@dataclass(frozen=True)
class Search:
    """The outcome of a search: the best hyperparameters, and all configurations in grid order."""

    chosen: dict[str, Value]
    surface: list[Configuration]
    trainings: int


def grid(model: str, dataset: str) -> dict[str, list[float]]:
    """Return the values that the paper tried for a model on a graph (Appendix A)."""
    check_dataset(dataset)
    model = model_name(model)
    table = "synthetic" if dataset == "synthetic" else "real_world"
    try:
        space = paper.search_space(table, model, dataset)
    except UsageError as error:
        raise UsageError(
            f"the paper has no search ranges for {model} on {dataset}: give those of lr,"
            " weight_decay and dropout"
        ) from error
    defaults = SYNTHETIC if table == "synthetic" else {"hidden": WIDTH, "dropout": 0.0}
    return {name: list(space.get(name, [defaults.get(name)])) for name in HYPERPARAMETERS}


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
    """Find the hyperparameters with the best mean validation accuracy over all splits.

    The lower validation loss decides ties. A search resumes from its store, a CSV file. Options and
    other arguments are those of `trials_of` and `run_trials`.

    Args:
        space: Values by name. A name of `lr`, `weight_decay`, `dropout` and `hidden` that is left
            out has the paper's range (`grid`); an option that is left out has the recipe's value.
        strategy: `"grid"` trains every configuration on every split. `"halving"` trains all on
            one split, the best third on two more splits, the best third of these on six more.
    """
    if strategy not in STRATEGIES:
        raise unknown("strategy", strategy, STRATEGIES)
    ranges = _ranges(model_name(model), dataset, space or {})
    points = [dict(zip(ranges, values)) for values in itertools.product(*ranges.values())]
    cells = [trials_of(dataset, model, split_scheme, splits, seed, p, **options) for p in points]
    records = Store(store, Validation, options.get("numerics", NUMERICS)) if store else None
    rows: list[list[Validation | None]] = [[] for _ in cells]
    ranked, start, most = list(range(len(cells))), 0, len(cells[0])
    rounds = [3**k for k in range(most) if 3**k < most] if strategy == "halving" else []
    for stop in (*rounds, most):
        trained = sorted(ranked[: max(1, round(len(ranked) / 3))] if start else ranked)
        trials = [trial for k in trained for trial in cells[k][start:stop]]
        outcomes = iter(validate_trials(trials, records, device, progress, workers))
        for k in trained:
            rows[k] += itertools.islice(outcomes, stop - start)
        surface = [_configuration(point, results) for point, results in zip(points, rows)]
        ranked = sorted(trained, key=lambda k: (-surface[k].accuracy, surface[k].loss))
        start = stop
    best = surface[ranked[0]]
    if best.accuracy < 0:
        raise UsageError("no configuration could be trained: the losses were no numbers")
    return Search(best.hyperparameters, surface, sum(map(len, rows)))


def _ranges(model: str, dataset: str, space: Mapping) -> dict[str, list[Value]]:
    ranges = {}
    for name, values in space.items():
        if not isinstance(values, list | tuple | np.ndarray) or len(values) == 0:
            raise UsageError(f"the range of {name} is {values!r}: a list of values is needed")
        # A value that is named twice is tried once.
        ranges[name] = list(dict.fromkeys(check_value(model, name, value) for value in values))
    if set(HYPERPARAMETERS) - set(ranges) <= {"hidden"}:
        return {"hidden": [WIDTH]} | ranges
    return grid(model, dataset) | ranges


def _configuration(point: dict, rows: list[Validation | None]) -> Configuration:
    if None in rows:  # a training whose loss stopped being a number
        return Configuration(point, len(rows), -1.0, 0.0, np.inf)
    accuracies, losses = [r.val_accuracy for r in rows], [r.val_loss for r in rows]
    std = np.std(accuracies, ddof=1) if len(rows) > 1 else 0.0
    return Configuration(point, len(rows), *map(float, (np.mean(accuracies), std, np.mean(losses))))
