"""What one training is asked to do, and the trials that make a cell of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from acm.data.splits import Split, fixed_split, num_fixed_splits, random_split
from acm.errors import UsageError, check_whole
from acm.experiments.recipes import HYPERPARAMETERS, Value, arguments, recipe
from acm.registry import MODELS, build
from acm.training import RELEASED, TrainingProtocol

#: The version of what decides the digits of a training. Records of another version are not today's.
#: 1: order of sums before commit c97eb626a5d2. 2: today.
NUMERICS = 2

#: Shares of training and validation nodes of drawn splits. The sparse ones are those of Table 2 of
#: GPRGNN's paper, from which Table 3 takes numbers.
SHARES = {"random": (0.6, 0.2), "sparse": (0.025, 0.025)}

#: The training rule of Lim et al. (2021), which the paper uses on Deezer-Europe.
DEEZER = TrainingProtocol("adamw", 500, window=None, select="accuracy", name="deezer")


@dataclass(frozen=True)
class Trial:
    """One training: a model on one split of a graph, with a seed and all hyperparameters.

    Attributes:
        split_scheme: `"random"` (60/20/20 by GPRGNN's rule; on Deezer-Europe its five published
            splits), `"fixed"` (the ten splits of Geom-GCN, or those of a later data set's release)
            or `"sparse"` (2.5/2.5/95 by GPRGNN's rule).
        seed: Seed of initial weights and dropout, together with the split; splits ignore it.
        channels: Names joined by `+`; nodes weigh the channels if `mix`.
        options: Hyperparameters of this model, as `acm.experiments.recipes` writes them.
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
        """Return the seed of the training, which differs for every seed and split."""
        return int(np.random.SeedSequence([self.seed, self.split]).generate_state(1)[0])


def training_protocol(dataset: str) -> TrainingProtocol:
    """Return the rule by which the paper trains on a data set."""
    return DEEZER if dataset == "deezer-europe" else RELEASED


def published_splits(dataset: str, split_scheme: str) -> int | None:
    """Return how many splits are published; `None` if splits are drawn."""
    drawn = split_scheme == "sparse" or (split_scheme == "random" and dataset != "deezer-europe")
    return None if drawn else num_fixed_splits(dataset)


def split_of(dataset: str, split_scheme: str, number: int, y: Tensor) -> Split:
    """Return the masks of a split of a graph with classes `y`, on the CPU."""
    if published_splits(dataset, split_scheme) is None:
        return random_split(y.cpu(), number, *SHARES[split_scheme])
    return fixed_split(dataset, number)


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

    The default number of splits is the paper's: ten, five on Deezer-Europe. Any of `lr`,
    `weight_decay`, `dropout`, `hidden` and the model's options (`layers`, `lambda`, …) replace
    those of the cell's recipe. Other attributes are those of `Trial`; trials of an earlier version
    of the numerics can only be read from a store.
    """
    r = recipe(model, dataset, split_scheme, hyperparameters)
    check_whole("seed", seed, 0)
    published = published_splits(dataset, split_scheme)
    splits = (published or 10) if splits is None else splits
    check_whole("splits", splits, 1)
    most = 10_000 if published is None else published  # more drawn splits are a typing error
    if splits > most:
        raise UsageError(f"splits={splits}: {dataset} has at most {most:,} {split_scheme} splits")
    if not isinstance(mix, bool | None):
        raise UsageError(f"mix={mix!r}: True, False or None is needed")
    names = None if channels is None else channels.split("+")
    options = arguments(r.model, r.options)
    # The model is built once, so that an impossible one is refused before the training.
    built = build(r.model, 1, 1, r.hidden, r.dropout, names, mix, num_nodes=1, **options)
    values = {name: getattr(r, name) for name in (*HYPERPARAMETERS, "options")}
    values |= {"training_rule": training_protocol(dataset).name, "numerics": numerics}
    values |= {"channels": "", "mix": False}
    if MODELS[r.model].channels:
        values |= {"channels": "+".join(built.channels), "mix": built.mix}
    return [Trial(dataset, r.model, split_scheme, k, int(seed), **values) for k in range(splits)]
