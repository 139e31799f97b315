"""The ranges in which the paper searched its hyperparameters, read from the printed text."""

from __future__ import annotations

import re

from acm.errors import UsageError
from acm.paper._rows import Table, find, find_table, known_datasets, records, tables

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
