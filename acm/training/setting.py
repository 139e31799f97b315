"""What a training is given, and checks of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import torch
from torch import Tensor, nn

from acm.errors import UsageError, as_float
from acm.nn import Dropout
from acm.training.protocol import TrainingProtocol


@dataclass(frozen=True, eq=False)
class Setting:
    """One training: its nodes, hyperparameters and seed. It has no mask of test nodes.

    Attributes:
        train: Mask of the training nodes, `[N]`.
        val: Mask of the validation nodes, `[N]`.
        lr: Learning rate.
        weight_decay: Weight decay.
        seed: Seed of initial weights and dropout. The same seed on the same machine gives the same
            result, on a CPU to the bit.
        dropout: Probability of every `acm.nn.Dropout` of the model except those with `fixed=True`;
            `None` for the model's probabilities.
    """

    train: Tensor
    val: Tensor
    lr: float
    weight_decay: float
    seed: int
    dropout: float | None = None


def check_call(model: nn.Module, x, protocol: TrainingProtocol, on_epoch: Callable | None) -> None:
    """Raise `UsageError` unless the arguments of `train` are of the right kind."""
    if isinstance(x, np.ndarray):
        raise UsageError("x is a NumPy array: a tensor is needed, use torch.from_numpy")
    if not isinstance(protocol, TrainingProtocol):
        raise UsageError(f"protocol is {protocol!r}: an acm.training.TrainingProtocol is needed")
    if on_epoch is not None and not callable(on_epoch):
        raise UsageError(f"on_epoch is {on_epoch!r}: a function is needed, or None")
    if not isinstance(model, nn.Module):
        raise UsageError(f"the model is {model!r}: an nn.Module is needed, not its class")
    name = type(model).__name__
    if not callable(getattr(model, "reset_parameters", None)):
        raise UsageError(f"{name} has no reset_parameters(), which draws the initial weights")
    if not any(p.requires_grad for p in model.parameters()):
        raise UsageError(f"{name} has no parameter that requires a gradient: nothing to train")


def check_setting(setting: Setting, y: Tensor, model: nn.Module) -> None:
    """Raise `UsageError` unless the setting can be trained with these classes and this model."""
    if not isinstance(setting, Setting):
        raise UsageError(
            f"a trial is a {type(setting).__name__}: an acm.training.Setting is needed"
        )
    masks = {"train": setting.train, "val": setting.val}
    tensors = {"y": y, **{f"the {name} mask": mask for name, mask in masks.items()}}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise UsageError(f"{name} is a {type(tensor).__name__}: a tensor is needed")
    if y.dim() != 1 or y.is_floating_point() or y.is_complex():
        raise UsageError(
            f"y has shape {list(y.shape)} and type {y.dtype}: whole numbers of shape [N] are needed"
        )
    for name, mask in masks.items():
        if mask.shape != y.shape or mask.dtype != torch.bool or not bool(mask.any()):
            raise UsageError(
                f"the {name} mask has shape {list(mask.shape)} and type {mask.dtype}:"
                f" a bool mask of shape {list(y.shape)} with a node in it is needed"
            )
    if common := int((setting.train & setting.val).sum()):
        raise UsageError(
            f"{common} nodes are in the train and the val mask: allowed is one of them"
        )
    if bool((y.long()[(setting.train | setting.val).to(y.device)] < 0).any()):
        raise UsageError(
            "a node in the train or val mask has a negative label: classes are 0 … C−1"
        )
    for name in ("lr", "weight_decay", "dropout"):
        value = getattr(setting, name)
        missing = value is None and name != "dropout"
        if missing or isinstance(value, bool) or not isinstance(value, Real | None):
            raise UsageError(f"{name} is {value!r}: a number is needed")
    lr, decay = as_float(setting.lr), as_float(setting.weight_decay)
    if not 0 < lr < math.inf or not 0 <= decay < math.inf:
        raise UsageError(
            f"lr is {lr} and weight_decay {decay}:"
            " a positive and a non-negative finite number are needed"
        )
    whole = isinstance(setting.seed, Integral) and not isinstance(setting.seed, bool)
    if not whole or not 0 <= setting.seed < 2**64:
        raise UsageError(f"seed is {setting.seed!r}: a whole number from 0 to 2^64 - 1 is needed")
    if setting.dropout is None:
        return
    if not 0 <= setting.dropout < 1:
        raise UsageError(f"dropout is {setting.dropout}: a number from 0 to below 1 is needed")
    if not any(isinstance(part, Dropout) for part in model.modules()):
        name = type(model).__name__
        raise UsageError(
            f"{name} has no acm.nn.Dropout, so dropout={setting.dropout} has no effect"
        )
