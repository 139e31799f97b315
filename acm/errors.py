"""Define the error for wrong user input, and argument checks that all packages of `acm` use."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral


class UsageError(ValueError):
    """Report wrong input: one line says which input is wrong and which input is valid.

    The command line prints this line and exits with code 2. In Python the error is a `ValueError`.
    """


def unknown(kind: str, name: object, valid: Iterable[str], where: str = "") -> UsageError:
    """Return the error for an invalid name. The message suggests the most similar valid name.

    `kind` says what is named, in the singular: "model". `where` follows the name in the message.
    """
    import difflib  # imported here because only an error needs this module

    spelling = {v.casefold(): v for v in valid}
    near = difflib.get_close_matches(str(name).casefold(), spelling, n=1)
    hint = f" (did you mean {spelling[near[0]]}?)" if near else ""
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    valid_names = ", ".join(spelling.values())
    return UsageError(f"unknown {kind} {str(name)!r}{where}{hint}: the {plural} are {valid_names}")


def check_whole(label: str, value: object, least: int) -> None:
    """Raise `UsageError` if `value` is not a whole number, or is smaller than `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{label}={value!r}: a whole number from {least} up is needed")


def as_float(value: float) -> float:
    """Convert a number to a float. An integer that is too large for a float becomes ±infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
