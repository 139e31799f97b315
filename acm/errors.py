"""Errors of user input, and the argument checks that every room shares."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral


class UsageError(ValueError):
    """Report bad input in one line: what is wrong, and what is valid.

    The command line prints the line and exits with code 2. In Python it is a `ValueError`.
    """


def unknown(kind: str, name: object, valid: Iterable[str], where: str = "") -> UsageError:
    """Return the error for a name that is not valid; the error suggests the nearest valid name.

    `kind` says in the singular what the name refers to: "model". `where` says where it was used.
    """
    import difflib  # imported here because only an error needs it

    spelling = {v.casefold(): v for v in valid}
    near = difflib.get_close_matches(str(name).casefold(), spelling, n=1)
    hint = f" (did you mean {spelling[near[0]]}?)" if near else ""
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    valid_names = ", ".join(spelling.values())
    return UsageError(f"unknown {kind} {str(name)!r}{where}{hint}: the {plural} are {valid_names}")


def check_whole(label: str, value: object, least: int) -> None:
    """Raise `UsageError` unless `value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{label}={value!r}: a whole number from {least} up")


def as_float(value: float) -> float:
    """Convert a number to a float; a whole number that is too large becomes an infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
