"""Read the printed numbers of the paper's tables from the CSV files in `data`."""

from __future__ import annotations

import csv
import math
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acm.errors import UsageError, unknown

DATA = Path(__file__).parent / "data"
#: Half the width of the interval that holds 95 % of a normal distribution, in its σ.
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Table:
    """Describe one table of the paper, or one half of a table.

    `position` counts the tables in the order of the LaTeX source. `cited_as` is the table's number
    in the companion, or `None`; `appendix` then names the appendix that holds the table.
    """

    key: str
    label: str
    position: int
    cited_as: int | None
    appendix: str
    kind: str
    unit: str
    topic: str
    markers: str

    @property
    def place(self) -> str:
        """Return the words that a source line uses for the table."""
        return f"Table {self.cited_as}" if self.cited_as else self.appendix


@cache
def records(key: str) -> tuple[dict[str, str], ...]:
    """Return the rows of one CSV file as text."""
    with (DATA / f"{key}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


@cache
def tables() -> tuple[Table, ...]:
    """List every table of the package, in the order of the LaTeX source."""
    return tuple(
        Table(**r | {"position": int(r["position"]), "cited_as": integer(r["cited_as"])})
        for r in records("index")
    )


def find_table(name: str, *kinds: str) -> Table:
    """Return the table `name` among the tables of `kinds`, or raise a `UsageError`."""
    by_key = {t.key: t for t in tables() if not kinds or t.kind in kinds}
    return by_key[find("table", name, by_key)]


def fold(name: str) -> str:
    """Remove case, spaces and accents, so that `s_agg(s(a,x))` matches `S_agg(S(Â,X))`."""
    plain = unicodedata.normalize("NFKD", str(name))
    return "".join(c for c in plain if not (c.isspace() or unicodedata.combining(c))).casefold()


def unique(names: Iterable[str]) -> list[str]:
    """Return the names without repeats and blanks, in order of first appearance."""
    return [name for name in dict.fromkeys(names) if name]


def find(kind: str, name: str, valid: Iterable[str], where: str = "") -> str:
    """Return the spelling of `name` in `valid`, or raise a `UsageError` with all names."""
    spelling = {fold(v): v for v in valid}
    if fold(name) in spelling:
        return spelling[fold(name)]
    raise unknown(kind, name, spelling.values(), where)


@cache
def known_models() -> tuple[str, ...]:
    """List every model that a table of results, hyperparameters or search ranges names."""
    results = ("sota", "fixed", "ablation", "hyperparameters_baselines")
    names = [record["name"] for key in results for record in records(key)]
    searched = [r["models"] for t in tables() if t.kind == "search" for r in records(t.key)]
    return tuple(unique([*names, *"; ".join(searched).split("; ")]))


@cache
def known_datasets() -> tuple[str, ...]:
    """List the ten real graphs of the paper, in the order of its tables."""
    return tuple(unique(record["dataset"] for record in records("statistics")))


@dataclass(frozen=True)
class PrintedValue:
    """One cell of a table.

    `mean` and `std` are `None` if the paper prints no number. `status` is "ok", or says why there
    is no number: "NA" (not available), "OOM" (out of memory), "blank" or "text" (a split rule).
    `text` is the cell as printed. `unit` is "%", "ms", "s" or "" (a fraction, count or rank).
    `marker` is the sign (*, †) of a result that the paper took from elsewhere. `bold` marks a best
    result, and `damaged` a cell whose print is broken.

    `split_scheme` is "random" (60 % for training), "sparse" (2.5 %) or "fixed". The sparse numbers
    are those that the paper took from Table 2 of GPRGNN's authors for the citation graphs.
    `splits` counts the splits behind the paper's own means. `spread_kind` says what `std` is:
    "std", or "half_interval" for half a 95 % confidence interval of a hundred runs.
    """

    table: str
    label: str
    row: str
    column: str
    name: str
    dataset: str
    mean: float | None
    std: float | None
    text: str
    unit: str
    status: str
    marker: str
    bold: bool
    damaged: bool
    components: str
    source: str
    split_scheme: str = "random"
    splits: int | None = None
    spread_kind: str = "std"

    @property
    def interval(self) -> bool:
        """Whether `std` holds half a 95 % confidence interval."""
        return self.spread_kind == "half_interval"

    @property
    def standard_error(self) -> float | None:
        """Return the standard error of `mean` in its unit, or `None` without a spread.

        The paper's own standard deviations divide by the number of splits, as its release does.
        For results with a marker the divisor is not known; they are treated as estimates.
        """
        if self.std is None or not self.splits:
            return None
        if self.interval:
            return self.std / _NORMAL_95
        return self.std / math.sqrt(self.splits if self.marker else self.splits - 1)

    @property
    def shown(self) -> str:
        """Return the cell as printed, or as meant if the print is broken."""
        if not self.damaged or self.mean is None:
            return self.text
        return f"{self.mean:g}{self.unit}" if self.std is None else f"{self.mean:g} ± {self.std:g}"

    @property
    def misprint(self) -> str:
        """Return the broken print and its fault in words, or an empty text."""
        if not self.damaged:
            return ""
        if self.std is None:
            fault = "a broken cell"
        else:
            fault = "the backslash of \\pm is missing" if "pm " in self.text else "± is broken"
        return f"printed as “{self.text}”: {fault}"


def number(text: str | None) -> float | None:
    """Return the number that a field holds, or `None` for an empty field or "-"."""
    return float(text) if text not in (None, "", "-") else None


def integer(text: str | None) -> int | None:
    """Return the whole number that a field holds, or `None` for an empty field or "-"."""
    return int(text) if text not in (None, "", "-") else None


def _cell(table: Table, r: dict[str, str], **fields) -> PrintedValue:
    shared = dict(table=table.key, label=r["label"], row=r["row"], name=r["name"])
    shared |= dict(dataset=r["dataset"], split_scheme=r.get("split_scheme") or "random")
    return PrintedValue(**shared, splits=integer(r.get("splits")), **fields)


def _value_cells(table: Table) -> Iterator[PrintedValue]:
    for r in records(table.key):
        components = r.get("components", "")
        row = f"{r['row']} {components}".strip()
        yield _cell(
            table,
            r,
            column=r["column"],
            mean=number(r["mean"]),
            std=number(r["std"]),
            text=r["raw"] or (f"{r['mean']} ± {r['std']}" if r["std"] else r["mean"]),
            unit=table.unit if r["dataset"] else "",
            status=r["status"],
            marker=r["marker"],
            bold=r["bold"] == "yes",
            damaged=r["damaged"] == "yes",
            components=components,
            source=f'{table.place}, row "{row}", column "{r["column"]}"',
            spread_kind=r.get("spread_kind") or "std",
        )


def _outcome_cells(table: Table) -> Iterator[PrintedValue]:
    for r in records(table.key):
        for column, unit, mean, std in (
            ("results", "%", r["results"], r["std"]),
            ("average epoch time", "ms", r["epoch_ms"], ""),
            ("average total time", "s", r["total_s"], ""),
        ):
            damaged = unit == "s" and r["damaged"] == "yes"
            text = f"{mean} ± {std}" if std else f"{mean}{unit}" if mean else ""
            yield _cell(
                table,
                r,
                column=column,
                mean=number(mean),
                std=number(std),
                text=r["raw"] if damaged else text,
                unit=unit,
                status="ok" if mean else "blank",
                marker="",
                bold=False,
                damaged=damaged,
                components="",
                source=f'{table.place}, {r["block"]}, row "{r["row"]}", column "{column}"',
            )


@cache
def printed_values(key: str) -> tuple[PrintedValue, ...]:
    """Return every number of a table of values, or every outcome of a hyperparameter table."""
    table = find_table(key, "values", "hyperparameters")
    return tuple((_value_cells if table.kind == "values" else _outcome_cells)(table))


def printed(
    table: str,
    *,
    model: str | None = None,
    dataset: str | None = None,
    row: str | None = None,
    column: str | None = None,
    components: str | None = None,
) -> PrintedValue:
    """Return the one cell of a printed table that the keywords select.

    Args:
        table: Key of a table of values ("sota", "ablation", …) or of hyperparameters
            ("hyperparameters_acm", …); `acm.paper.tables()` lists the keys. A hyperparameter table
            gives its "results" unless `column` names a time.
        model, row: The row by its plain name ("ACM-GCN", "H_edge") or as printed ("MLP-2*").
        dataset, column: The column by the data set's name or by its heading ("Rank").
        components: In the ablation, the components of the row ("LP+HP+Mixing").

    Returns:
        The cell. If the paper prints no number, `PrintedValue.status` says why.

    Raises:
        UsageError: For a name that the table does not have, or keywords that fit several cells.
    """
    source = find_table(table, "values", "hyperparameters")
    every_cell = cells = printed_values(source.key)
    if column is None and dataset is not None and source.kind == "hyperparameters":
        column = "results"
    where = f" in table {source.key}"
    for kind, name, fields in (
        ("model" if source.unit else "row", model, ("name", "row")),
        ("row", row, ("name", "row")),
        ("components", components, ("components",)),
        ("dataset", dataset, ("dataset",)),
        ("column", column, ("column",)),
    ):
        if name is None:
            continue
        valid = {field: unique(getattr(c, field) for c in every_cell) for field in fields}
        field = next((f for f in fields if fold(name) in map(fold, valid[f])), fields[0])
        name = find(kind, name, valid[field], where)
        matching = tuple(c for c in cells if getattr(c, field) == name)
        if not matching:
            names = ", ".join(unique(getattr(c, field) for c in cells)) or "none"
            raise UsageError(f"no {kind} '{name}'{where} with the other names; it has: {names}")
        cells = matching
    if len(cells) > 1:
        choices = [
            f"{'model or row' if name == 'name' else name} ({', '.join(values)})"
            for name in ("name", "components", "column")
            if len(values := unique(getattr(c, name) for c in cells)) > 1
        ]
        raise UsageError(f"{len(cells)} cells{where} fit: say also which {' and '.join(choices)}")
    return cells[0]
