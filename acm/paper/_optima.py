"""The hyperparameters that the paper reports as optimal, with what is odd about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from acm.errors import UsageError
from acm.paper._ranges import search_space
from acm.paper._rows import (
    Table,
    find,
    find_table,
    fold,
    known_datasets,
    known_models,
    records,
    unique,
)
from acm.paper._values import Published, published

#: The tables of each protocol: "random" 60/20/20 splits (Deezer's own five), "fixed" Geom-GCN ones.
PROTOCOLS = {
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
    protocol: str
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
    result: Published | None = field(default=None, repr=False)

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


def _notes(record: dict[str, str], protocol: str, found: dict[str, object]) -> list[str]:
    name, dataset = record["name"], record["dataset"]
    notes = []
    decays = found["weight_decays"]
    if len(decays) > 1:
        notes.append(f"weight_decay is printed as {record['weight_decay']}: the first is used")
    if protocol == "random" and (twin := _same_row(record)):
        notes.append(f"the whole row is that of {twin}, result included: most likely a slip")
    elif name.startswith("SGC") and found["dropout"]:
        notes.append(
            f"dropout {found['dropout']:g} is printed for a model whose other rows have none: most"
            f" likely this is a row of ACM-{name}"
        )
    if protocol == "random" and name == "FAGCN" and float(record["dropout"]) == 0:
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
        cell = published(RESULTS[protocol], model=name, dataset=dataset)
    except UsageError:
        return notes
    if (cell.mean, cell.std) != (float(record["results"]), float(record["std"])):
        notes.append(
            f"the result beside it is {record['results']} ± {record['std']}, "
            f"but {cell.shown} in {find_table(cell.table).place}"
        )
    return notes


def _read(table: Table, record: dict[str, str], protocol: str) -> Hyperparameters:
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
        protocol=protocol,
        source=f'{table.place}, {record["block"]}, row "{record["row"]}"',
        notes=tuple(_notes(record, protocol, found)),
        result=published(table.key, model=record["name"], dataset=record["dataset"]),
        **found,
    )


@cache
def all_rows(key: str) -> tuple[Hyperparameters, ...]:
    """Every row of one of the three tables of hyperparameters."""
    protocol = next(p for p, keys in PROTOCOLS.items() if key in keys)
    return tuple(_read(find_table(key), record, protocol) for record in records(key))


def hyperparameters(model: str, dataset: str, protocol: str = "random") -> Hyperparameters:
    """The published optimum for a model on a data set (Appendix A.4; fixed splits: Appendix I).

    Args:
        model: As the paper prints it, "ACM-GCN" say; case does not matter.
        dataset: One of the paper's ten graphs.
        protocol: "random" or "fixed" splits.

    Returns:
        The hyperparameters with their source, and notes on whatever is odd about the row.

    Raises:
        UsageError: For an unknown name, or a cell for which the paper publishes none.
    """
    protocol = find("protocol", protocol, PROTOCOLS)
    there = [(key, r) for key in PROTOCOLS[protocol] for r in records(key)]
    graph, row = fold(dataset), fold(model)
    for key, record in there:
        if record["dataset"] == graph and fold(record["name"]) == row:
            return _read(find_table(key), record, protocol)
    model = find("model", model, known_models())
    datasets = unique(r["dataset"] for _, r in there if r["name"] == model)
    if not datasets:
        raise UsageError(
            f"the paper publishes no hyperparameters of {model} for {protocol} splits: give lr, "
            "weight_decay and dropout; it does for: "
            + ", ".join(unique(r["name"] for _, r in there))
        )
    elsewhere = " (on graphs that are not the paper's, give lr, weight_decay and dropout)"
    dataset = find("dataset", dataset, known_datasets(), elsewhere)
    raise UsageError(
        f"the paper publishes no hyperparameters of {model} on {dataset} for {protocol} splits: "
        f"give lr, weight_decay and dropout; it does on: {', '.join(datasets)}"
    )
