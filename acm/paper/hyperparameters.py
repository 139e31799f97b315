"""The hyperparameters that the paper reports as optimal, with what is odd about them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

from acm.errors import UsageError
from acm.paper.tables import (
    PrintedValue,
    Table,
    find,
    find_table,
    fold,
    known_datasets,
    known_models,
    printed,
    records,
    tables,
    unique,
)

_FIELDS = ("lr", "weight_decay", "dropout", "hidden", "lambda", "alpha", "heads", "layers", "jk")
_WHOLE = ("hidden", "heads", "layers")
_ALTERNATIVE = re.compile(r"(?P<deezer>.+) for Deezer-Europe and (?P<others>.+) for others")


class SearchSpace(dict):
    """The values tried, by hyperparameter; `source` and `notes` say where they stand, how read."""

    def __init__(self, values: dict[str, list], source: str, notes: tuple[str, ...]):
        super().__init__(values)
        self.source = source
        self.notes = notes


def parse_range(text: str, whole: bool = False) -> list[float] | list[int] | list[str]:
    """The values of a printed range, such as "{0.01, 0.05}", "64" or "{max, cat}"; of "-", none."""
    items = [item.strip() for item in text.strip("{} ").split(",")]
    if items == ["-"]:
        return []
    try:
        return [int(item) if whole else float(item) for item in items]
    except ValueError:
        return list(items)


def _values(record: dict[str, str], field: str, dataset: str | None) -> list:
    text = record[field]
    if field == "alpha" and record["damaged"] == "alpha":
        text = text.replace("0,4", "0.4")
    if split := _ALTERNATIVE.fullmatch(text):
        text = split["deezer" if dataset == "deezer-europe" else "others"]
    return parse_range(text, field in _WHOLE)


def space(table: Table, record: dict[str, str], model: str, dataset: str | None) -> SearchSpace:
    """One printed row of ranges for one model and data set."""
    values = {f: _values(record, f, dataset) for f in _FIELDS if f in record}
    notes = []
    if record["damaged"]:
        printed = record[record["damaged"]]
        notes.append(f"{record['damaged']} is printed {printed}, read with 0.4 for '0,4'")
    if model in record["inferred"].split("; "):
        notes.append(f"the paper names no row for {model}; taken from that of {record['models']}")
    return SearchSpace(
        {field: found for field, found in values.items() if found},
        f'{table.place}, row "{record["row"]}"',
        tuple(notes),
    )


def search_space(table: str, model: str, dataset: str | None = None) -> SearchSpace:
    """The hyperparameters that the paper tried (Appendix A.1 to A.3).

    Args:
        table: "synthetic", "ablation" or "real_world" (or the full key, "search_synthetic", …).
        model: As in the results; the ablation's are named as in `acm.paper.table("ablation")`.
        dataset: One of the ten real graphs; needed for "real_world", whose ranges differ for
            deezer-europe, and without effect in the two others.

    Returns:
        A dictionary from "lr", "weight_decay", "dropout", "hidden", "lambda", "alpha", "heads",
        "layers", "jk" to the list of values; what the paper marks "-" is left out.

    Raises:
        UsageError: For an unknown table, model or data set.
    """
    short = {t.key.removeprefix("search_"): t for t in tables() if t.kind == "search"}
    full = str(table).casefold()
    found = short[find("search table", full.removeprefix("search_"), short)]
    rows = {
        name: record
        for record in records(found.key)
        for name in f"{record['models']}; {record['inferred']}".split("; ")
        if name
    }
    model = find("model", model, rows, f" in table {found.key}")
    if dataset is not None and (found.key == "search_real_world" or dataset != "synthetic"):
        dataset = find("dataset", dataset, known_datasets())
    elif found.key == "search_real_world":
        raise UsageError(
            "the ranges on real graphs depend on the graph: give dataset, one of "
            + ", ".join(known_datasets())
        )
    return space(found, rows[model], model, dataset)


def all_rows(key: str) -> list[SearchSpace]:
    """Every row of a table of ranges, for its first model and the graphs other than Deezer."""
    table = find_table(key, "search")
    return [space(table, r, r["models"].split("; ")[0], None) for r in records(table.key)]


#: The tables of each split scheme: "random" (60/20/20; Deezer's five) and "fixed" (Geom-GCN).
SPLIT_SCHEMES = {
    "random": ("hyperparameters_baselines", "hyperparameters_acm"),
    "fixed": ("hyperparameters_fixed",),
}
#: Where the same results are printed as results.
RESULTS = {"random": "sota", "fixed": "fixed"}
_COMPARED = ("lr", "weight_decay", "dropout", "hidden", "layers", "results", "std")


@dataclass(frozen=True)
class Hyperparameters:
    """The published optimum of one model on one data set.

    `weight_decay` is the first of `weight_decays`: on Deezer-Europe the paper prints several. What
    it does not print, or marks "-", is `None`. `notes` tells what a reader should know of the row.
    `epoch_ms` and `seconds` are what an epoch and a run took on the paper's GPU.
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
    notes: tuple[str, ...]
    weight_decays: tuple[float, ...] = ()
    epoch_ms: float | None = None
    seconds: float | None = None
    result: PrintedValue | None = field(default=None, repr=False)

    @property
    def epochs(self) -> float | None:
        """How many epochs a run took, by its two times; `None` without them."""
        return 1000 * self.seconds / self.epoch_ms if self.seconds and self.epoch_ms else None


def _optional(text: str | None, kind: type) -> object:
    return None if text in (None, "", "-") else kind(text)


def _same_row(record: dict[str, str]) -> str | None:
    """The ACM model whose whole row, result included, is that of a baseline's (PubMed's SGC)."""
    for other in records("hyperparameters_acm"):
        if other["dataset"] == record["dataset"] and other["name"] == f"ACM-{record['name']}":
            if all(other[key] == record[key] for key in _COMPARED):
                return other["name"]
    return None


def _notes(record: dict[str, str], split_scheme: str, found: dict[str, object]) -> list[str]:
    name, dataset = record["name"], record["dataset"]
    notes = []
    decays = found["weight_decays"]
    if len(decays) > 1:
        notes.append(f"weight_decay is printed as {record['weight_decay']}: the first is used")
    if split_scheme == "random" and (twin := _same_row(record)):
        notes.append(f"the whole row is that of {twin}, result included: most likely a slip")
    elif name.startswith("SGC") and found["dropout"]:
        notes.append(
            f"dropout {found['dropout']:g} is printed for a model whose other rows have none: most"
            f" likely this is a row of ACM-{name}"
        )
    if split_scheme == "random" and name == "FAGCN" and float(record["dropout"]) == 0:
        # Its release has 0.5, and so may have what ran.
        notes.append(
            "without dropout the printed accuracies are not reached on most graphs: most likely a"
            " slip"
        )
    for key, kind in (("heads", "GAT"), ("jk", "JK")):
        if found[key] is not None and kind not in name:
            notes.append(f"{key} {found[key]} is printed for a model that has none")
    try:
        space = search_space("real_world", name, dataset)
    except UsageError:
        space = {}  # APPNP and GPRGNN have no printed range
    for key, values in space.items():
        own = decays if key == "weight_decay" else (found.get(key, found.get(f"{key}_")),)
        out = [v for v in own if v is not None and v not in values]
        if out:
            notes.append(f"{key} {', '.join(map(str, out))} is outside the printed search range")
    try:
        cell = printed(RESULTS[split_scheme], model=name, dataset=dataset)
    except UsageError:
        return notes
    if (cell.mean, cell.std) != (float(record["results"]), float(record["std"])):
        notes.append(
            f"the result beside it is {record['results']} ± {record['std']}, "
            f"but {cell.shown} in {find_table(cell.table).place}"
        )
    return notes


def _read(table: Table, record: dict[str, str], split_scheme: str) -> Hyperparameters:
    decays = tuple(float(item) for item in record["weight_decay"].split(","))
    found: dict[str, object] = {
        "lr": float(record["lr"]),
        "weight_decays": decays,
        "weight_decay": decays[0],
        "dropout": float(record["dropout"]),
        "hidden": int(record["hidden"]),
        "layers": _optional(record.get("layers"), int),
        "heads": _optional(record.get("heads"), int),
        "jk": _optional(record.get("jk"), str),
        "lambda_": _optional(record.get("lambda"), float),
        "alpha": _optional(record.get("alpha"), float),
        "epoch_ms": _optional(record.get("epoch_ms"), float),
        "seconds": _optional(record.get("total_s"), float),
    }
    return Hyperparameters(
        model=record["name"],
        dataset=record["dataset"],
        split_scheme=split_scheme,
        source=f'{table.place}, {record["block"]}, row "{record["row"]}"',
        notes=tuple(_notes(record, split_scheme, found)),
        result=printed(table.key, model=record["name"], dataset=record["dataset"]),
        **found,
    )


@cache
def all_rows__optima(key: str) -> tuple[Hyperparameters, ...]:
    """Every row of one of the three tables of hyperparameters."""
    split_scheme = next(p for p, keys in SPLIT_SCHEMES.items() if key in keys)
    return tuple(_read(find_table(key), record, split_scheme) for record in records(key))


def hyperparameters(model: str, dataset: str, split_scheme: str = "random") -> Hyperparameters:
    """The published optimum for a model on a data set (Appendix A.4; fixed splits: Appendix I).

    Args:
        model: As the paper prints it, "ACM-GCN" say; case does not matter.
        dataset: One of the paper's ten graphs.
        split_scheme: "random" or "fixed" splits.

    Returns:
        The hyperparameters with their source, and notes on whatever is odd about the row.

    Raises:
        UsageError: For an unknown name, or a cell for which the paper publishes none.
    """
    split_scheme = find("split scheme", split_scheme, SPLIT_SCHEMES)
    there = [(key, r) for key in SPLIT_SCHEMES[split_scheme] for r in records(key)]
    graph, row = fold(dataset), fold(model)
    for key, record in there:
        if record["dataset"] == graph and fold(record["name"]) == row:
            return _read(find_table(key), record, split_scheme)
    model = find("model", model, known_models())
    datasets = unique(r["dataset"] for _, r in there if r["name"] == model)
    if not datasets:
        raise UsageError(
            f"the paper publishes no hyperparameters of {model} for {split_scheme} splits: give "
            "lr, weight_decay and dropout; it does for: "
            + ", ".join(unique(r["name"] for _, r in there))
        )
    elsewhere = " (on graphs that are not the paper's, give lr, weight_decay and dropout)"
    dataset = find("dataset", dataset, known_datasets(), elsewhere)
    raise UsageError(
        f"the paper publishes no hyperparameters of {model} on {dataset} for {split_scheme} "
        f"splits: give lr, weight_decay and dropout; it does on: {', '.join(datasets)}"
    )
