"""Reading the tables' CSV files, and finding names in them with helpful refusals."""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from acm.errors import unknown

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
