"""What one training is asked to do, and the trials that make a cell of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from acm.data.names import dataset as check_dataset
from acm.data.splits import Split, fixed_split, num_fixed_splits, random_split
from acm.errors import UsageError, check_whole, unknown
from acm.experiments.protocols import training_protocol
from acm.experiments.recipes import HYPERPARAMETERS, SPLIT_SCHEMES, arguments, complete
from acm.nn import CHANNELS
from acm.registry import MODELS, build, model_name

#: The version of what decides the digits of a training. Records of another version are not today's.
#: 1: order of sums before commit c97eb626a5d2. 2: today.
NUMERICS = 2

#: A larger number of splits is taken for a typing error.
MOST_SPLITS = 10_000

#: Shares of training and validation nodes of drawn splits. The sparse ones are those of Table 2 of
#: GPRGNN's paper, from which Table 3 takes numbers.
SHARES = {"random": (0.6, 0.2), "sparse": (0.025, 0.025)}


@dataclass(frozen=True)
class Trial:
    """One training: a model on one split of a graph, with a seed and all hyperparameters.

    Attributes:
        dataset: Name in `acm.data.DATASETS`.
        model: Name in `acm.registry.MODELS`.
        split_scheme: `"random"` (60/20/20 by GPRGNN's rule; on Deezer-Europe its five published
            splits), `"fixed"` (the ten splits of Geom-GCN, or those of a later data set's release)
            or `"sparse"` (2.5/2.5/95 by GPRGNN's rule).
        split: Number of the split, from 0.
        seed: Seed of initial weights and dropout, together with the split; splits ignore it.
        lr, weight_decay, dropout, hidden: Hyperparameters of every model.
        channels: Names joined by `+`, such as `"low+high+identity"`.
        mix: Whether nodes weigh the channels.
        options: Hyperparameters of this model, as `acm.experiments.recipes` writes them.
        training_rule: Name of the `TrainingProtocol`: optimizer, length, selection and stopping.
        numerics: Version of the numerics, see `NUMERICS`.
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


def training_rule(dataset: str) -> str:
    """Return the name of today's training rule for a data set."""
    return training_protocol(dataset).name


def uses_random_splits(dataset: str, split_scheme: str) -> bool:
    """Return whether splits are drawn; those of Deezer-Europe are published."""
    return split_scheme == "sparse" or (split_scheme == "random" and dataset != "deezer-europe")


def split_of(dataset: str, split_scheme: str, number: int, y: Tensor) -> Split:
    """Return the masks of a split.

    Args:
        dataset, split_scheme, number: As in `Trial`.
        y: Classes of the graph, `[N]`.
    """
    if uses_random_splits(dataset, split_scheme):
        return random_split(y.cpu(), number, *SHARES[split_scheme])
    return fixed_split(dataset, number)


def trials_of(
    dataset: str,
    model: str,
    split_scheme: str = "random",
    splits: int | None = None,
    seed: int = 0,
    hyperparameters: Mapping[str, float | str | None] | None = None,
    channels: str | None = None,
    mix: bool | None = None,
    numerics: int = NUMERICS,
) -> list[Trial]:
    """Return the trials of one cell of Table 3 (random splits) or Table 8 (fixed splits).

    Args:
        dataset: Name of the graph.
        model: Name of the model, in any case.
        split_scheme: `"random"`, `"fixed"` or `"sparse"`, see `Trial`.
        splits: Number of splits; by default the paper's: ten, five on Deezer-Europe.
        seed: See `Trial`.
        hyperparameters: Any of `lr`, `weight_decay`, `dropout`, `hidden` and the model's options
            (`layers`, `lambda`, …); missing ones (or `None`) are taken from the cell's recipe.
        channels: Channels joined by `+`, instead of the model's.
        mix: Whether to mix the channels, instead of as the model does.
        numerics: Version of the numerics; trials of an earlier one can only be read from a store.

    Raises:
        UsageError: If a name is unknown, there are fewer splits, a value is out of range, or the
            cell has no recipe and a hyperparameter is missing.
    """
    check_dataset(dataset)
    model = model_name(model)
    if split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", split_scheme, SPLIT_SCHEMES)
    splits = _number_of_splits(dataset, split_scheme, splits)
    check_whole("seed", seed, 0)
    if not isinstance(hyperparameters, Mapping | None):
        raise UsageError(f"hyperparameters={hyperparameters!r}: values by name are needed")
    recipe = complete(model, dataset, split_scheme, hyperparameters or {})
    if not isinstance(channels, str | None):
        raise UsageError(f"channels={channels!r}: names joined by + are needed")
    if not isinstance(mix, bool | None):
        raise UsageError(f"mix={mix!r}: True, False or None is needed")
    names = None if channels is None else tuple(channels.split("+"))
    if names:  # one order, so that one experiment has one name
        names = tuple(sorted(names, key=lambda c: (*CHANNELS, c).index(c)))
    options = arguments(model, recipe.options)
    # The model is built once, so that an impossible one is refused before the training.
    built = build(model, 1, 1, recipe.hidden, recipe.dropout, names, mix, num_nodes=1, **options)
    has_channels = bool(MODELS[model].channels)
    return [
        Trial(
            dataset,
            model,
            split_scheme,
            split,
            int(seed),
            **{name: getattr(recipe, name) for name in HYPERPARAMETERS},
            channels="+".join(built.channels) if has_channels else "",
            mix=built.mix if has_channels else False,
            options=recipe.options,
            training_rule=training_rule(dataset),
            numerics=numerics,
        )
        for split in range(splits)
    ]


def _number_of_splits(dataset: str, split_scheme: str, splits: int | None) -> int:
    most = None if uses_random_splits(dataset, split_scheme) else num_fixed_splits(dataset)
    if most == 0:
        raise UsageError(f"{dataset} has no fixed splits: use split scheme 'random'")
    splits = splits if splits is not None else most or 10
    check_whole("splits", splits, 1)
    if splits > MOST_SPLITS:
        raise UsageError(f"splits={splits}: at most {MOST_SPLITS:,} are possible")
    if most is not None and splits > most:
        raise UsageError(f"{splits} {split_scheme} splits: {dataset} has {most} of them")
    return int(splits)
