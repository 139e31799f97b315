"""How pytest treats the executed notebooks in book/nb, which nbval runs again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import nbformat
import pytest

from notebooks import KERNEL_ENV, data_fault


def _asked(path: Path) -> dict:
    """What a notebook's source says in its front matter under `acm`."""
    return nbformat.read(path, as_version=4).metadata.get("acm", {})


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A live notebook has other outputs on every machine: nothing to hold it against."""
    if collection_path.suffix == ".ipynb" and _asked(collection_path).get("live"):
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without its graphs a notebook is skipped, unless ACM_REQUIRE_DATA says that is a failure."""
    if os.environ.get("ACM_REQUIRE_DATA") == "1":
        return
    reasons: dict[Path, str | None] = {}
    for item in items:
        if item.path.suffix == ".ipynb":
            if item.path not in reasons:
                reasons[item.path] = data_fault(_asked(item.path).get("needs", []))
            if reason := reasons[item.path]:
                item.add_marker(pytest.mark.skip(reason=f"no raw data: {reason}"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """nbval's kernels run in the environment in which the notebooks were executed."""
    if item.path.suffix != ".ipynb":
        return (yield)
    with mock.patch.dict(os.environ, KERNEL_ENV):
        return (yield)
