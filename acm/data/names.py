"""Names, descriptions and raw files of the data sets, without NumPy or PyTorch."""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple

from acm.errors import check_whole, unknown  # noqa: F401  (a re-export)


class Dataset(NamedTuple):
    """One row of `datasets.csv`.

    Attributes:
        name: Name of the data set.
        kind: Format of its raw files: "geom", "planetoid", "deezer", "npz" or "synthetic".
        description: One line for lists.
        caveats: What a user has to know about the data; may be empty.
    """

    name: str
    kind: str
    description: str
    caveats: str


def read_table(filename: str) -> list[dict[str, str]]:
    """Read one CSV file of this package as a list of dictionaries."""
    table = resources.files("acm.data").joinpath(filename)
    # Typeshed's `Traversable.open` lacks `newline`, which the module csv asks for.
    with table.open(encoding="utf-8", newline="") as file:  # type: ignore[call-overload]
        return list(csv.DictReader(file))


DATASETS: dict[str, Dataset] = {row["name"]: Dataset(**row) for row in read_table("datasets.csv")}
"""All data sets by name: the paper's ten, five later ones, and the generated `synthetic`."""

PAPER_DATASETS: tuple[str, ...] = tuple(DATASETS)[:10]
"""The ten graphs of the paper's tables, in the order of `datasets.csv`."""


def dataset(name: str) -> Dataset:
    """Return the entry of a data set; raise `UsageError` if the name is unknown."""
    try:
        return DATASETS[name]
    except (KeyError, TypeError):
        raise unknown("data set", name, DATASETS) from None


class RawFile(NamedTuple):
    """One row of `registry.csv`; `url` is empty for files below the public base address."""

    dataset: str
    role: str
    path: str
    size: int
    sha256: str
    url: str


REGISTRY: tuple[RawFile, ...] = tuple(
    RawFile(
        dataset=row["dataset"],
        role=row["role"],
        path=row["path"],
        size=int(row["size"]),
        sha256=row["sha256"],
        url=row["url"],
    )
    for row in read_table("registry.csv")
)


def raw_files(name: str, splits: bool = True) -> list[RawFile]:
    """Return the raw files of a data set, with or without the files that hold only splits."""
    dataset(name)
    files = [file for file in REGISTRY if file.dataset == name]
    return files if splits else [file for file in files if not file.role.startswith("split")]
