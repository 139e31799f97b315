"""Read the hyperparameters that the paper prints: its search ranges and its optima."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from acm.errors import UsageError
from acm.paper.tables import (
    PrintedValue,
    Table,
    find,
    find_table,
    integer,
    known_datasets,
    known_models,
    number,
    printed_values,
    records,
    tables,
    unique,
)

_FIELDS = ("lr", "weight_decay", "dropout", "hidden", "lambda", "alpha", "heads", "layers", "jk")
_WHOLE = ("hidden", "heads", "layers")
_ALTERNATIVE = re.compile(r"(?P<deezer>.+) for Deezer-Europe and (?P<others>.+) for others")
#: The tables of each split scheme: "random" (60/20/20; Deezer's five) and "fixed" (Geom-GCN).
SPLIT_SCHEMES = {
    "random": ("hyperparameters_baselines", "hyperparameters_acm"),
    "fixed": ("hyperparameters_fixed",),
}
#: The table that prints the same results once more.
_RESULTS = {"random": "sota", "fixed": "fixed"}
#: The values of `Hyperparameters.row_status`.
ROW_STATUSES = (
    "as_printed",
    "misprint",
    "row_of_another_model",
    "likely_row_of_another_model",
    "untrainable",
)


class SearchSpace(dict):
    """The values that the paper tried, by hyperparameter.

    `source` names the printed row; `notes` says where the reading differs from the print.
    """

    def __init__(self, values: dict[str, list], source: str, notes: tuple[str, ...]):
        super().__init__(values)
        self.source = source
        self.notes = notes


def _parse_range(text: str, whole: bool) -> list[float] | list[int] | list[str]:
    """Return the values of "{0.01, 0.05}", "64" or "{max, cat}"; none for "-"."""
    items = [item.strip() for item in text.strip("{} ").split(",")]
    if items == ["-"]:
        return []
    try:
        return [int(item) if whole else float(item) for item in items]
    except ValueError:
        return items


def _space(table: Table, record: dict[str, str], model: str, dataset: str | None) -> SearchSpace:
    values, notes = {}, []
    for name in (name for name in _FIELDS if name in record):
        text = record[name]
        if record["damaged"] == name:
            notes.append(f"{name} is printed {text}, read with 0.4 for '0,4'")
            text = text.replace("0,4", "0.4")
        if alternative := _ALTERNATIVE.fullmatch(text):
            text = alternative["deezer" if dataset == "deezer-europe" else "others"]
        if items := _parse_range(text, name in _WHOLE):
            values[name] = items
    if model in record["inferred"].split("; "):
        notes.append(f"the paper names no row for {model}; taken from that of {record['models']}")
    return SearchSpace(values, f'{table.place}, row "{record["row"]}"', tuple(notes))


def search_space(table: str, model: str, dataset: str | None = None) -> SearchSpace:
    """Return the hyperparameters that the paper tried (Appendix A.1 to A.3).

    Args:
        table: "synthetic", "ablation" or "real_world", or the full key "search_synthetic", ….
        model: The model's printed name; `acm.paper.table("ablation")` has those of the ablation.
        dataset: One of the ten real graphs. Only "real_world" needs it, since its ranges differ
            for deezer-europe.

    Returns:
        The list of values for each of "lr", "weight_decay", "dropout", "hidden", "lambda",
        "alpha", "heads", "layers" and "jk" that the paper does not mark "-".

    Raises:
        UsageError: For an unknown table, model or data set.
    """
    by_name = {t.key.removeprefix("search_"): t for t in tables() if t.kind == "search"}
    name = str(table).casefold().removeprefix("search_")
    source = by_name[find("search table", name, by_name)]
    rows = {
        name: record
        for record in records(source.key)
        for name in f"{record['models']}; {record['inferred']}".split("; ")
        if name
    }
    model = find("model", model, rows, f" in table {source.key}")
    real_world = source.key == "search_real_world"
    if dataset is not None and (real_world or dataset != "synthetic"):
        dataset = find("dataset", dataset, known_datasets())
    elif real_world:
        raise UsageError(
            "the ranges on real graphs depend on the graph: give dataset, one of "
            + ", ".join(known_datasets())
        )
    return _space(source, rows[model], model, dataset)


def search_spaces(key: str) -> list[SearchSpace]:
    """Return every row of a table of ranges, for its first model and graphs other than Deezer."""
    table = find_table(key, "search")
    return [_space(table, r, r["models"].split("; ")[0], None) for r in records(table.key)]


class Note(NamedTuple):
    """A remark on a printed row: its kind, and a sentence for people.

    `kind` is "first_of_several", "misprint", "row_of_another_model", "likely_row_of_another_model",
    "not_in_model", "outside_range" or "other_result".
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Hyperparameters:
    """The printed optimum of one model on one data set.

    `weight_decay` is the first of `weight_decays`, since the paper prints several on
    Deezer-Europe. A value that the paper does not print is `None`. `epoch_ms` and `seconds` are
    the times of an epoch and of a run on the paper's GPU.

    `row_status` says whether the row can be what ran: "as_printed", "misprint",
    "row_of_another_model" (the whole row equals that of `row_of`), "likely_row_of_another_model"
    (its dropout fits `row_of` only) or "untrainable" (the learning rate is 0). `outside_range`
    lists the hyperparameters outside the printed ranges, `not_in_model` those the model lacks.
    """

    model: str
    dataset: str
    split_scheme: str
    lr: float
    weight_decay: float
    dropout: float
    hidden: int
    layers: int | None
    heads: int | None
    jk: str | None
    lambda_: float | None
    alpha: float | None
    source: str
    notes: tuple[Note, ...]
    weight_decays: tuple[float, ...] = ()
    epoch_ms: float | None = None
    seconds: float | None = None
    result: PrintedValue | None = field(default=None, repr=False)
    row_status: str = "as_printed"
    row_of: str = ""
    outside_range: tuple[str, ...] = ()
    not_in_model: tuple[str, ...] = ()

    @property
    def epochs(self) -> float | None:
        """Return how many epochs a run took by its two times, or `None` without them."""
        return 1000 * self.seconds / self.epoch_ms if self.seconds and self.epoch_ms else None


def _notes(record: dict[str, str], values: dict[str, object]) -> tuple[Note, ...]:
    notes = []
    if len(values["weight_decays"]) > 1:
        text = f"weight_decay is printed as {record['weight_decay']}: the first is used"
        notes.append(Note("first_of_several", text))
    status, other = values["row_status"], values["row_of"]
    words = {
        "misprint": "without dropout the printed accuracies are not reached on most graphs: most"
        " likely a misprint",
        "row_of_another_model": f"the whole row is that of {other}, result included: most likely"
        " a misprint",
        "likely_row_of_another_model": f"dropout {values['dropout']:g} is printed for a model whose"
        f" other rows have none: most likely this is a row of {other}",
    }
    if status in words:
        notes.append(Note(status, words[status]))
    for name in values["not_in_model"]:
        text = f"{name} {values[name]} is printed for a model that has none"
        notes.append(Note("not_in_model", text))
    for name in values["outside_range"]:
        printed_as = values["lambda_" if name == "lambda" else name]
        if name == "weight_decay":
            space = search_space("real_world", record["name"], record["dataset"])
            outside = [v for v in values["weight_decays"] if v not in space[name]]
            printed_as = ", ".join(map(str, outside))
        notes.append(
            Note("outside_range", f"{name} {printed_as} is outside the printed search range")
        )
    cell = _cells(_RESULTS[record["split_scheme"]]).get((record["name"], record["dataset"]))
    if cell and (cell.mean, cell.std) != (float(record["results"]), float(record["std"])):
        result = f"{record['results']} ± {record['std']}"
        place = find_table(cell.table).place
        text = f"the result in this row is {result}, but {cell.shown} in {place}"
        notes.append(Note("other_result", text))
    return tuple(notes)


@cache
def _cells(key: str) -> dict[tuple[str, str], PrintedValue]:
    """Return the accuracies of a table by model and data set."""
    return {(c.name, c.dataset): c for c in printed_values(key) if c.dataset and c.unit == "%"}


@cache
def optima(key: str) -> tuple[Hyperparameters, ...]:
    """Return every row of one of the three tables of hyperparameters."""
    table = find_table(key, "hyperparameters")
    rows = []
    for record in records(table.key):
        decays = tuple(float(item) for item in record["weight_decay"].split(","))
        jk = record.get("jk", "-")
        values: dict[str, object] = {
            "lr": float(record["lr"]),
            "weight_decay": decays[0],
            "dropout": float(record["dropout"]),
            "hidden": int(record["hidden"]),
            "layers": integer(record.get("layers")),
            "heads": integer(record.get("heads")),
            "jk": None if jk == "-" else jk,
            "lambda_": number(record.get("lambda")),
            "alpha": number(record.get("alpha")),
            "weight_decays": decays,
            "epoch_ms": number(record["epoch_ms"]),
            "seconds": number(record["total_s"]),
            "row_status": record["row_status"],
            "row_of": record["row_of"],
            "outside_range": tuple(unique(record["outside_range"].split("; "))),
            "not_in_model": tuple(unique(record["not_in_model"].split("; "))),
        }
        rows.append(
            Hyperparameters(
                model=record["name"],
                dataset=record["dataset"],
                split_scheme=record["split_scheme"],
                source=f'{table.place}, {record["block"]}, row "{record["row"]}"',
                notes=_notes(record, values),
                result=_cells(table.key)[record["name"], record["dataset"]],
                **values,
            )
        )
    return tuple(rows)


@cache
def _by_cell(split_scheme: str) -> dict[tuple[str, str], Hyperparameters]:
    keys = SPLIT_SCHEMES[split_scheme]
    return {(row.model, row.dataset): row for key in keys for row in optima(key)}


def hyperparameters(model: str, dataset: str, split_scheme: str = "random") -> Hyperparameters:
    """Return the printed optimum of a model on a data set (Appendix A.4; fixed splits: I).

    Args:
        model: The printed name, "ACM-GCN" say, in any case.
        dataset: One of the paper's ten graphs.
        split_scheme: "random" or "fixed".

    Raises:
        UsageError: For an unknown name, or a cell for which the paper prints no optimum.
    """
    split_scheme = find("split scheme", split_scheme, SPLIT_SCHEMES)
    rows = _by_cell(split_scheme)
    model = find("model", model, known_models())
    datasets = [row.dataset for row in rows.values() if row.model == model]
    if not datasets:
        raise UsageError(
            f"the paper publishes no hyperparameters of {model} for {split_scheme} splits: give "
            "lr, weight_decay and dropout; it does for: "
            + ", ".join(unique(row.model for row in rows.values()))
        )
    elsewhere = " (on graphs that are not the paper's, give lr, weight_decay and dropout)"
    dataset = find("dataset", dataset, known_datasets(), elsewhere)
    if (model, dataset) not in rows:
        raise UsageError(
            f"the paper publishes no hyperparameters of {model} on {dataset} for {split_scheme} "
            f"splits: give lr, weight_decay and dropout; it does on: {', '.join(datasets)}"
        )
    return rows[model, dataset]
