"""List the data sets and their raw files, without importing NumPy or PyTorch."""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple

from acm.errors import unknown


class Dataset(NamedTuple):
    """One row of `datasets.csv`."""

    name: str
    kind: str  # format of the raw files: "geom", "planetoid", "deezer", "npz" or "synthetic"
    description: str  # one line, printed by `acm data list`
    caveats: str  # unusual properties that affect results; may be empty


class RawFile(NamedTuple):
    """One row of `registry.csv`; an empty `url` means `path` below `files.PUBLIC_BASE`."""

    dataset: str
    role: str  # what the file contains, for example "edges" or "split_0"
    path: str
    size: int  # bytes
    sha256: str
    url: str


def _rows(filename: str) -> list[dict]:
    text = (resources.files("acm.data") / filename).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


DATASETS: dict[str, Dataset] = {row["name"]: Dataset(**row) for row in _rows("datasets.csv")}
"""All data sets by name: ten of the paper, five newer ones, and the generated `synthetic`."""

PAPER_DATASETS: tuple[str, ...] = tuple(DATASETS)[:10]
"""The ten graphs of the paper's tables, in the order of `datasets.csv`."""

REGISTRY = [RawFile(**{**row, "size": int(row["size"])}) for row in _rows("registry.csv")]


def dataset(name: str) -> Dataset:
    """Return the row of a data set in `datasets.csv`; raise `UsageError` if the name is unknown."""
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    return DATASETS[name]


def raw_files(name: str, splits: bool = True) -> list[RawFile]:
    """Return the raw files of a data set; `splits=False` omits files that hold only splits."""
    dataset(name)
    files = [file for file in REGISTRY if file.dataset == name]
    return files if splits else [file for file in files if not file.role.startswith("split")]
