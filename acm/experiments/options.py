"""A model's own hyperparameters as text, such as `alpha=0.1 lambda=0.5 layers=8`, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping

from acm.errors import UsageError, unknown
from acm.nn import MODELS

Value = int | float | str

#: More layers, heads or steps than these are a slip of the hand, and would be built for hours.
MOST = 10_000


def own(model: str) -> dict[str, Value]:
    """A model's own hyperparameters with their defaults, by the names of the tables: `lambda`."""
    return {name.rstrip("_"): value for name, value in MODELS[model].own.items()}


def write_options(values: Mapping[str, Value]) -> str:
    """The one text of some values: in the order of their names, numbers as short as can be."""
    return " ".join(f"{name}={values[name]}" for name in sorted(values))


def read_options(model: str, text: str) -> dict[str, Value]:
    """The values that a text has.

    Raises:
        UsageError: If the model has no such hyperparameter, or a value is not of its kind.
    """
    pairs = [part.partition("=") for part in text.split()]
    return check_options(model, {name: value for name, _, value in pairs})


def complete_options(model: str, text: str) -> str:
    """The text with the defaults of what it leaves out, which may have been added since.

    Raises:
        UsageError: As `read_options`.
    """
    return write_options(own(model) | read_options(model, text))


def check_options(model: str, values: Mapping[str, object]) -> dict[str, Value]:
    """The values, each of the kind that the model's default is of.

    Raises:
        UsageError: As `read_options`.
    """
    known, found = own(model), {}
    for name, value in values.items():
        if name not in known:
            if not known:
                raise UsageError(f"{model} has no hyperparameters of its own, so no {name!r}")
            raise unknown("hyperparameter", name, known, f" of {model}")
        found[name] = _as(type(known[name]), name, value)
    return found


def in_words(values: Mapping[str, Value]) -> str:
    """Hyperparameters for people to read: `lr 0.01, weight decay 0.0005, jk cat`."""
    shown = {n: value if isinstance(value, str) else f"{value:g}" for n, value in values.items()}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())


def arguments(model: str, text: str) -> dict[str, Value]:
    """The same as keyword arguments of `acm.nn.build`."""
    spelling = {name.rstrip("_"): name for name in MODELS[model].own}
    return {spelling[name]: value for name, value in read_options(model, text).items()}


def _as(kind: type, name: str, value: object) -> Value:
    needed = {int: "a whole number", float: "a number", str: "a word"}[kind]
    try:
        found = kind(value)
        good = not isinstance(value, bool) and (kind is str or math.isfinite(found))
        if not good or (kind is int and not isinstance(value, str) and found != value):
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        raise UsageError(f"{name}={value!r}: {needed} is needed") from None
    if kind is int and abs(found) > MOST:
        raise UsageError(f"{name}={value}: at most {MOST:,} are possible")
    if kind is str and (not found or set(found) & set(" =,\n\"'")):
        raise UsageError(f"{name}={value!r}: {needed} is needed")
    return found
