"""Look up the hyperparameters of a cell (model, data set, split scheme), and their source."""

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

#: The hyperparameters of every model. A hyperparameter that only some models have is an option.
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")

#: Type, range and text of the range, by name of a hyperparameter or by type of an option.
_RANGES = {
    "lr": (float, lambda v: 0 < v < math.inf, "a positive finite number"),
    "weight_decay": (float, lambda v: 0 <= v < math.inf, "a finite number from 0 up"),
    "dropout": (float, lambda v: 0 <= v < 1, "a number from 0 to below 1"),
    "hidden": (int, lambda v: v >= 1, "a whole number from 1 up"),
    int: (int, math.isfinite, "a whole number"),
    float: (float, math.isfinite, "a number"),
    # A CSV file stores options as text, separated by spaces: these characters would break the text.
    str: (str, lambda v: v and not set(v) & set(" =,\n\"'"), "a word"),
}

#: The hidden width of ACM-GNNs in the paper's tables of hyperparameters.
WIDTH = 64

#: Our hyperparameters for the synthetic graphs. The paper prints no optimum for these graphs.
SYNTHETIC = {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.5, "hidden": WIDTH}

#: The origins of a recipe. `Recipe.sentence` puts the text of the origin before the source.
ORIGINS = {
    "printed": "printed: ",
    "misprint": "printed, most likely a misprint: ",  # the authors most likely used another value
    "searched": "found by our search: ",  # by validation accuracy
    "chosen": "not published; chosen because ",  # by us, without a search
    "given": "",  # by the caller of `recipe`
}


def check_value(model: str, name: str, value: object) -> Value:
    """Convert a value to the type of the hyperparameter; raise `UsageError` if out of range."""
    options = default_options(model)
    if name not in HYPERPARAMETERS and name not in options:
        raise unknown("hyperparameter", name, (*HYPERPARAMETERS, *options), f" of {model}")
    value_type, in_range, needed = _RANGES[type(options[name]) if name in options else name]
    try:
        converted = value_type(value)
        exact = value_type is not int or isinstance(value, str) or converted == value
        valid = exact and not isinstance(value, bool) and in_range(converted)
    except (ValueError, TypeError, OverflowError):
        valid = False
    if not valid:
        raise UsageError(f"{name}={value!r}: {needed} is needed")
    return converted


def default_options(model: str) -> dict[str, Value]:
    """Return the default options of a model by name; a name is as printed: `lambda`."""
    return {name.rstrip("_"): value for name, value in MODELS[model].options.items()}


def write_options(values: Mapping[str, Value]) -> str:
    """Return the options as text, sorted by name: `alpha=0.1 layers=2`."""
    return " ".join(f"{name}={values[name]}" for name in sorted(values))


def read_options(model: str, text: str) -> dict[str, Value]:
    """Read the options of a model from the text that `write_options` returns."""
    pairs = (word.partition("=") for word in text.split())
    return {name: check_value(model, name, value) for name, _, value in pairs}


def arguments(model: str, text: str) -> dict[str, Value]:
    """Read options as keyword arguments of `acm.registry.build`, such as `lambda_`."""
    keywords = {name.rstrip("_"): name for name in MODELS[model].options}
    return {keywords[name]: value for name, value in read_options(model, text).items()}


def in_words(values: Mapping[str, Value]) -> str:
    """Format hyperparameters for a reader: `lr 0.01, weight decay 0.0005, jk cat`."""
    shown = {n: value if isinstance(value, str) else f"{value:g}" for n, value in values.items()}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())


@dataclass(frozen=True)
class Recipe:
    """The hyperparameters of one cell, their origin (a key of `ORIGINS`) and their source.

    `options` is text that `write_options` returns. `source` is text for a reader.
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
        """Return one line for a reader that says where the values come from."""
        return ORIGINS[self.origin] + self.source


def recipe(
    model: str, dataset: str, split_scheme: str = "random", given: Mapping | None = None
) -> Recipe:
    """Return the hyperparameters of a cell. Values in `given` that are not `None` come first.

    The other values come from the first source that has the cell: the optimum that the paper
    prints; the file `recipes.csv`; the model's recipe for random splits. `recipes.csv` comes first
    if it has the result of a search, and the optimum is a misprint. If the paper prints an optimum
    without an option, the option comes from `recipes.csv` or is the default.
    """
    check_dataset(dataset)
    cell = (model_name(model), dataset, split_scheme)
    if split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", split_scheme, SPLIT_SCHEMES)
    values = {n: check_value(cell[0], n, v) for n, v in (given or {}).items() if v is not None}
    base, defaults = _recipe(cell), {"hidden": WIDTH}
    if base and not values:
        return base
    if base is None and not {"lr", "weight_decay", "dropout"} <= values.keys():
        raise UsageError(
            f"the paper has no hyperparameters for {cell[0]} on {dataset}: give lr, weight_decay"
            " and dropout"
        )
    source = f"{', '.join(values)} as given"
    if base:
        defaults = {name: getattr(base, name) for name in HYPERPARAMETERS}
        defaults |= read_options(base.model, base.options)
        if unchanged := ", ".join(name for name in defaults if name not in values):
            source += f"; {unchanged}: {base.sentence()}"
    return _make(cell, defaults | values, "given", source)


def _make(cell, values, origin, source) -> Recipe:
    model = cell[0]
    values = default_options(model) | {n: check_value(model, n, v) for n, v in values.items()}
    shared = [values.pop(name) for name in HYPERPARAMETERS]
    return Recipe(*cell, *shared, write_options(values), origin, source)


def _recipe(cell: tuple[str, str, str]) -> Recipe | None:
    model, dataset, split_scheme = cell
    if dataset == "synthetic":
        reason = "the values are in the ranges that the paper searched on its synthetic graphs"
        return _make(cell, SYNTHETIC, "chosen", reason)
    if dataset not in PAPER_DATASETS:
        return None
    published = _printed(cell) or _chosen(cell)
    if published or split_scheme == "random":
        return published
    if base := _recipe((model, dataset, "random")):
        source = f"the values are from the recipe for random splits ({base.sentence()})"
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
        return replace(search, source=f"{search.source}; replaces {row.source}: {remarks}")
    values = read_options(model, chosen["options"]) if chosen else default_options(model)
    names = {name.rstrip("_"): name for name in (*HYPERPARAMETERS, *MODELS[model].options)}
    printed = {name: getattr(row, field, None) for name, field in names.items()}
    printed = {name: value for name, value in printed.items() if value is not None}
    if unprinted := ", ".join(f"{n} {values[n]}" for n in sorted(values) if n not in printed):
        reason = f"chosen because {chosen['reason']}" if chosen else "the default"
        notes.append(f"not printed: {unprinted} ({reason})")
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
    # `status` is "searched" (the best validation accuracy in results/searches.csv), "chosen" (by
    # us, without a search), or "to_search" (chosen by us, but a search should replace the values).
    with Path(__file__).with_name("recipes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["model"], row["dataset"], row["split_scheme"]): row for row in rows}
