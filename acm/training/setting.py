"""Define and check the setting of one trial."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from acm.errors import UsageError, check_whole
from acm.nn import Dropout
from acm.nn.checks import finite, probability


@dataclass(frozen=True, eq=False)
class Setting:
    """Hold the nodes, hyperparameters and seed of one trial, but no mask of test nodes.

    Attributes:
        train, val: Masks of the training and validation nodes, `[N]`.
        lr, weight_decay: Learning rate and weight decay.
        seed: Seed of initial weights and dropout. The same seed on the same machine gives the same
            result; on a CPU, all bits are equal.
        dropout: Probability of every `acm.nn.Dropout` of the model except those with `fixed=True`;
            `None` keeps the model's probabilities.

    Raises:
        UsageError: If a number is out of range, or the masks overlap.
    """

    train: Tensor
    val: Tensor
    lr: float
    weight_decay: float
    seed: int
    dropout: float | None = None

    def __post_init__(self):
        if not 0 < finite("lr", self.lr):
            raise UsageError(f"lr is {self.lr}: a positive number is needed")
        if not 0 <= finite("weight_decay", self.weight_decay):
            raise UsageError(f"weight_decay is {self.weight_decay}: a number from 0 is needed")
        check_whole("seed", self.seed, 0)
        if self.dropout is not None:
            probability("dropout", self.dropout)
        for name, mask in (("train", self.train), ("val", self.val)):
            if mask.dtype != torch.bool or mask.shape != self.train.shape or not mask.any():
                raise UsageError(
                    f"the {name} mask has shape {list(mask.shape)} and type {mask.dtype}:"
                    " a bool mask of shape [N] with at least one node is needed"
                )
        if common := int((self.train & self.val).sum()):
            raise UsageError(f"{common} nodes are in train and val: the masks must not overlap")


def check_labels(setting: Setting, y: Tensor, model: nn.Module) -> None:
    """Raise `UsageError` unless the setting can be trained with these classes and this model."""
    if y.shape != setting.train.shape or y.is_floating_point():
        raise UsageError(
            f"y has shape {list(y.shape)} and type {y.dtype}:"
            f" whole numbers of shape {list(setting.train.shape)} are needed, as in the masks"
        )
    if bool((y.long()[(setting.train | setting.val).to(y.device)] < 0).any()):
        raise UsageError("a node of the masks has a negative label: classes are 0 … C−1")
    if setting.dropout is not None and not any(isinstance(m, Dropout) for m in model.modules()):
        raise UsageError("the model has no acm.nn.Dropout, so dropout must be None")
