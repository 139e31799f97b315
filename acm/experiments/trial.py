"""What is asked of one training, and the trials that make a cell of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from acm.data.names import check_whole
from acm.data.names import dataset as known_dataset
from acm.data.splits import Split, fixed_split, num_fixed_splits, random_split
from acm.errors import UsageError, unknown
from acm.experiments.recipes import HYPERPARAMETERS, SPLIT_SCHEMES, arguments, complete
from acm.nn import CHANNELS
from acm.registry import MODELS, build, model_name

#: More than these is a slip of the hand, and would fill the memory before it fails.
MOST_SPLITS = 10_000

#: Shares of training and validation nodes where splits are drawn. The sparse ones are those of
#: GPRGNN's Table 2, which Table 3 has numbers of.
SHARES = {"random": (0.6, 0.2), "sparse": (0.025, 0.025)}


@dataclass(frozen=True)
class Trial:
    """One training: a model on one split of a graph, with a seed and all hyperparameters.

    Attributes:
        dataset: Name in `acm.data.DATASETS`.
        model: Name in `acm.nn.MODELS`.
        split_scheme: `"random"` (60/20/20 by GPRGNN's rule; on Deezer-Europe its five published
            splits), `"fixed"` (the ten splits of Geom-GCN, or of a later data set's release) or
            `"sparse"` (2.5/2.5/95 by GPRGNN's rule).
        split: Which split, from 0.
        seed: Decides, with the split, initial weights and dropout; the split does not depend on it.
        lr, weight_decay, dropout, hidden: Hyperparameters.
        channels: Names joined by `+`, such as `"low+high+identity"`.
        mix: Whether nodes weigh the channels.
        options: The model's own hyperparameters, in the one order and spelling that
            `acm.experiments.recipes` gives them; empty if it has none.
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

    @property
    def entropy(self) -> int:
        """The seed of the training itself: another for every seed and split."""
        return int(np.random.SeedSequence([self.seed, self.split]).generate_state(1)[0])


def uses_random_splits(dataset: str, split_scheme: str) -> bool:
    """Whether splits are drawn; Deezer-Europe has published ones, random and fixed alike."""
    return split_scheme == "sparse" or split_scheme == "random" and dataset != "deezer-europe"


def split_of(dataset: str, split_scheme: str, number: int, y: Tensor) -> Split:
    """The masks of a split, drawn or published.

    Args:
        dataset, split_scheme, number: As a trial has them.
        y: The graph's classes, `[N]`.
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
) -> list[Trial]:
    """The trials of one cell of Table 3 (random splits) or Table 8 (fixed splits).

    Args:
        dataset: Name of the graph.
        model: Name of the model, in any case.
        split_scheme: `"random"`, `"fixed"` or `"sparse"`, see `Trial`.
        splits: How many splits, from the first; by default as many as the paper has: ten, five on
            Deezer-Europe.
        seed: See `Trial`.
        hyperparameters: Any of `lr`, `weight_decay`, `dropout`, `hidden` and the model's own
            (`layers`, `lambda`, …); what is left out (or `None`) is that of the cell's `recipe`.
        channels: Other channels than the model's own, joined by `+`.
        mix: Whether to mix them, where it is not as the model does.

    Raises:
        UsageError: If a name is unknown, if there are not so many splits, if a value is out of
            range, or if there is no recipe for the cell and some are not given.
    """
    known_dataset(dataset)
    model = model_name(model)
    if split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", split_scheme, SPLIT_SCHEMES)
    splits = _number_of_splits(dataset, split_scheme, splits)
    check_whole("seed", seed, 0)
    if not isinstance(hyperparameters, Mapping | None):
        raise UsageError(f"hyperparameters={hyperparameters!r}: values by name are needed")
    values = complete(model, dataset, split_scheme, hyperparameters or {})
    if not isinstance(channels, str | None):
        raise UsageError(f"channels={channels!r}: names joined by + are needed")
    if not isinstance(mix, bool | None):
        raise UsageError(f"mix={mix!r}: True, False or None is needed")
    names = None if channels is None else tuple(channels.split("+"))
    if names:  # in the one order, so that one experiment has one name
        names = tuple(sorted(names, key=lambda c: (*CHANNELS, c).index(c)))
    options = arguments(model, values.options)
    # Built once, so that what cannot be is said before anything is run.
    built = build(model, 1, 1, values.hidden, values.dropout, names, mix, num_nodes=1, **options)
    has = bool(MODELS[model].channels)
    return [
        Trial(
            dataset,
            model,
            split_scheme,
            split,
            int(seed),
            **{name: getattr(values, name) for name in HYPERPARAMETERS},
            channels="+".join(built.channels) if has else "",
            mix=built.mix if has else False,
            options=values.options,
        )
        for split in range(splits)
    ]


def _number_of_splits(dataset: str, split_scheme: str, splits: int | None) -> int:
    most = None if uses_random_splits(dataset, split_scheme) else num_fixed_splits(dataset)
    if most == 0:
        raise UsageError(f"{dataset} has no fixed splits: split_scheme 'random' draws some")
    splits = splits if splits is not None else most or 10
    check_whole("splits", splits, 1)
    if splits > MOST_SPLITS:
        raise UsageError(f"splits={splits}: at most {MOST_SPLITS:,} are possible")
    if most is not None and splits > most:
        raise UsageError(f"{splits} {split_scheme} splits: {dataset} has {most} of them")
    return int(splits)
