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


def finite(name: str, value: float) -> float:
    """The value, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise UsageError(f"{name} is {value!r}: a finite number is needed")
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
