"""Read the printed numbers of the paper's tables from the CSV files in `data`."""

from __future__ import annotations

import csv
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from acm.errors import UsageError, unknown

DATA = Path(__file__).parent / "data"
#: Half the width of a 95 % confidence interval of a normal distribution, in standard deviations.
_NORMAL_95 = 1.96
#: Maps the type annotation of a field to the function with which `typed` reads its text.
_CONVERT = {
    "int": int,
    "int | None": int,
    "float": float,
    "float | None": float,
    "bool": lambda text: text == "yes",
    "tuple[str, ...]": lambda text: tuple(text.split("; ")),
    "tuple[float, ...]": lambda text: tuple(map(float, text.split(","))),
}


@cache
def records(key: str) -> tuple[dict[str, str], ...]:
    """Return the rows of the file `data/KEY.csv`; all values are text."""
    with (DATA / f"{key}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def typed(cls: type, record: dict[str, str]):
    """Return a row as an instance of `cls`; empty fields and "-" get the default of `cls`."""
    filled = [f for f in fields(cls) if record.get(f.name) not in (None, "", "-")]
    return cls(**{f.name: _CONVERT.get(f.type, str)(record[f.name]) for f in filled})


@dataclass(frozen=True)
class Table:
    """One table of the paper, or one half of a table."""

    key: str
    label: str  # in the LaTeX source
    position: int  # in the order of the LaTeX source
    kind: str  # "values", "hyperparameters" or "search"
    cited_as: int | None = None  # the number by which this companion cites the table
    appendix: str = ""  # the appendix of a table that has no number
    unit: str = ""

    @property
    def place(self) -> str:
        """Return the name of the table for readers, such as "Table 3"."""
        return f"Table {self.cited_as}" if self.cited_as else self.appendix


@cache
def tables() -> tuple[Table, ...]:
    """List every table of the package, in the order of the LaTeX source."""
    return tuple(typed(Table, record) for record in records("index"))


def find_table(name: str, *kinds: str) -> Table:
    """Return the table `name` among the tables of `kinds`, or raise a `UsageError`."""
    by_key = {t.key: t for t in tables() if t.kind in kinds}
    return by_key[find("table", name, by_key)]


@cache
def fold(name: str) -> str:
    """Remove case, spaces and accents, so that `s_agg(s(a,x))` matches `S_agg(S(Â,X))`."""
    plain = unicodedata.normalize("NFKD", str(name))
    return "".join(c for c in plain if not (c.isspace() or unicodedata.combining(c))).casefold()


def unique(names: Iterable[str]) -> list[str]:
    """Return the names without duplicates and empty names, in order of first appearance."""
    return [name for name in dict.fromkeys(names) if name]


def find(kind: str, name: str, valid: Iterable[str], where: str = "") -> str:
    """Return `name` as `valid` spells it, or raise a `UsageError` that lists all valid names."""
    spelling = {fold(v): v for v in valid}
    if fold(name) in spelling:
        return spelling[fold(name)]
    raise unknown(kind, name, spelling.values(), where)


@cache
def known_datasets() -> tuple[str, ...]:
    """List the ten real graphs of the paper, in the order of its tables."""
    return tuple(unique(record["dataset"] for record in records("statistics")))


@dataclass(frozen=True)
class PrintedValue:
    """One cell of a table.

    For the citation graphs, the paper copies the results with "sparse" splits from Table 2 of the
    GPRGNN paper. Their `std` is half the width of a 95 % confidence interval over a hundred runs.
    """

    table: str
    label: str
    row: str  # the row's heading as printed
    column: str
    name: str  # the row's name in this package
    source: str  # table, row and column, for readers
    dataset: str = ""
    mean: float | None = None  # `None` if the paper prints no number
    std: float | None = None
    text: str = ""  # the cell as printed
    unit: str = ""  # "%", "ms", "s" or "" (fraction, count, rank)
    status: str = "ok"  # or why `mean` is missing: "NA", "OOM", "blank" or "text" (a split rule)
    marker: str = ""  # the sign (*, †) of a result copied from another paper
    bold: bool = False  # whether the paper marks it as a best result
    damaged: bool = False  # whether the printed cell has a typing error
    components: str = ""
    split_scheme: str = "random"  # "random" (60 % for training), "sparse" (2.5 %), "fixed"
    splits: int | None = None  # the number of splits, for the paper's own means
    spread_kind: str = "std"  # the meaning of `std`: "std" or "half_interval"

    @property
    def interval(self) -> bool:
        """Whether `std` is half the width of a 95 % confidence interval."""
        return self.spread_kind == "half_interval"

    @property
    def standard_error(self) -> float | None:
        """Return the standard error of `mean` in the same unit, or `None` without `std`.

        The paper's own standard deviations divide by the number of splits n, as its release does.
        For copied results (with a marker) the divisor is unknown; we assume n − 1.
        """
        if self.std is None or not self.splits:
            return None
        if self.interval:
            return self.std / _NORMAL_95
        return self.std / math.sqrt(self.splits if self.marker else self.splits - 1)

    @property
    def shown(self) -> str:
        """Return the text of the cell as printed, or without its typing error."""
        if not self.damaged or self.mean is None:
            return self.text
        return f"{self.mean:g}{self.unit}" if self.std is None else f"{self.mean:g} ± {self.std:g}"

    @property
    def misprint(self) -> str:
        """Describe the typing error of the cell; return an empty text if there is none."""
        if not self.damaged:
            return ""
        fault = "the backslash of \\pm is missing" if "pm " in self.text else "± is broken"
        return f"printed as “{self.text}”: {fault if self.std is not None else 'a typing error'}"


@cache
def printed_values(key: str) -> tuple[PrintedValue, ...]:
    """Return all cells of a table of values, or all results of a hyperparameter table."""
    table = find_table(key, "values", "hyperparameters")
    cells = []
    for r in records(table.key):
        if table.kind == "values":
            place, row = table.place, f"{r['row']} {r.get('components', '')}".strip()
            text = r["raw"] or (f"{r['mean']} ± {r['std']}" if r["std"] else r["mean"])
            outcomes = [r | {"text": text, "unit": table.unit if r["dataset"] else ""}]
        else:
            place, row = f"{table.place}, {r['block']}", r["row"]
            outcomes = [r | outcome for outcome in _outcomes(r)]
        for cell in outcomes:
            source = f'{place}, row "{row}", column "{cell["column"]}"'
            cells.append(typed(PrintedValue, cell | {"table": table.key, "source": source}))
    return tuple(cells)


def _outcomes(r: dict[str, str]) -> Iterator[dict[str, str]]:
    """Yield three cells for a row of hyperparameters: the accuracy and the two times."""
    text = f"{r['results']} ± {r['std']}"
    yield {"column": "results", "unit": "%", "mean": r["results"], "text": text, "damaged": ""}
    times = ("epoch", "ms", r["epoch_ms"], ""), ("total", "s", r["total_s"], r["damaged"])
    for name, unit, mean, damaged in times:
        text = r["raw"] if damaged else mean and f"{mean}{unit}"
        time = {"column": f"average {name} time", "unit": unit, "mean": mean, "std": ""}
        yield time | {"text": text, "damaged": damaged, "status": "" if mean else "blank"}


#: Maps each keyword of `printed` to the attributes of a cell that it is compared with.
_SELECTORS = {name: (name,) for name in ("components", "dataset", "column")}
_SELECTORS |= dict.fromkeys(("model", "row"), ("name", "row"))


def printed(table: str, **names: str) -> PrintedValue:
    """Return the cell of a printed table that the keywords select.

    Args:
        table: Key of a table of values ("sota", "ablation", …) or of hyperparameters
            ("hyperparameters_acm", …); `acm.paper.tables()` lists the keys. The default column of a
            hyperparameter table is "results".
        names: `model` or `row` select a row by its name ("ACM-GCN", "H_edge") or its printed
            heading ("MLP-2*"). `dataset` or `column` select a column by its data set or heading
            ("Rank"). `components` selects among the rows of the ablation ("LP+HP+Mixing").

    Raises:
        UsageError: If a name is unknown, or the keywords do not select exactly one cell.
    """
    source = find_table(table, "values", "hyperparameters")
    every_cell = cells = printed_values(source.key)
    if source.kind == "hyperparameters" and "dataset" in names:
        names = {"column": "results"} | names
    where = f" in table {source.key}"
    for kind, name in names.items():
        attributes = _SELECTORS[find("keyword", kind, _SELECTORS)]
        valid = unique(getattr(c, attribute) for attribute in attributes for c in every_cell)
        name = find(kind, name, valid, where)
        cells = [c for c in cells if name in [getattr(c, attribute) for attribute in attributes]]
    if len(cells) == 1:
        return cells[0]
    values = {n: unique(getattr(c, n) for c in cells) for n in ("name", "components", "column")}
    choices = [f"{n} ({', '.join(v)})" for n, v in values.items() if len(v) > 1]
    also = f": also give {' and '.join(choices)}" if choices else ""
    raise UsageError(f"{len(cells)} cells{where} match all keywords{also}")
