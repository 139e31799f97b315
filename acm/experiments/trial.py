"""What is asked of one training, and the trials that make a cell of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

import numpy as np

from acm import paper
from acm.data.names import PAPER_DATASETS, check_whole
from acm.data.names import dataset as known_dataset
from acm.data.splits import num_fixed_splits
from acm.errors import UsageError, unknown
from acm.nn import CHANNELS, build, model_name

PROTOCOLS = ("random", "fixed")

#: The one hidden width that the tables of the paper's own models have.
WIDTH = 64

#: The paper publishes no optimum for its synthetic graphs; these lie in the ranges it searched.
SYNTHETIC = {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.5, "hidden": WIDTH}

HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")

#: More than these is a slip of the hand, and would fill the memory before it fails.
MOST = {"splits": 10_000, "hidden": 1_000_000}


@dataclass(frozen=True)
class Trial:
    """One training: a model on one split of a graph, with a seed and all hyperparameters.

    Attributes:
        dataset: Name in `acm.data.DATASETS`.
        model: Name in `acm.nn.MODELS`.
        protocol: `"random"` (60/20/20 by GPRGNN's rule; on Deezer-Europe its five published
            splits) or `"fixed"` (the ten splits of Geom-GCN, or of a later data set's release).
        split: Which split, from 0.
        seed: Decides, with the split, initial weights and dropout; the split does not depend on it.
        lr, weight_decay, dropout, hidden: Hyperparameters.
        channels: Names joined by `+`, such as `"low+high+identity"`.
        mix: Whether nodes weigh the channels.
    """

    dataset: str
    model: str
    protocol: str
    split: int
    seed: int
    lr: float
    weight_decay: float
    dropout: float
    hidden: int
    channels: str
    mix: bool

    @property
    def entropy(self) -> int:
        """The seed of the training itself: another for every seed and split."""
        return int(np.random.SeedSequence([self.seed, self.split]).generate_state(1)[0])


def uses_random_splits(dataset: str, protocol: str) -> bool:
    """Whether splits are drawn; Deezer-Europe has published ones under either protocol."""
    return protocol == "random" and dataset != "deezer-europe"


def cell(
    dataset: str,
    model: str,
    protocol: str = "random",
    splits: int | None = None,
    seed: int = 0,
    hyperparameters: Mapping[str, float | None] | None = None,
    channels: str | None = None,
    mix: bool | None = None,
) -> list[Trial]:
    """The trials of one cell of Table 3 (random splits) or Table 8 (fixed splits).

    Args:
        dataset: Name of the graph.
        model: Name of the model, in any case.
        protocol: `"random"` or `"fixed"`, see `Trial`.
        splits: How many splits, from the first; by default as many as the paper has: ten, five on
            Deezer-Europe.
        seed: See `Trial`.
        hyperparameters: Any of `lr`, `weight_decay`, `dropout` and `hidden`; what is left out (or
            `None`) is the paper's optimum for the cell.
        channels: Other channels than the model's own, joined by `+`.
        mix: Whether to mix them, where it is not as the model does.

    Raises:
        UsageError: If a name is unknown, if there are not so many splits, if a value is out of
            range, or if the paper publishes no optimum for the cell and some are not given.
    """
    known_dataset(dataset)
    model = model_name(model)
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    splits = _number_of_splits(dataset, protocol, splits)
    check_whole("seed", seed, 0)
    if not isinstance(hyperparameters, Mapping | None):
        raise UsageError(f"hyperparameters={hyperparameters!r}: values by name are needed")
    given = dict(hyperparameters or {})
    for name in given:
        if name not in HYPERPARAMETERS:
            raise unknown("hyperparameter", name, HYPERPARAMETERS)
    values = optimum(dataset, model, protocol, given)
    if not isinstance(channels, str | None):
        raise UsageError(f"channels={channels!r}: names joined by + are needed")
    if not isinstance(mix, bool | None):
        raise UsageError(f"mix={mix!r}: True, False or None is needed")
    names = None if channels is None else tuple(channels.split("+"))
    if names:  # in the one order, so that one experiment has one name
        names = tuple(sorted(names, key=lambda c: (*CHANNELS, c).index(c)))
    built = build(model, 1, 1, values["hidden"], values["dropout"], names, mix)
    architecture = built.architecture
    return [
        Trial(
            dataset,
            model,
            protocol,
            split,
            int(seed),
            **values,
            channels="+".join(architecture.channels),
            mix=architecture.mix,
        )
        for split in range(splits)
    ]


def optimum(dataset: str, model: str, protocol: str, given: Mapping[str, float | None]) -> dict:
    """The given hyperparameters, completed by the paper's optimum for the cell."""
    values = {name: value for name, value in given.items() if value is not None}
    missing = [name for name in HYPERPARAMETERS if name not in values]
    for name, value in values.items():
        _check(name, value)
    if set(missing) <= {"hidden"}:
        values.setdefault("hidden", WIDTH)
    elif dataset == "synthetic":
        values = SYNTHETIC | values
    elif dataset not in PAPER_DATASETS:
        missing = [name for name in missing if name != "hidden"]
        options = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise UsageError(
            f"the paper publishes nothing for {dataset}: give {' and '.join(missing)} as well"
            f" ({options})"
        )
    else:
        published = paper.hyperparameters(model, dataset, protocol)
        values = {name: getattr(published, name) for name in HYPERPARAMETERS} | values
    return {
        name: int(values[name]) if name == "hidden" else float(values[name])
        for name in HYPERPARAMETERS
    }


def _check(name: str, value: object) -> None:
    """Raise `UsageError` unless a hyperparameter is a number in its range."""
    if name == "hidden":
        return _check_whole(name, value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name}={value!r}: a number is needed")
    least, most, needed = {
        "lr": (0, math.inf, "a positive number"),
        "weight_decay": (0, math.inf, "a number from 0 up"),
        "dropout": (0, 1, "a number from 0 to below 1"),
    }[name]
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not least <= number < most or (name == "lr" and number == 0):
        raise UsageError(f"{name}={number!r}: {needed} is needed")


def _check_whole(name: str, value: object) -> None:
    check_whole(name, value, 1)
    if value > MOST[name]:
        raise UsageError(f"{name}={value}: at most {MOST[name]:,} are possible")


def _number_of_splits(dataset: str, protocol: str, splits: int | None) -> int:
    most = None if uses_random_splits(dataset, protocol) else num_fixed_splits(dataset)
    if most == 0:
        raise UsageError(f"{dataset} has no fixed splits: protocol 'random' draws some")
    splits = splits if splits is not None else most or 10
    _check_whole("splits", splits)
    if most is not None and splits > most:
        raise UsageError(f"{splits} {protocol} splits: {dataset} has {most} of them")
    return int(splits)
