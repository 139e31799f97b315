"""What a cell of the tables is trained with, and where that comes from."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path

from acm import paper
from acm.data.names import PAPER_DATASETS, check_whole
from acm.data.names import dataset as known_dataset
from acm.errors import UsageError, unknown
from acm.nn.checks import as_float
from acm.registry import MODELS, model_name

Value = int | float | str

#: More layers, heads or steps than these are a slip of the hand, and would be built for hours.
MOST = 10_000


def default_options(model: str) -> dict[str, Value]:
    """A model's own hyperparameters with their defaults, by the names of the tables: `lambda`."""
    return {name.rstrip("_"): value for name, value in MODELS[model].options.items()}


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
    return write_options(default_options(model) | read_options(model, text))


def check_options(model: str, values: Mapping[str, object]) -> dict[str, Value]:
    """The values, each of the kind that the model's default is of.

    Raises:
        UsageError: As `read_options`.
    """
    known, found = default_options(model), {}
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
    spelling = {name.rstrip("_"): name for name in MODELS[model].options}
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


SPLIT_SCHEMES = ("random", "fixed", "sparse")
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")

#: The one hidden width that the tables of the paper's own models have.
WIDTH = 64

#: The paper publishes no optimum for its synthetic graphs; these lie in the ranges it searched.
SYNTHETIC = {"lr": 0.05, "weight_decay": 5e-4, "dropout": 0.5, "hidden": WIDTH}

#: More than these is a slip of the hand, and would fill the memory before it fails.
MOST_HIDDEN = 1_000_000

#: Where values come from, from what binds most to what binds least.
ORIGINS = ("published", "slip", "searched", "chosen", "given")


@dataclass(frozen=True)
class Recipe:
    """The hyperparameters of a cell.

    Attributes:
        model, dataset, split_scheme: The cell.
        lr, weight_decay, dropout, hidden: Hyperparameters that every model has.
        options: The model's own, see `acm.experiments.recipes`.
        origin: `"published"`; `"slip"`: published, but most likely another row's; `"searched"` by
            validation, or `"chosen"` by us, where the paper publishes none, or a slip; or `"given"`
            by the caller.
        source: Where they stand, or why they were chosen.
        notes: What else to know: values out of the printed range, several values in one workers.
        search: Whether a search by validation is to replace what is here.
        left: Which of its own the paper leaves out where it publishes the others.
        why: Where these come from.
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
    search: bool = False
    left: tuple[str, ...] = ()
    why: str = ""

    def sentence(self) -> str:
        """Where the values come from, in one line."""
        words = {
            "published": f"published: {self.source}",
            "slip": f"published, most likely by a slip: {self.source}",
            "searched": f"not published; {self.source}",
            "chosen": f"not published; chosen because {self.source}",
            "given": self.source,
        }
        more = "".join(f"; {note}" for note in self.notes)
        if self.left:
            values = read_options(self.model, self.options)
            said = ", ".join(f"{name} {values[name]}" for name in self.left)
            more += f"; not printed, {self.why}: {said}"
        return words[self.origin] + more + ("; to be searched" if self.search else "")


def recipe(model: str, dataset: str, split_scheme: str = "random") -> Recipe:
    """What a cell is trained with, and where that comes from.

    In this order: the paper's optimum, unless it is a slip and a search has found another; what
    we chose where it publishes none, from the data file `recipes.csv`, with the reason; on other
    splits the model's recipe for random ones. What an optimum leaves out is what `recipes.csv` has
    for the very cell, or the model's default.

    Args:
        model: Name of the model, in any case.
        dataset: Name of the graph.
        split_scheme: `"random"`, `"fixed"` or `"sparse"` splits, see `Trial`.

    Raises:
        UsageError: If a name is unknown, or nothing is known for a graph or a model that is not of
            the paper.
    """
    known_dataset(dataset)
    model = model_name(model)
    if split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", split_scheme, SPLIT_SCHEMES)
    if dataset == "synthetic":
        why = "they lie in the ranges that the paper searched on its synthetic graphs"
        return _made(model, dataset, split_scheme, SYNTHETIC, {}, "chosen", why)
    if dataset not in PAPER_DATASETS:
        raise _nothing(dataset, HYPERPARAMETERS)
    for found in (_published, _chosen):
        if there := found(model, dataset, split_scheme):
            return there
    if split_scheme != "random":
        there = recipe(model, dataset, "random")
        why = f"it is the recipe for random splits ({there.sentence().removesuffix(_TO_DO)})"
        return replace(
            there,
            split_scheme=split_scheme,
            origin="chosen",
            source=why,
            notes=(),
            search=True,
            left=(),
        )
    raise UsageError(
        f"no hyperparameters of {model} on {dataset} are known: give lr, weight_decay and dropout"
    )


_TO_DO = "; to be searched"


def complete(
    model: str, dataset: str, split_scheme: str, given: Mapping[str, Value | None]
) -> Recipe:
    """The recipe of a cell, in which what is given replaces what it has.

    Args:
        model, dataset, split_scheme: As in `recipe`.
        given: Any hyperparameters by name, the model's own among them; `None` counts as not given.

    Raises:
        UsageError: As `recipe`, if what is given does not suffice; or if it is no hyperparameter.
    """
    known = (*HYPERPARAMETERS, *default_options(model))
    for name in given:
        if name not in known:
            raise unknown("hyperparameter", name, known)
    given = {name: value for name, value in given.items() if value is not None}
    options = check_options(model, {n: v for n, v in given.items() if n not in HYPERPARAMETERS})
    shared = {n: check(n, v) for n, v in given.items() if n in HYPERPARAMETERS}
    missing = [n for n in HYPERPARAMETERS if n not in shared and n != "hidden"]
    try:
        base = recipe(model, dataset, split_scheme)
    except UsageError:
        if missing and dataset not in PAPER_DATASETS:
            raise _nothing(dataset, missing) from None
        if missing:
            raise
        base = _made(model, dataset, split_scheme, {"hidden": WIDTH} | shared, {}, "given", "")
    if not given:
        return base
    values = read_options(model, base.options) | options
    rest = [n for n in (*HYPERPARAMETERS, *default_options(model)) if n not in given]
    source = f"{', '.join(given)} as given"
    if rest and base.origin != "given":
        others = replace(base, left=tuple(name for name in base.left if name not in given))
        source += f"; {', '.join(rest)}: {others.sentence()}"
    return replace(
        base, **shared, options=write_options(values), origin="given", source=source, notes=(),
        search=False, left=(),
    )  # fmt: skip


def check(name: str, value: object) -> float | int:
    """A hyperparameter that every model has, if it is a number in its range.

    Raises:
        UsageError: If it is not.
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


def _nothing(dataset: str, missing) -> UsageError:
    missing = [name for name in missing if name != "hidden"]
    options = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
    return UsageError(
        f"the paper publishes nothing for {dataset}: give {' and '.join(missing)} as well"
        f" ({options})"
    )


def _made(model, dataset, split_scheme, shared, options, origin, source, notes=(), search=False):
    return Recipe(
        model,
        dataset,
        split_scheme,
        float(shared["lr"]),
        float(shared["weight_decay"]),
        float(shared["dropout"]),
        int(shared["hidden"]),
        write_options(default_options(model) | options),
        origin,
        source,
        tuple(notes),
        search,
    )


def _published(model: str, dataset: str, split_scheme: str) -> Recipe | None:
    try:
        row = paper.hyperparameters(model, dataset, split_scheme)
    except UsageError:
        return None
    shared = {name: getattr(row, name) for name in HYPERPARAMETERS}
    printed = {name.rstrip("_"): getattr(row, name) for name in ("layers", "heads", "jk", "alpha")}
    printed["lambda"] = row.lambda_
    known = default_options(model)
    options = {n: v for n, v in printed.items() if n in known and v is not None}
    slip = any("most likely a slip" in note for note in row.notes)
    notes = [n for n in row.notes if not n.startswith("the result beside")]
    if row.lr == 0:  # FAGCN on Squirrel, fixed splits
        return None
    if slip and (better := _chosen(model, dataset, split_scheme)) and better.origin == "searched":
        return replace(better, notes=(f"not as in {row.source}: {'; '.join(notes)}",))
    left = sorted(name for name in known if name not in options)
    chosen = _chosen_rows().get((model, dataset, split_scheme))
    values = read_options(model, chosen["options"]) if chosen else known
    options |= {name: values[name] for name in left}
    origin = "slip" if slip else "published"
    made = _made(model, dataset, split_scheme, shared, options, origin, row.source, notes, slip)
    why = f"chosen because {chosen['reason']}" if chosen else "the default"
    return replace(made, left=tuple(left), why=why)


def _chosen(model: str, dataset: str, split_scheme: str) -> Recipe | None:
    there = _chosen_rows()
    row = there.get((model, dataset, split_scheme)) or there.get((model, "*", split_scheme))
    if row is None:
        return None
    return _made(
        model,
        dataset,
        split_scheme,
        row,
        read_options(model, row["options"]),
        "searched" if row["search"] == "done" else "chosen",
        row["reason"],
        search=row["search"] == "yes",
    )


# The column `search` says whether a search is to replace a row ("yes"), has found it ("done": the
# best by validation in results/searches.csv), or is not needed ("no").
@functools.cache
def _chosen_rows() -> dict[tuple[str, str, str], dict[str, str]]:
    with (Path(__file__).parent / "recipes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["model"], row["dataset"], row["split_scheme"]): row for row in rows}
