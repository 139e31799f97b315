"""A published number with its place in the paper."""

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


@dataclass(frozen=True)
class Table:
    """One (half of a) table of the paper, as the index lists it.

    `position` counts the tables in the order of the LaTeX source; `cited_as` is the number under
    which the companion cites it, `None` for those that it does not number: of these `appendix` says
    where they stand, in words.
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
        """The table in words, for a source line."""
        return f"Table {self.cited_as}" if self.cited_as else self.appendix


def _records(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def tables() -> tuple[Table, ...]:
    """The index: every table of the paper that this room holds, in the order of the source."""
    return tuple(
        Table(
            **{
                **record,
                "position": int(record["position"]),
                "cited_as": int(record["cited_as"]) if record["cited_as"] else None,
            }
        )
        for record in _records(DATA / "index.csv")
    )


def find_table(name: str, *kinds: str) -> Table:
    """The table `name`, among those of `kinds` if any are given; `UsageError` for another name."""
    found = {t.key: t for t in tables() if not kinds or t.kind in kinds}
    return found[find("table", name, found)]


@cache
def records(key: str) -> tuple[dict[str, str], ...]:
    """The rows of one table's CSV file, as text."""
    return tuple(_records(DATA / f"{key}.csv"))


def fold(name: str) -> str:
    """A name without case, spaces and accents, so that `s_agg(s(a,x))` finds `S_agg(S(Â,X))`."""
    plain = unicodedata.normalize("NFKD", str(name))
    return "".join(c for c in plain if not (c.isspace() or unicodedata.combining(c))).casefold()


def unique(names: Iterable[str]) -> list[str]:
    """The names without repeats and blanks, in order of first appearance."""
    return [name for name in dict.fromkeys(names) if name]


def find(kind: str, name: str, valid: Iterable[str], where: str = "") -> str:
    """The spelling in `valid` of `name`; `UsageError` with the nearest and all names otherwise."""
    spelling = {fold(v): v for v in valid}
    if fold(name) in spelling:
        return spelling[fold(name)]
    raise unknown(kind, name, spelling.values(), where)


@cache
def known_models() -> tuple[str, ...]:
    """Every model that the paper names in a table of results, hyperparameters or search ranges."""
    names: list[str] = []
    for key in ("sota", "fixed", "ablation", "hyperparameters_baselines"):
        names += [record["name"] for record in records(key)]
    for table in tables():
        if table.kind == "search":
            names += [m for record in records(table.key) for m in record["models"].split("; ")]
    return tuple(unique(names))


@cache
def known_datasets() -> tuple[str, ...]:
    """The ten real graphs of the paper, in the order of its tables."""
    return tuple(unique(record["dataset"] for record in records("statistics")))


#: Headings of the hyperparameter tables that hold an outcome, with what they measure.
OUTCOMES = {"results": "%", "average epoch time": "ms", "average total time": "s"}


@dataclass(frozen=True)
class PrintedValue:
    """One cell of a table.

    `mean` and `std` are `None` where the paper prints none; then `status` says why: "NA" (not
    available), "OOM" (out of memory), "blank" or "text" (a split rule); otherwise it is "ok".
    `text` is the cell as printed, `unit` one of "%", "ms", "s" and "" (a fraction, count or rank).
    `marker` is the sign (*, †) that the paper sets on results it took from elsewhere, `bold`
    whether it prints the cell as a best one, `damaged` whether the print is broken and was read as
    meant.
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

    @property
    def split_scheme(self) -> str:
        """What splits it is of: "random" (60 % train), "fixed", or "sparse" (2.5 % train).

        Table 3 says 60 % of all; but what it takes from GPRGNN's authors for the three citation
        graphs is of their Table 2, whose splits there are sparse.
        """
        if self.table in _FIXED:
            return "fixed"
        dense = ("MLP-2", "GraphSAGE")
        sparse = self.interval and self.name not in dense and self.dataset in _CITATIONS
        return "sparse" if sparse else "random"

    @property
    def standard_error(self) -> float | None:
        """That of `mean`, in its unit; `None` without a spread.

        The spread is an `interval`, or a standard deviation over `splits`. The paper's own have the
        number of splits in the divisor, as its release does, where an estimate has one less; of
        those with a marker it is not known, and they are left as they are.
        """
        if self.std is None:
            return None
        if self.interval:
            return self.std / _NORMAL_95
        return self.std / math.sqrt(self.splits if self.marker else self.splits - 1)

    @property
    def splits(self) -> int:
        """Over how many splits the paper's own means are: ten, on Deezer-Europe five."""
        return 5 if self.dataset == "deezer-europe" else 10

    @property
    def interval(self) -> bool:
        """Whether its spread is half a 95 % confidence interval, of a hundred runs.

        In Table 3 it is where it comes from GPRGNN's authors (they have no Wisconsin and no
        Deezer-Europe), in the row of GraphSAGE on the same graphs, and for H2GCN on Chameleon: no
        standard deviation is so small. One of 0.7 points is what a standard deviation of 3.6 gives,
        and less than 61 test nodes allow.
        """
        if self.table != "sota" or self.dataset in ("wisconsin", "deezer-europe"):
            return False
        one = (self.name, self.dataset) == ("H2GCN", "chameleon")
        return self.marker == "*" or self.name == "GraphSAGE" or one

    @property
    def shown(self) -> str:
        """The cell as it is meant: as printed, but for what the paper prints by a slip."""
        if not self.damaged or self.mean is None:
            return self.text
        return f"{self.mean:g}{self.unit}" if self.std is None else f"{self.mean:g} ± {self.std:g}"

    @property
    def slip(self) -> str:
        """What the paper prints in place of `shown`, and what is wrong there; or nothing."""
        if not self.damaged:
            return ""
        if self.std is None:
            wrong = "a broken cell"
        else:
            wrong = "the backslash of \\pm is missing" if "pm " in self.text else "± is broken"
        return f"printed as “{self.text}”: {wrong}"


_FIXED = ("fixed", "hyperparameters_fixed")
_CITATIONS = ("cora", "citeseer", "pubmed")
#: Half the width of the interval that holds 95 % of a normal distribution, in its σ.
_NORMAL_95 = 1.96


def _number(text: str) -> float | None:
    return float(text) if text else None


def _value_cells(table: Table) -> Iterator[PrintedValue]:
    for r in records(table.key):
        components = r.get("components", "")
        row = f"{r['row']} {components}".strip()
        yield PrintedValue(
            table=table.key,
            label=r["label"],
            row=r["row"],
            column=r["column"],
            name=r["name"],
            dataset=r["dataset"],
            mean=_number(r["mean"]),
            std=_number(r["std"]),
            text=r["raw"] or (f"{r['mean']} ± {r['std']}" if r["std"] else r["mean"]),
            unit=table.unit if r["dataset"] else "",
            status=r["status"],
            marker=r["marker"],
            bold=r["bold"] == "yes",
            damaged=r["damaged"] == "yes",
            components=components,
            source=f'{table.place}, row "{row}", column "{r["column"]}"',
        )


def _outcome_cells(table: Table) -> Iterator[PrintedValue]:
    for r in records(table.key):
        for column, unit in OUTCOMES.items():
            mean, std = {
                "results": (r["results"], r["std"]),
                "average epoch time": (r["epoch_ms"], ""),
                "average total time": (r["total_s"], ""),
            }[column]
            damaged = column == "average total time" and r["damaged"] == "yes"
            text = f"{mean} ± {std}" if std else f"{mean}{unit}" if mean else ""
            yield PrintedValue(
                table=table.key,
                label=r["label"],
                row=r["row"],
                column=column,
                name=r["name"],
                dataset=r["dataset"],
                mean=_number(mean),
                std=_number(std),
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
    """Every number of a table of values, or every outcome in a table of hyperparameters."""
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
    """The one cell of a published table that the keywords single out.

    Args:
        table: Key of a table of values ("sota", "ablation", "fixed", "statistics", "metrics", …)
            or of hyperparameters ("hyperparameters_acm", …), whose "results" are then meant unless
            `column` names a time. `acm.paper.tables()` lists the keys.
        model, row: The row by its plain name ("ACM-GCN", "H_edge") or as printed ("MLP-2*").
        dataset, column: The column by the data set's name or by its heading ("Rank").
        components: In the ablation, what is applied to the row ("LP+HP+Mixing").

    Returns:
        The cell, also where the paper prints no number: see `Published.status`.

    Raises:
        UsageError: For a name that the table does not have, or keywords that leave several cells.
    """
    found_table = find_table(table, "values", "hyperparameters")
    found = list(printed_values(found_table.key))
    if column is None and dataset is not None and found_table.kind == "hyperparameters":
        column = "results"
    where = f" in table {found_table.key}"
    for kind, asked, fields in (
        ("model" if found_table.unit else "row", model, ("name", "row")),
        ("row", row, ("name", "row")),
        ("components", components, ("components",)),
        ("dataset", dataset, ("dataset",)),
        ("column", column, ("column",)),
    ):
        if asked is None:
            continue
        everything = printed_values(found_table.key)
        known = {field: unique(getattr(c, field) for c in everything) for field in fields}
        field = next((f for f in fields if fold(asked) in map(fold, known[f])), fields[0])
        wanted = find(kind, asked, known[field], where)
        kept = [c for c in found if getattr(c, field) == wanted]
        if not kept:
            left = unique(getattr(c, field) for c in found)
            raise UsageError(
                f"no {kind} '{wanted}'{where} beside what else was asked; there it has: "
                f"{', '.join(left) or 'none'}"
            )
        found = kept
    if len(found) > 1:
        open_ = [
            f"{name} ({', '.join(values)})"
            for name in ("name", "components", "column")
            if len(values := unique(getattr(c, name) for c in found)) > 1
        ]
        raise UsageError(
            f"{len(found)} cells{where} fit: say also which "
            + " and ".join(open_).replace("name (", "model or row (")
        )
    return found[0]
