"""What data sets there are: names and descriptions, readable without NumPy or PyTorch."""

from __future__ import annotations

import csv
from importlib import resources
from numbers import Integral
from typing import NamedTuple

from acm.errors import UsageError, unknown


class Dataset(NamedTuple):
    """One data set: name, how its raw files are read, a line on it, and what to know of it."""

    name: str
    kind: str
    description: str
    caveats: str


def read_table(filename: str) -> list[dict[str, str]]:
    """The rows of one of the package's CSV files, as dictionaries."""
    with resources.files("acm.data").joinpath(filename).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


DATASETS: dict[str, Dataset] = {row["name"]: Dataset(**row) for row in read_table("datasets.csv")}
"""All data sets by name: the paper's ten, five later ones, and the embedded `synthetic`."""

PAPER_DATASETS: tuple[str, ...] = tuple(DATASETS)[:10]
"""The ten graphs of the paper's tables, in the order of this package."""


def dataset(name: str) -> Dataset:
    """The entry of a data set; raises `UsageError` naming what there is if there is none."""
    try:
        return DATASETS[name]
    except (KeyError, TypeError):
        raise unknown("data set", name, DATASETS) from None


def check_whole(label: str, value: object, least: int) -> None:
    """Raise `UsageError` unless `value` is a whole number from `least` up."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise UsageError(f"{label}={value!r}: a whole number from {least} up")
