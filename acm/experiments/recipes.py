"""Give the hyperparameters that a cell of the tables is trained with, and their source."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.data.names import dataset as check_dataset
from acm.errors import UsageError, unknown
from acm.registry import MODELS, model_name

Value = int | float | str

SPLIT_SCHEMES = ("random", "fixed", "sparse")

#: The hyperparameters that every model has; a model may have options besides.
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")

#: The type and the range of a hyperparameter, and of an option by its type: its model knows more.
_RANGES = {
    "lr": (float, lambda v: 0 < v < math.inf, "a positive finite number"),
    "weight_decay": (float, lambda v: 0 <= v < math.inf, "a finite number from 0 up"),
    "dropout": (float, lambda v: 0 <= v < 1, "a number from 0 to below 1"),
    "hidden": (int, lambda v: v >= 1, "a whole number from 1 up"),
    int: (int, math.isfinite, "a whole number"),
    float: (float, math.isfinite, "a number"),
    # The text of the options separates words by spaces, and a CSV file holds the text.
    str: (str, lambda v: v and not set(v) & set(" =,\n\"'"), "a word"),
}

#: The hidden width in the tables of the paper's own models.
WIDTH = 64

#: The values for the paper's synthetic graphs, for which the paper prints no optimum.
SYNTHETIC = {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.5, "hidden": WIDTH}

#: Where the values of a recipe come from, from the most to the least binding origin, in words.
ORIGINS = {
    "printed": "printed: ",
    "misprint": "printed, most likely a misprint: ",  # the print is most likely not what ran
    "searched": "not published; ",  # by validation
    "chosen": "not published; chosen because ",  # by us
    "given": "",  # by the caller
}


def check_value(model: str, name: str, value: object) -> Value:
    """Return a hyperparameter of a model, converted to its type, if it is in its range."""
    options = default_options(model)
    if name not in HYPERPARAMETERS and name not in options:
        raise unknown("hyperparameter", name, (*HYPERPARAMETERS, *options), f" of {model}")
    kind, in_range, needed = _RANGES[type(options[name]) if name in options else name]
    try:
        converted = kind(value)
        exact = kind is not int or isinstance(value, str) or converted == value
        valid = exact and not isinstance(value, bool) and in_range(converted)
    except (ValueError, TypeError, OverflowError):
        valid = False
    if not valid:
        raise UsageError(f"{name}={value!r}: {needed} is needed")
    return converted


def default_options(model: str) -> dict[str, Value]:
    """Return the options of a model with their defaults, by their printed names: `lambda`."""
    return {name.rstrip("_"): value for name, value in MODELS[model].options.items()}


def write_options(values: Mapping[str, Value]) -> str:
    """Return the text of some options, sorted by name: `alpha=0.1 layers=2`."""
    return " ".join(f"{name}={values[name]}" for name in sorted(values))


def read_options(model: str, text: str) -> dict[str, Value]:
    """Return the options in a text of `write_options`, with the model's types."""
    pairs = (word.partition("=") for word in text.split())
    return {name: check_value(model, name, value) for name, _, value in pairs}


def arguments(model: str, text: str) -> dict[str, Value]:
    """Return the options of a text as keyword arguments of `acm.registry.build`: `lambda_`."""
    keywords = {name.rstrip("_"): name for name in MODELS[model].options}
    return {keywords[name]: value for name, value in read_options(model, text).items()}


def in_words(values: Mapping[str, Value]) -> str:
    """Return hyperparameters for people to read: `lr 0.01, weight decay 0.0005, jk cat`."""
    shown = {n: value if isinstance(value, str) else f"{value:g}" for n, value in values.items()}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())


@dataclass(frozen=True)
class Recipe:
    """The hyperparameters of one cell, one of `ORIGINS`, and the source in words, for people.

    The options are a text of `write_options`.
    """

    model: str
    dataset: str
    split_scheme: str
    lr: float
    weight_decay: float
    dropout: float
    hidden: int
    options: str
    origin: str
    source: str

    def sentence(self) -> str:
        """Say in one line where the values come from. No program reads this line."""
        return ORIGINS[self.origin] + self.source


def recipe(
    model: str, dataset: str, split_scheme: str = "random", given: Mapping | None = None
) -> Recipe:
    """Return the hyperparameters that a cell is trained with.

    The first source that has the cell decides: the paper's printed optimum, unless it is a misprint
    and a search has replaced it; the file `recipes.csv`; the model's recipe for random splits. An
    option that a printed row lacks comes from the cell's row in `recipes.csv`, or is the default.
    Hyperparameters that are given by name and are not `None` replace those of the source.
    """
    check_dataset(dataset)
    cell = (model_name(model), dataset, split_scheme)
    if split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", split_scheme, SPLIT_SCHEMES)
    values = {n: check_value(cell[0], n, v) for n, v in (given or {}).items() if v is not None}
    base, others = _recipe(cell), {"hidden": WIDTH}
    if base and not values:
        return base
    if base is None and not {"lr", "weight_decay", "dropout"} <= values.keys():
        raise UsageError(
            f"the paper publishes nothing for {cell[0]} on {dataset}: give lr, weight_decay and"
            " dropout"
        )
    source = f"{', '.join(values)} as given"
    if base:
        others = {name: getattr(base, name) for name in HYPERPARAMETERS}
        others |= read_options(base.model, base.options)
        if rest := ", ".join(name for name in others if name not in values):
            source += f"; {rest}: {base.sentence()}"
    return _make(cell, others | values, "given", source)


def _make(cell, values, origin, source) -> Recipe:
    model = cell[0]
    values = default_options(model) | {n: check_value(model, n, v) for n, v in values.items()}
    shared = [values.pop(name) for name in HYPERPARAMETERS]
    return Recipe(*cell, *shared, write_options(values), origin, source)


def _recipe(cell: tuple[str, str, str]) -> Recipe | None:
    model, dataset, split_scheme = cell
    if dataset == "synthetic":
        reason = "they lie in the ranges that the paper searched on its synthetic graphs"
        return _make(cell, SYNTHETIC, "chosen", reason)
    if dataset not in PAPER_DATASETS:
        return None
    published = _printed(cell) or _chosen(cell)
    if published or split_scheme == "random":
        return published
    if base := _recipe((model, dataset, "random")):
        source = f"it is the recipe for random splits ({base.sentence()})"
        return replace(base, split_scheme=split_scheme, origin="chosen", source=source)
    return None


def _printed(cell: tuple[str, str, str]) -> Recipe | None:
    model = cell[0]
    try:
        row = paper.hyperparameters(*cell)
    except UsageError:
        return None
    if row.row_status == "untrainable":
        return None
    misprint = row.row_status in ("misprint", "row_of_another_model")
    notes = [note.text for note in row.notes if note.kind != "other_result"]
    chosen = _chosen_rows().get(cell)
    if misprint and chosen and chosen["status"] == "searched":
        search, remarks = _chosen(cell), "; ".join(notes)
        return replace(search, source=f"{search.source}; not as in {row.source}: {remarks}")
    values = read_options(model, chosen["options"]) if chosen else default_options(model)
    names = {name.rstrip("_"): name for name in (*HYPERPARAMETERS, *MODELS[model].options)}
    printed = {name: getattr(row, field, None) for name, field in names.items()}
    printed = {name: value for name, value in printed.items() if value is not None}
    if unprinted := ", ".join(f"{n} {values[n]}" for n in sorted(values) if n not in printed):
        reason = f"chosen because {chosen['reason']}" if chosen else "the default"
        notes.append(f"not printed, {reason}: {unprinted}")
    origin = "misprint" if misprint else "printed"
    return _make(cell, values | printed, origin, "; ".join([row.source, *notes]))


def _chosen(cell: tuple[str, str, str]) -> Recipe | None:
    model, _, split_scheme = cell
    row = _chosen_rows().get(cell) or _chosen_rows().get((model, "*", split_scheme))
    if row is None:
        return None
    values = {name: row[name] for name in HYPERPARAMETERS} | read_options(model, row["options"])
    origin = "searched" if row["status"] == "searched" else "chosen"
    return _make(cell, values, origin, row["reason"])


@functools.cache
def _chosen_rows() -> dict[tuple[str, str, str], dict[str, str]]:
    # `status` is "searched" (the best by validation in results/searches.csv), "chosen", or
    # "to_search" (chosen, but a search should replace the values).
    with Path(__file__).with_name("recipes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["model"], row["dataset"], row["split_scheme"]): row for row in rows}


complete = recipe  # the name that acm.cli uses
