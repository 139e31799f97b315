"""Ranges of arguments, and the one draw of weights, that several networks share."""

from __future__ import annotations

from torch import nn

from acm.errors import UsageError


def whole(name: str, value: int) -> int:
    """The value, if it is a whole number from 1 up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(f"{name} is {value}: a whole number from 1 up is needed")
    return value


def fraction(name: str, value: float) -> float:
    """The value, if it is a number from 0 to 1."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} is {value}: a number from 0 to 1 is needed")
    return value


def uniform(parameter: nn.Parameter, fan: int) -> None:
    """Draw uniformly from ±1/√fan, as the authors' release does (FIDELITY 17)."""
    bound = fan**-0.5
    nn.init.uniform_(parameter, -bound, bound)
