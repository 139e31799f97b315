"""Give the hyperparameters that a cell of the tables is trained with, and their source."""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.data.names import dataset as known_dataset
from acm.errors import UsageError, unknown
from acm.experiments.values import Value, check_option, check_shared
from acm.registry import MODELS, model_name


def default_options(model: str) -> dict[str, Value]:
    """Return the options of a model with their defaults, by their printed names: `lambda`."""
    return {name.rstrip("_"): value for name, value in MODELS[model].options.items()}


def write_options(values: Mapping[str, Value]) -> str:
    """Return the text of some options, sorted by name: `alpha=0.1 layers=2`."""
    return " ".join(f"{name}={values[name]}" for name in sorted(values))


def read_options(model: str, values: str | Mapping[str, object]) -> dict[str, Value]:
    """Return options, given by name or as a text of `write_options`, with the model's types.

    Raises:
        UsageError: If the model has no such option, or a value has the wrong type.
    """
    if isinstance(values, str):
        pairs = [part.partition("=") for part in values.split()]
        values = {name: value for name, _, value in pairs}
    defaults = default_options(model)
    for name in values:
        if not defaults:
            raise UsageError(f"{model} has no hyperparameters of its own, so no {name!r}")
        if name not in defaults:
            raise unknown("hyperparameter", name, defaults, f" of {model}")
    return {name: check_option(type(defaults[name]), name, value) for name, value in values.items()}


def complete_options(model: str, text: str) -> str:
    """Return the text with the defaults of the options that it leaves out."""
    return write_options(default_options(model) | read_options(model, text))


def arguments(model: str, text: str) -> dict[str, Value]:
    """Return the options of a text as keyword arguments of `acm.nn.build`: `lambda_`."""
    keywords = {name.rstrip("_"): name for name in MODELS[model].options}
    return {keywords[name]: value for name, value in read_options(model, text).items()}


def in_words(values: Mapping[str, Value]) -> str:
    """Return hyperparameters for people to read: `lr 0.01, weight decay 0.0005, jk cat`."""
    shown = {n: value if isinstance(value, str) else f"{value:g}" for n, value in values.items()}
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in shown.items())


SPLIT_SCHEMES = ("random", "fixed", "sparse")
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")

#: The hidden width in the tables of the paper's own models.
WIDTH = 64

#: The paper prints no optimum for its synthetic graphs; these values lie in its search ranges.
SYNTHETIC = {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.5, "hidden": WIDTH}

#: Where the values of a recipe come from, from the most to the least binding source.
ORIGINS = ("printed", "misprint", "searched", "chosen", "given")

#: Printed rows that a search by validation replaces.
_MISPRINTS = ("misprint", "row_of_another_model")


@dataclass(frozen=True)
class Recipe:
    """The hyperparameters of one cell.

    Attributes:
        model, dataset, split_scheme: The cell.
        lr, weight_decay, dropout, hidden: Hyperparameters that every model has.
        options: The hyperparameters of this model, as a text of `write_options`.
        origin: `"printed"` in the paper; `"misprint"`: printed, but most likely not what ran;
            `"searched"` by validation; `"chosen"` by us; `"given"` by the caller.
        source: The place of the print, or the reason for the choice.
        notes: Remarks on a printed row, for people.
        to_search: Whether a search by validation should replace the values.
        unprinted: Options that the paper leaves out of a printed row.
        unprinted_reason: Where the values of the unprinted options come from.
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
    notes: tuple[str, ...] = ()
    to_search: bool = False
    unprinted: tuple[str, ...] = ()
    unprinted_reason: str = ""

    def sentence(self) -> str:
        """Say in one line where the values come from. No program reads this line."""
        words = {
            "printed": f"printed: {self.source}",
            "misprint": f"printed, most likely a misprint: {self.source}",
            "searched": f"not published; {self.source}",
            "chosen": f"not published; chosen because {self.source}",
            "given": self.source,
        }
        parts = [words[self.origin], *self.notes]
        if self.unprinted:
            options = read_options(self.model, self.options)
            values = ", ".join(f"{name} {options[name]}" for name in self.unprinted)
            parts.append(f"not printed, {self.unprinted_reason}: {values}")
        return "; ".join(parts)


def recipe(model: str, dataset: str, split_scheme: str = "random") -> Recipe:
    """Return the hyperparameters that a cell is trained with.

    The first source that has the cell decides: the paper's printed optimum, unless it is a misprint
    and a search has replaced it; the file `recipes.csv`; the model's recipe for random splits. An
    option that a printed row lacks comes from the cell's row in `recipes.csv`, or is the default.

    Args:
        model: Name of the model, in any case.
        dataset: Name of the graph.
        split_scheme: `"random"`, `"fixed"` or `"sparse"`, see `Trial`.

    Raises:
        UsageError: If a name is unknown, or no source has hyperparameters for the cell.
    """
    known_dataset(dataset)
    model = model_name(model)
    if split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", split_scheme, SPLIT_SCHEMES)
    cell = (model, dataset, split_scheme)
    if dataset == "synthetic":
        reason = "they lie in the ranges that the paper searched on its synthetic graphs"
        return _make(cell, SYNTHETIC, {}, "chosen", reason)
    if dataset not in PAPER_DATASETS:
        raise _nothing(dataset, HYPERPARAMETERS)
    if first := _printed(cell) or _chosen(cell):
        return first
    if split_scheme == "random":
        raise UsageError(
            f"no hyperparameters of {model} on {dataset} are known: give lr, weight_decay and"
            " dropout"
        )
    base = recipe(model, dataset)
    return replace(
        base,
        split_scheme=split_scheme,
        origin="chosen",
        source=f"it is the recipe for random splits ({base.sentence()})",
        notes=(),
        to_search=True,
        unprinted=(),
    )


def complete(
    model: str, dataset: str, split_scheme: str, given: Mapping[str, Value | None]
) -> Recipe:
    """Return the recipe of a cell with the caller's values in place of its own.

    Args:
        model, dataset, split_scheme: As in `recipe`.
        given: Hyperparameters and options by name; a value of `None` is left to the recipe.

    Raises:
        UsageError: As `recipe`, if the given values do not suffice; or for an unknown name.
    """
    names = (*HYPERPARAMETERS, *default_options(model))
    for name in given:
        if name not in names:
            raise unknown("hyperparameter", name, names)
    given = {name: value for name, value in given.items() if value is not None}
    options = read_options(model, {n: v for n, v in given.items() if n not in HYPERPARAMETERS})
    shared = {n: check_shared(n, v) for n, v in given.items() if n in HYPERPARAMETERS}
    missing = [n for n in HYPERPARAMETERS if n not in shared and n != "hidden"]
    try:
        base = recipe(model, dataset, split_scheme)
    except UsageError:
        if missing and dataset not in PAPER_DATASETS:
            raise _nothing(dataset, missing) from None
        if missing:
            raise
        cell = (model, dataset, split_scheme)
        base = _make(cell, {"hidden": WIDTH} | shared, {}, "given", "")
    if not given:
        return base
    source = f"{', '.join(given)} as given"
    others = [name for name in names if name not in given]
    if others and base.origin != "given":
        unprinted = tuple(name for name in base.unprinted if name not in given)
        source += f"; {', '.join(others)}: {replace(base, unprinted=unprinted).sentence()}"
    return replace(
        base,
        **shared,
        options=write_options(read_options(model, base.options) | options),
        origin="given",
        source=source,
        notes=(),
        to_search=False,
        unprinted=(),
    )


def _nothing(dataset: str, missing) -> UsageError:
    missing = [name for name in missing if name != "hidden"]
    options = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
    return UsageError(
        f"the paper publishes nothing for {dataset}: give {' and '.join(missing)} as well"
        f" ({options})"
    )


def _make(cell, shared, options, origin, source, **fields) -> Recipe:
    return Recipe(
        *cell,
        lr=float(shared["lr"]),
        weight_decay=float(shared["weight_decay"]),
        dropout=float(shared["dropout"]),
        hidden=int(shared["hidden"]),
        options=write_options(default_options(cell[0]) | options),
        origin=origin,
        source=source,
        **fields,
    )


def _printed(cell: tuple[str, str, str]) -> Recipe | None:
    model = cell[0]
    try:
        row = paper.hyperparameters(*cell)
    except UsageError:
        return None
    if row.row_status == "untrainable":
        return None
    misprint = row.row_status in _MISPRINTS
    notes = tuple(note.text for note in row.notes if note.kind != "other_result")
    chosen = _chosen_rows().get(cell)
    if misprint and chosen and chosen["status"] == "searched":
        return replace(_chosen(cell), notes=(f"not as in {row.source}: {'; '.join(notes)}",))
    defaults = default_options(model)
    printed = {name: getattr(row, name) for name in ("layers", "heads", "jk", "alpha")}
    printed["lambda"] = row.lambda_
    options = {n: v for n, v in printed.items() if n in defaults and v is not None}
    unprinted = tuple(sorted(defaults.keys() - options.keys()))
    values = read_options(model, chosen["options"]) if chosen else defaults
    return _make(
        cell,
        {name: getattr(row, name) for name in HYPERPARAMETERS},
        {name: values[name] for name in unprinted} | options,
        "misprint" if misprint else "printed",
        row.source,
        notes=notes,
        to_search=misprint,
        unprinted=unprinted,
        unprinted_reason=f"chosen because {chosen['reason']}" if chosen else "the default",
    )


def _chosen(cell: tuple[str, str, str]) -> Recipe | None:
    model, _, split_scheme = cell
    rows = _chosen_rows()
    row = rows.get(cell) or rows.get((model, "*", split_scheme))
    if row is None:
        return None
    origin = "searched" if row["status"] == "searched" else "chosen"
    to_search = row["status"] == "to_search"
    options = read_options(model, row["options"])
    return _make(cell, row, options, origin, row["reason"], to_search=to_search)


@functools.cache
def _chosen_rows() -> dict[tuple[str, str, str], dict[str, str]]:
    # `status` is "searched" (the best by validation in results/searches.csv), "chosen", or
    # "to_search" (chosen until a search replaces the values).
    with (Path(__file__).parent / "recipes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["model"], row["dataset"], row["split_scheme"]): row for row in rows}
