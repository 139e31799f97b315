"""How a trial is trained, stopped and read off."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import torch
from torch import Tensor, nn

from acm.data.names import check_whole
from acm.errors import UsageError, unknown
from acm.nn import Dropout
from acm.nn.checks import as_float

OPTIMIZERS = ("adam", "adamw")
SELECTIONS = ("loss", "accuracy")


@dataclass(frozen=True)
class TrainingProtocol:
    """Optimiser, length and model selection of a trial.

    Attributes:
        optimizer: `"adam"` (L2 weight decay, in the gradient) or `"adamw"` (decoupled).
        max_epochs: The most epochs there can be.
        window: Training stops at the first epoch (counted from 0) beyond `window` whose
            validation loss exceeds the mean of the `window` losses before it; `None`: never.
        select: The epoch whose predictions count: the first with the lowest validation `"loss"`
            or the highest validation `"accuracy"`.

    Raises:
        UsageError: If a word is unknown, or a number is no whole one from 1.
    """

    optimizer: str = "adam"
    max_epochs: int = 5000
    window: int | None = 200
    select: str = "loss"

    def __post_init__(self):
        if self.optimizer not in OPTIMIZERS:
            raise unknown("optimiser", self.optimizer, OPTIMIZERS)
        if self.select not in SELECTIONS:
            raise unknown("selection", self.select, SELECTIONS)
        check_whole("max_epochs", self.max_epochs, 1)
        if self.window is not None:
            check_whole("window", self.window, 1)


#: Nine of the ten graphs, as released.
RELEASED = TrainingProtocol()

#: Deezer-Europe: as Lim et al. (2021) train.
DEEZER = TrainingProtocol("adamw", max_epochs=500, window=None, select="accuracy")


def training_protocol(dataset: str) -> TrainingProtocol:
    """The protocol that the paper trains this data set with."""
    return DEEZER if dataset == "deezer-europe" else RELEASED


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
        dropout: Probability for every `acm.nn.Dropout` of the model but those with `own=True`;
            `None` for the model's own.
    """

    train: Tensor
    val: Tensor
    lr: float
    weight_decay: float
    seed: int
    dropout: float | None = None


def check_model(model: nn.Module) -> None:
    """Whether a model can be trained.

    Raises:
        UsageError: If it cannot draw its weights anew, or has none that may change.
    """
    if not isinstance(model, nn.Module):
        raise UsageError(f"the model is {model!r}: an nn.Module is needed, made and not its class")
    name = type(model).__name__
    if not callable(getattr(model, "reset_parameters", None)):
        raise UsageError(
            f"{name} has no reset_parameters(), by which every trial draws initial weights"
        )
    if not any(p.requires_grad for p in model.parameters()):
        raise UsageError(f"{name} has no parameter that requires a gradient: nothing to train")


def check_call(x, protocol: TrainingProtocol, on_epoch: Callable | None) -> None:
    """Whether the other arguments are such that a training can begin with them.

    Raises:
        UsageError: If they are of the wrong kind.
    """
    if isinstance(x, np.ndarray):
        raise UsageError("x is a NumPy array: a tensor is needed, which torch.from_numpy makes")
    if not isinstance(protocol, TrainingProtocol):
        raise UsageError(f"protocol is {protocol!r}: an acm.training.Protocol is needed")
    if on_epoch is not None and not callable(on_epoch):
        raise UsageError(f"on_epoch is {on_epoch!r}: a function is needed, or None")


def check(setting: Setting, y: Tensor, model: nn.Module) -> None:
    """Whether a setting can be trained.

    Raises:
        UsageError: If labels are no whole numbers; if a mask is empty, has another shape, or meets
            the other; if a label there is no class; or if a number is out of range.
    """
    for name, tensor in (
        ("y", y),
        ("the train mask", setting.train),
        ("the val mask", setting.val),
    ):
        if not isinstance(tensor, Tensor):
            raise UsageError(f"{name} is a {type(tensor).__name__}: a tensor is needed")
    if y.dim() != 1 or y.is_floating_point() or y.is_complex():
        raise UsageError(
            f"y has shape {list(y.shape)} and type {y.dtype}: whole numbers of shape [N] are needed"
        )
    for name, mask in (("train", setting.train), ("val", setting.val)):
        if mask.shape != y.shape or mask.dtype != torch.bool or not bool(mask.any()):
            raise UsageError(
                f"the {name} mask has shape {list(mask.shape)} and type {mask.dtype}:"
                f" a bool mask of shape {list(y.shape)} with a node in it is needed"
            )
    both = int((setting.train & setting.val).sum())
    if both:
        raise UsageError(f"{both} nodes are in the train and the val mask: none can be in both")
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
        raise UsageError(
            f"{type(model).__name__} has no acm.nn.Dropout whose probability a trial could set"
        )
