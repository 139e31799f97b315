"""What is asked of one training."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.nn import Dropout


@dataclass(frozen=True, eq=False)
class Setting:
    """One trial: where it learns, how, and what it draws.

    Attributes:
        train: Mask of the training nodes, `[N]`.
        val: Mask of the validation nodes, `[N]`.
        lr: Learning rate of the optimiser.
        weight_decay: Its weight decay.
        seed: Decides initial weights and dropout; the same seed on the same machine gives the
            same result, on a CPU to the bit.
        dropout: Probability for every `acm.nn.Dropout` of the model; `None` for the model's own.
    """

    train: Tensor
    val: Tensor
    lr: float
    weight_decay: float
    seed: int
    dropout: float | None = None


def check(setting: Setting, y: Tensor, model: nn.Module) -> None:
    """Whether a setting can be trained.

    Raises:
        UsageError: If a mask is empty, has another shape, or meets the other; if a label there is
            no class; or if a number is out of range.
    """
    for name, mask in (("train", setting.train), ("val", setting.val)):
        if mask.shape != y.shape or mask.dtype != torch.bool or not bool(mask.any()):
            raise UsageError(
                f"the {name} mask has shape {list(mask.shape)} and type {mask.dtype}:"
                f" a bool mask of shape {list(y.shape)} with a node in it is needed"
            )
    both = int((setting.train & setting.val).sum())
    if both:
        raise UsageError(f"{both} nodes are in the train and the val mask: none can be in both")
    if bool((y[(setting.train | setting.val).to(y.device)] < 0).any()):
        raise UsageError(
            "a node in the train or val mask has a negative label: classes are 0 … C−1"
        )
    if not setting.lr > 0 or not setting.weight_decay >= 0:
        raise UsageError(
            f"lr is {setting.lr} and weight_decay {setting.weight_decay}:"
            " a positive and a non-negative number are needed"
        )
    if not (isinstance(setting.seed, int) and setting.seed >= 0):
        raise UsageError(f"seed is {setting.seed}: a whole number from 0 is needed")
    if setting.dropout is None:
        return
    if not 0 <= setting.dropout < 1:
        raise UsageError(f"dropout is {setting.dropout}: a number from 0 to below 1 is needed")
    if not any(isinstance(part, Dropout) for part in model.modules()):
        raise UsageError(
            f"{type(model).__name__} has no acm.nn.Dropout whose probability a trial could set"
        )
