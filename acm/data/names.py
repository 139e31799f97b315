"""Names, descriptions and raw files of the data sets, without NumPy or PyTorch."""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple

from acm.errors import unknown


class Dataset(NamedTuple):
    """One row of `datasets.csv`."""

    name: str
    kind: str  # format of the raw files: "geom", "planetoid", "deezer", "npz" or "synthetic"
    description: str  # one line for lists
    caveats: str  # what a user has to know about the data; may be empty


class RawFile(NamedTuple):
    """One row of `registry.csv`; `url` is empty for files below the public base address."""

    dataset: str
    role: str
    path: str
    size: int
    sha256: str
    url: str


def _rows(filename: str) -> list[dict]:
    text = (resources.files("acm.data") / filename).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


DATASETS: dict[str, Dataset] = {row["name"]: Dataset(**row) for row in _rows("datasets.csv")}
"""All data sets by name: the paper's ten, five later ones, and the generated `synthetic`."""

PAPER_DATASETS: tuple[str, ...] = tuple(DATASETS)[:10]
"""The ten graphs of the paper's tables, in the order of `datasets.csv`."""

REGISTRY = [RawFile(**{**row, "size": int(row["size"])}) for row in _rows("registry.csv")]


def dataset(name: str) -> Dataset:
    """Return the entry of a data set; raise `UsageError` if the name is unknown."""
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    return DATASETS[name]


def raw_files(name: str, splits: bool = True) -> list[RawFile]:
    """Return the raw files of a data set, with or without the files that hold only splits."""
    dataset(name)
    files = [file for file in REGISTRY if file.dataset == name]
    return files if splits else [file for file in files if not file.role.startswith("split")]
