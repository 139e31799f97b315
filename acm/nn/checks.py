"""Check arguments, draw weights and choose the filter for several networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from numbers import Real
from types import MethodType

from torch import Tensor, nn

from acm.errors import UsageError, as_float, check_whole
from acm.filters import SparseMatrix, low_pass, operand

#: The channels of a filterbank (section 4.2), in the order used everywhere.
CHANNELS = ("low", "high", "identity")


def known_channels(channels: Collection[str]) -> tuple[str, ...]:
    """Return the channels in the order of `CHANNELS`; raise `UsageError` for invalid channels."""
    ordered = tuple(c for c in CHANNELS if c in channels)
    if not ordered or len(ordered) < len(channels):
        raise UsageError(
            f"channels {channels!r}: one or more different ones of {', '.join(CHANNELS)} are needed"
        )
    return ordered


def features(
    parts: Sequence[Tensor | SparseMatrix], in_channels: int, stacked: bool = False
) -> tuple[Tensor | SparseMatrix, ...]:
    """Return node features in a form that `product` takes; raise `UsageError` for wrong shapes.

    All parts are matrices with N rows, and together they have `in_channels` columns. With
    `stacked`, a part may be `[B, N, …]`.
    """
    parts = tuple(operand(part) for part in parts)
    shapes = [list(p.shape) for p in parts]
    matrices = all(len(shape) in ((2, 3) if stacked else (2,)) for shape in shapes)
    same_nodes = matrices and len({shape[-2] for shape in shapes}) == 1
    if not same_nodes or sum(shape[-1] for shape in shapes) != in_channels:
        shown = " and ".join(map(str, shapes)) or "()"
        raise UsageError(f"node features have shape {shown}: [N, {in_channels}] is needed")
    return parts


def sizes(**values: int) -> None:
    """Raise `UsageError` unless every value is a whole number, 1 or larger."""
    for name, value in values.items():
        check_whole(name, value, 1)


def finite(name: str, value: float) -> float:
    """Return the value, or raise `UsageError` unless it is a finite number."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not math.isfinite(as_float(value)):
        raise UsageError(f"{name} is {value!r}: a finite number is needed")
    return value


def fraction(name: str, value: float) -> float:
    """Return the value, or raise `UsageError` unless it is a number from 0 to 1."""
    if not 0 <= finite(name, value) <= 1:
        raise UsageError(f"{name} is {value}: a number from 0 to 1 is needed")
    return float(value)


def probability(name: str, value: float) -> float:
    """Return the value, or raise `UsageError` unless it is a number from 0 to below 1."""
    if not 0 <= finite(name, value) < 1:
        raise UsageError(f"{name} is {value}: a number from 0 to below 1 is needed")
    return float(value)


def uniform(parameter: nn.Parameter, fan: int) -> None:
    """Draw a parameter uniformly from −1/√fan to 1/√fan, as the authors' release does."""
    bound = fan**-0.5
    nn.init.uniform_(parameter, -bound, bound)


def random_walk(model: nn.Module, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    r"""Return the low-pass filter :math:`\hat A_{rw}`; most models use this `operator`."""
    return low_pass(edge_index, num_nodes)


def operator_of(model: nn.Module) -> Callable:
    """Return the model's method `operator(edge_index, num_nodes)`; by default `random_walk`."""
    return getattr(model, "operator", None) or MethodType(random_walk, model)
