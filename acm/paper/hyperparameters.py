"""Read the hyperparameters that the paper prints: the search ranges and the optima."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from acm.paper.tables import (
    PrintedValue,
    find,
    find_table,
    known_datasets,
    printed_values,
    records,
    tables,
    typed,
    unique,
)

_FIELDS = ("lr", "weight_decay", "dropout", "hidden", "lambda", "alpha", "heads", "layers", "jk")
_ALTERNATIVE = re.compile(r"(?P<deezer>.+) for Deezer-Europe and (?P<others>.+) for others")
#: The tables of each split scheme: "random" (60/20/20, with five splits of Deezer-Europe) and
#: "fixed" (the splits of Geom-GCN).
SPLIT_SCHEMES = {
    "random": ("hyperparameters_baselines", "hyperparameters_acm"),
    "fixed": ("hyperparameters_fixed",),
}
#: The values of `Hyperparameters.row_status`, with the remark that each adds to a row.
ROW_STATUSES = {
    "as_printed": "",
    "misprint": "without dropout the printed accuracies are not reached on most graphs: most likely"
    " a misprint",
    "row_of_another_model": "the whole row equals that of {row_of}, including the result: most"
    " likely a misprint",
    "likely_row_of_another_model": "the printed dropout is {dropout:g}, but all other rows of the"
    " model have dropout 0: most likely this is a row of {row_of}",
    "untrainable": "",  # the learning rate is 0
}


class SearchSpace(dict):
    """A mapping from each hyperparameter to the values that the paper tried.

    `source` names the printed row. `notes` lists the corrections of the printed text.
    """

    source: str
    notes: tuple[str, ...]


def search_space(table: str, model: str, dataset: str | None = None) -> SearchSpace:
    """Return the values of each hyperparameter that the paper tried (Appendix A.1 to A.3).

    Args:
        table: "synthetic", "ablation" or "real_world".
        model: The model's printed name; `acm.paper.table("ablation")` lists those of the ablation.
        dataset: One of the ten real graphs, needed for "real_world" only (Deezer-Europe differs).
    """
    by_name = {t.key.removeprefix("search_"): t for t in tables() if t.kind == "search"}
    source = by_name[find("search table", table, by_name)]
    rows = {
        name: record
        for record in records(source.key)
        for name in unique(f"{record['models']}; {record['inferred']}".split("; "))
    }
    model = find("model", model, rows, f" in table {source.key}")
    if source.key == "search_real_world":
        dataset = find("dataset", dataset, known_datasets(), " for ranges on real graphs")
    record, notes, space = rows[model], [], SearchSpace()
    for name in _FIELDS:
        text = record.get(name, "-")
        if record["damaged"] == name:
            notes.append(f"{name} is printed as {text}; we read '0,4' as 0.4")
            text = text.replace("0,4", "0.4")
        if alternative := _ALTERNATIVE.fullmatch(text):
            text = alternative["deezer" if dataset == "deezer-europe" else "others"]
        if text != "-":
            convert = {"jk": str, "hidden": int, "heads": int, "layers": int}.get(name, float)
            space[name] = [convert(item.strip()) for item in text.strip("{} ").split(",")]
    if model in record["inferred"].split("; "):
        notes.append(f"no printed row names {model}; we use the row of {record['models']}")
    space.source, space.notes = f'{source.place}, row "{record["row"]}"', tuple(notes)
    return space


class Note(NamedTuple):
    """A remark on a printed row: its kind, such as "outside_range", and its text."""

    kind: str
    text: str


@dataclass(frozen=True)
class Hyperparameters:
    """The printed optimum of one model on one data set; `None` marks values not printed."""

    model: str
    dataset: str
    split_scheme: str
    lr: float
    weight_decays: tuple[float, ...]  # several on Deezer-Europe
    dropout: float
    hidden: int
    results: float  # the accuracy in percent
    std: float  # the standard deviation of the accuracy
    source: str
    layers: int | None = None
    heads: int | None = None
    jk: str | None = None
    lambda_: float | None = None
    alpha: float | None = None
    epoch_ms: float | None = None  # the printed time of an epoch, in ms
    seconds: float | None = None  # the printed time of a run
    row_status: str = "as_printed"  # whether the row is a misprint, see `ROW_STATUSES`
    row_of: str = ""  # the model to which the row most likely belongs
    outside_range: tuple[str, ...] = ()  # hyperparameters outside the printed ranges
    not_in_model: tuple[str, ...] = ()  # printed hyperparameters that the model does not have
    notes: tuple[Note, ...] = ()

    @property
    def weight_decay(self) -> float:
        """Return the first printed weight decay."""
        return self.weight_decays[0]

    @property
    def epochs(self) -> float | None:
        """Return the epochs of a run, `seconds / epoch_ms`, or `None` if a time is not printed."""
        return 1000 * self.seconds / self.epoch_ms if self.seconds and self.epoch_ms else None


def _notes(row: Hyperparameters, record: dict[str, str]) -> tuple[Note, ...]:
    notes = []
    if len(row.weight_decays) > 1:
        text = f"weight_decay is printed as {record['weight_decay']}: we use the first"
        notes.append(Note("first_of_several", text))
    if text := ROW_STATUSES[row.row_status]:
        notes.append(Note(row.row_status, text.format(**vars(row))))
    for name in row.not_in_model:
        text = f"{name} {getattr(row, name)} is printed, but the model has no {name}"
        notes.append(Note("not_in_model", text))
    for name in row.outside_range:
        value = getattr(row, "lambda_" if name == "lambda" else name)
        if name == "weight_decay":
            tried = search_space("real_world", row.model, row.dataset)[name]
            value = ", ".join(str(decay) for decay in row.weight_decays if decay not in tried)
        notes.append(Note("outside_range", f"{name} {value} is outside the printed search range"))
    repeats = "fixed" if row.split_scheme == "fixed" else "sota"  # the table with the same results
    cell = _cells(repeats).get((row.model, row.dataset))
    if cell and (cell.mean, cell.std) != (row.results, row.std):
        text = f"this row prints the result {record['results']} ± {record['std']}"
        place = find_table(cell.table, "values").place
        notes.append(Note("other_result", f"{text}, but {place} prints {cell.shown}"))
    return tuple(notes)


@cache
def _cells(key: str) -> dict[tuple[str, str], PrintedValue]:
    return {(c.name, c.dataset): c for c in printed_values(key) if c.dataset}


@cache
def optima(key: str) -> tuple[Hyperparameters, ...]:
    """Return all rows of one of the three tables of hyperparameters."""
    place, rows = find_table(key, "hyperparameters").place, []
    for r in records(key):
        renamed = {
            "model": r["name"],
            "weight_decays": r["weight_decay"],
            "lambda_": r.get("lambda", ""),
            "seconds": r["total_s"],
            "source": f'{place}, {r["block"]}, row "{r["row"]}"',
        }
        row = typed(Hyperparameters, r | renamed)
        rows.append(replace(row, notes=_notes(row, r)))
    return tuple(rows)


def hyperparameters(model: str, dataset: str, split_scheme: str = "random") -> Hyperparameters:
    """Return the printed optimum of a model on a data set (Appendix A.4, or I for fixed splits).

    The split scheme is "random" or "fixed". If the paper does not print an optimum, a `UsageError`
    lists the models or data sets with one.
    """
    split_scheme = find("split scheme", split_scheme, SPLIT_SCHEMES)
    rows = [row for key in SPLIT_SCHEMES[split_scheme] for row in optima(key)]
    hint = f" among the printed optima for {split_scheme} splits"
    model = find("model", model, unique(row.model for row in rows), hint)
    by_dataset = {row.dataset: row for row in rows if row.model == model}
    return by_dataset[find("dataset", dataset, by_dataset, f" among the printed optima of {model}")]


def table(name: str) -> list[PrintedValue] | list[Hyperparameters]:
    """Return all cells of a table of values, or all rows of a table of hyperparameters."""
    source = find_table(name, "values", "hyperparameters")
    return list((printed_values if source.kind == "values" else optima)(source.key))
