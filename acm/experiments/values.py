"""Check the type and the range of a single hyperparameter."""

from __future__ import annotations

import math
from numbers import Real

from acm.errors import UsageError, check_whole
from acm.nn.checks import as_float

Value = int | float | str

#: More layers, heads or steps are a typing error, and building the network would take hours.
MOST = 10_000

#: A larger width is a typing error and would fill the memory.
MOST_HIDDEN = 1_000_000


def check_option(kind: type, name: str, value: object) -> Value:
    """Return the value of an option, converted to `kind`.

    Raises:
        UsageError: If the value does not have this type, or is too large.
    """
    needed = {int: "a whole number", float: "a number", str: "a word"}[kind]
    try:
        converted = kind(value)
        valid = not isinstance(value, bool) and (kind is str or math.isfinite(converted))
        if kind is int and not isinstance(value, str):
            valid = valid and converted == value
    except (ValueError, TypeError, OverflowError):
        valid = False
    if kind is str and valid:
        # The text of the options separates words by spaces, and a CSV file holds the text.
        valid = bool(converted) and not set(converted) & set(" =,\n\"'")
    if not valid:
        raise UsageError(f"{name}={value!r}: {needed} is needed")
    if kind is int and abs(converted) > MOST:
        raise UsageError(f"{name}={value}: at most {MOST:,} are possible")
    return converted


def check_shared(name: str, value: object) -> float | int:
    """Return the value of `lr`, `weight_decay`, `dropout` or `hidden` if it is in its range.

    Raises:
        UsageError: If the value is no number or out of range.
    """
    if name == "hidden":
        check_whole(name, value, 1)
        if value > MOST_HIDDEN:
            raise UsageError(f"{name}={value}: at most {MOST_HIDDEN:,} are possible")
        return int(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name}={value!r}: a number is needed")
    least, most, needed = {
        "lr": (0, math.inf, "a positive finite number"),
        "weight_decay": (0, math.inf, "a finite number from 0 up"),
        "dropout": (0, 1, "a number from 0 to below 1"),
    }[name]
    number = as_float(value)
    if not least <= number < most or (name == "lr" and number == 0):
        raise UsageError(f"{name}={number!r}: {needed} is needed")
    return number
