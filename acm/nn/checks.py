"""Checks of arguments, and the one draw of weights, that several networks share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from numbers import Real
from types import MethodType

from torch import Tensor, nn

from acm.data.names import check_whole
from acm.errors import UsageError, as_float
from acm.filters import SparseMatrix, low_pass, operand

#: The channels of a filterbank (section 4.2), in the one order that they have everywhere.
CHANNELS = ("low", "high", "identity")


def known_channels(channels: Sequence[str]) -> tuple[str, ...]:
    """The channels in the one order, if they are some, each once.

    Raises:
        UsageError: If they are not.
    """
    names = list(channels) if isinstance(channels, Sequence | Set) else []
    plain = not isinstance(channels, str) and all(isinstance(name, str) for name in names)
    kept = tuple(c for c in CHANNELS if plain and c in names)
    if not kept or len(kept) < len(names):
        raise UsageError(
            f"channels {channels!r}: one or more different ones of {', '.join(CHANNELS)} are needed"
        )
    return kept


def features(
    parts: Sequence[Tensor | SparseMatrix], in_channels: int, stacked: bool = False
) -> tuple[Tensor | SparseMatrix, ...]:
    """Node features as products take them, if the parts have the width side by side.

    Args:
        parts: Matrices `[N, …]`, dense, `torch.sparse` or `SparseMatrix`.
        in_channels: Their width together.
        stacked: Whether they may be those of a batch of trials, `[B, N, …]`.

    Raises:
        UsageError: If they are not, or differ in `N`.
    """
    parts = tuple(operand(part) for part in parts)
    good = all(len(p.shape) == 2 or (stacked and len(p.shape) == 3) for p in parts)
    alike = good and len({p.shape[-2] for p in parts}) == 1
    if not alike or sum(p.shape[-1] for p in parts) != in_channels:
        shapes = " and ".join(str(list(p.shape)) for p in parts) or "()"
        raise UsageError(f"node features have shape {shapes}: [N, {in_channels}] is needed")
    return parts


def sizes(**values: int) -> None:
    """Raise `UsageError` unless every value is a whole number from 1 up."""
    for name, value in values.items():
        check_whole(name, value, 1)


def finite(name: str, value: float) -> float:
    """The value, if it is a finite number."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not math.isfinite(as_float(value)):
        shown = as_float(value) if number else repr(value)
        raise UsageError(f"{name} is {shown}: a finite number is needed")
    return value


def fraction(name: str, value: float) -> float:
    """The value, if it is a number from 0 to 1."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 <= value <= 1):
        raise UsageError(f"{name} is {value}: a number from 0 to 1 is needed")
    return float(value)


def probability(name: str, value: float) -> float:
    """The value, if it is a number from 0 to below 1."""
    if isinstance(value, bool) or not (isinstance(value, Real) and 0 <= value < 1):
        raise UsageError(f"{name} is {value}: a number from 0 to below 1 is needed")
    return float(value)


def uniform(parameter: nn.Parameter, fan: int) -> None:
    """Draw uniformly from ±1/√fan, as the authors' release does (FIDELITY 17)."""
    bound = fan**-0.5
    nn.init.uniform_(parameter, -bound, bound)


def random_walk(model: nn.Module, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    r"""The filter :math:`\hat A_{rw}`, raw self-loops kept: the `operator` of most models.

    Args:
        model: Whatever it is: nothing of it changes the filter.
        edge_index: Edges, `[2, E]`, or a sparse adjacency, as in `acm.filters.adjacency`.
        num_nodes: `N`.
    """
    return low_pass(edge_index, num_nodes)


def operator_of(model: nn.Module) -> Callable:
    """The method `(edge_index, num_nodes)` that makes what a model propagates with.

    It is the model's own `operator`, or `random_walk` where it has none.
    """
    return getattr(model, "operator", None) or MethodType(random_walk, model)
