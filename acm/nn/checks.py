"""Ranges of arguments, and the one draw of weights, that several networks share."""

from __future__ import annotations

import math
from numbers import Real

from torch import nn

from acm.data.names import check_whole
from acm.errors import UsageError


def sizes(**values: int) -> None:
    """Raise `UsageError` unless every value is a whole number from 1 up."""
    for name, value in values.items():
        check_whole(name, value, 1)


def as_float(value: Real) -> float:
    """The number as a float: an infinity if it is a whole one that is too large for that."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


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
