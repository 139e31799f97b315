"""Choose hyperparameters by validation accuracy; no test label is read."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

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

    `accuracy` is −1 if a loss was NaN or infinite. `std` is the sample standard deviation.
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
            f"the paper has no search ranges for {model} on {dataset}: give ranges for"
            " lr, weight_decay and dropout"
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

    The lower validation loss breaks ties. An interrupted search resumes from its store, a CSV file.
    The other arguments are those of `trials_of` and `run_trials`.

    Args:
        space: Lists of values by hyperparameter. If `lr`, `weight_decay` or `dropout` is missing,
            `grid` gives the missing ranges. A missing option has the value of the recipe.
        strategy: `"grid"` trains every configuration on every split. `"halving"` begins with one
            split. Each round keeps the best third of the configurations, on three times the splits.
    """
    if strategy not in STRATEGIES:
        raise unknown("strategy", strategy, STRATEGIES)
    ranges = _ranges(model_name(model), dataset, space or {})
    points = [dict(zip(ranges, values)) for values in itertools.product(*ranges.values())]
    trials = [trials_of(dataset, model, split_scheme, splits, seed, p, **options) for p in points]
    records = Store(store, Validation, options.get("numerics", NUMERICS)) if store else None
    rows: list[list[Validation | None]] = [[] for _ in points]
    ranked, plan = list(range(len(points))), _rounds(len(points), len(trials[0]), strategy)
    total = sum(count * (stop - start) for count, start, stop in plan)
    if progress:
        where = f"kept in {store}" if store else "kept in no file"
        tqdm.write(f"{len(points)} configurations, {total} trainings, {where}", file=sys.stderr)
    for count, start, stop in plan:
        trained = sorted(ranked[:count])
        new = [trial for k in trained for trial in trials[k][start:stop]]
        outcomes = iter(validate_trials(new, records, device, progress, workers))
        for k in trained:
            rows[k] += itertools.islice(outcomes, stop - start)
        surface = [_configuration(point, results) for point, results in zip(points, rows)]
        ranked = sorted(trained, key=lambda k: (-surface[k].accuracy, surface[k].loss))
    best = surface[ranked[0]]
    if best.accuracy < 0:
        raise UsageError("no configuration could be trained: every configuration has a NaN loss")
    return Search(best.hyperparameters, surface, sum(map(len, rows)))


def _rounds(points: int, splits: int, strategy: str) -> list[tuple[int, int, int]]:
    """Return the rounds of a search: the number of configurations, the first and last split."""
    stops = [3**k for k in range(splits) if 3**k < splits] if strategy == "halving" else []
    plan, start = [], 0
    for stop in (*stops, splits):
        points = max(1, round(points / 3)) if start else points
        plan.append((points, start, stop))
        start = stop
    return plan


def _ranges(model: str, dataset: str, space: Mapping) -> dict[str, list[Value]]:
    ranges = {}
    for name, values in space.items():
        if not isinstance(values, list | tuple | np.ndarray) or len(values) == 0:
            raise UsageError(f"the range of {name} is {values!r}: a list of values is needed")
        # A repeated value is tried once.
        ranges[name] = list(dict.fromkeys(check_value(model, name, value) for value in values))
    if set(HYPERPARAMETERS) - set(ranges) <= {"hidden"}:
        return {"hidden": [WIDTH]} | ranges
    return grid(model, dataset) | ranges


def _configuration(point: dict, rows: list[Validation | None]) -> Configuration:
    if None in rows:  # the loss of a training became NaN or infinite
        return Configuration(point, len(rows), -1.0, 0.0, np.inf)
    accuracies, losses = [r.val_accuracy for r in rows], [r.val_loss for r in rows]
    std = np.std(accuracies, ddof=1) if len(rows) > 1 else 0.0
    return Configuration(point, len(rows), *map(float, (np.mean(accuracies), std, np.mean(losses))))
