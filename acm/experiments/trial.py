"""Describe one training (a trial), and list the trials of a cell of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from acm.data.graphs import load
from acm.data.splits import Split, fixed_split, num_fixed_splits, random_split
from acm.errors import UsageError, check_whole
from acm.experiments.recipes import HYPERPARAMETERS, WIDTH, Value, arguments, recipe
from acm.registry import MODELS, build
from acm.training import RELEASED, TrainingProtocol

#: The version of the numerics. The last digits of a training can differ between two versions.
#: 1: the order of sums before commit c97eb626a5d2. 2: the current order of sums.
NUMERICS = 2

#: Fractions of training and validation nodes in drawn splits. "sparse" is from Table 2 of GPRGNN's
#: paper; the ACM-GNN paper copies some of these results into Table 3.
SHARES = {"random": (0.6, 0.2), "sparse": (0.025, 0.025)}

#: The training rule of Lim et al. (2021), which the paper uses on Deezer-Europe.
DEEZER = TrainingProtocol("adamw", 500, window=None, select="accuracy", name="deezer")


@dataclass(frozen=True)
class Trial:
    """One training: a model on one split of a graph, with a seed and all hyperparameters.

    Attributes:
        split_scheme: `"random"` (60/20/20 %, drawn as in GPRGNN; the five published splits on
            Deezer-Europe), `"fixed"` (the ten splits of Geom-GCN, or the published splits of a
            newer data set) or `"sparse"` (2.5/2.5/95 %, drawn as in GPRGNN).
        seed: Initial weights and dropout depend on `seed` and `split`; masks only on `split`.
        channels, mix: Channel names joined by `+`, and whether nodes weigh the channels.
        options: Hyperparameters of this model, as text that `write_options` returns.
        training_rule: Name of the `TrainingProtocol`.
    """

    dataset: str
    model: str
    split_scheme: str
    split: int
    seed: int
    lr: float
    weight_decay: float
    dropout: float
    hidden: int
    channels: str
    mix: bool
    options: str = field(default="", kw_only=True)
    training_rule: str = field(default="released", kw_only=True)
    numerics: int = field(default=NUMERICS, kw_only=True)

    @property
    def entropy(self) -> int:
        """Return the seed of the training, computed from `seed` and `split`."""
        return int(np.random.SeedSequence([self.seed, self.split]).generate_state(1)[0])


def training_protocol(dataset: str) -> TrainingProtocol:
    """Return the training rule that the paper uses on a data set."""
    return DEEZER if dataset == "deezer-europe" else RELEASED


def published_splits(dataset: str, split_scheme: str) -> int | None:
    """Return the number of published splits, or `None` if splits are drawn at random."""
    drawn = split_scheme == "sparse" or (split_scheme == "random" and dataset != "deezer-europe")
    return None if drawn else num_fixed_splits(dataset)


def split_of(dataset: str, split_scheme: str, number: int, y: Tensor) -> Split:
    """Return the masks of split `number` of a graph with classes `y`, on the CPU."""
    if published_splits(dataset, split_scheme) is None:
        return random_split(y.cpu(), number, *SHARES[split_scheme])
    return fixed_split(dataset, number)


def shares_of(trial: Trial) -> str:
    """Say how many nodes of the graph the trial trains on, validates and tests."""
    y = load(trial.dataset).y
    split = split_of(trial.dataset, trial.split_scheme, trial.split, y)
    train, val, test = (f"{100 * mask.double().mean():.0f} %" for mask in split)
    tested, classes = len(y[split.test].unique()), len(y.unique())
    return (
        f"split {trial.split}: {train} of the nodes train, {val} validate, {test} test;"
        f" {tested} of {classes} classes have test nodes"
    )


def trials_of(
    dataset: str,
    model: str,
    split_scheme: str = "random",
    splits: int | None = None,
    seed: int = 0,
    hyperparameters: Mapping[str, Value | None] | None = None,
    channels: str | None = None,
    mix: bool | None = None,
    numerics: int = NUMERICS,
) -> list[Trial]:
    """Return the trials of one cell of Table 3 (random splits) or Table 8 (fixed splits).

    A cell has one trial per split: by default ten, or five on Deezer-Europe, as in the paper.
    `hyperparameters` (`lr`, `weight_decay`, `dropout`, `hidden`, or options such as `layers`)
    replace the values of the cell's recipe. The other arguments are attributes of `Trial`. Trials
    with an earlier version of the numerics can be read from a store, but cannot be trained.
    """
    r = recipe(model, dataset, split_scheme, hyperparameters)
    check_whole("seed", seed, 0)
    published = published_splits(dataset, split_scheme)
    splits = (published or 10) if splits is None else splits
    check_whole("splits", splits, 1)
    most = 10_000 if published is None else published  # a larger number is probably a typing error
    if splits > most:
        raise UsageError(f"splits={splits}: {dataset} has at most {most:,} {split_scheme} splits")
    if not isinstance(mix, bool | None):
        raise UsageError(f"mix={mix!r}: True, False or None is needed")
    names = None if channels is None else channels.split("+")
    options = arguments(r.model, r.options)
    # Building the model once raises errors in its arguments before any training begins.
    with torch.random.fork_rng(devices=[]):  # the draws of its weights leave no trace
        built, wider = (
            build(r.model, 1, 1, hidden, r.dropout, names, mix, num_nodes=1, **options)
            for hidden in (r.hidden, r.hidden + 1)
        )
    same = [p.shape for p in built.parameters()] == [p.shape for p in wider.parameters()]
    fixed = MODELS[r.model].fixed
    drops = fixed.get("input_dropout", True) or fixed["layers"] > 1  # SGC and MLP-1 have no dropout
    for name, effect, neutral in (("hidden", not same, WIDTH), ("dropout", drops, 0)):
        value = (hyperparameters or {}).get(name)
        if not effect and value is not None and getattr(r, name) != neutral:
            raise UsageError(f"{name}={value} has no effect on {r.model}: omit {name}")
    values = {name: getattr(r, name) for name in (*HYPERPARAMETERS, "options")}
    values |= {"training_rule": training_protocol(dataset).name, "numerics": numerics}
    values |= {"channels": "", "mix": False}
    if MODELS[r.model].channels:
        values |= {"channels": "+".join(built.channels), "mix": built.mix}
    return [Trial(dataset, r.model, split_scheme, k, int(seed), **values) for k in range(splits)]
