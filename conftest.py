"""How pytest treats the executed notebooks in book/nb, which nbval runs again."""

from __future__ import annotations

import functools
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


@functools.cache
def _rounds_alike() -> bool:
    """Whether a training here gives a kept record to the bit, as the page "This machine" asks."""
    from acm.experiments import results, run_trial

    kept = next(r for r in results("this-machine").records() if r.dataset == "synthetic")
    return run_trial(kept.trial)[0].outcome == kept.outcome


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
    """nbval's kernels run in the environment in which the notebooks were executed.

    A cell tagged `rounding` shows what a training gave. A machine that rounds differently from the
    one of the committed outputs runs it all the same, but cannot be held to its digits.
    """
    if item.path.suffix != ".ipynb":
        return (yield)
    if "rounding" in item.cell.metadata.get("tags", []) and not _rounds_alike():
        item.options["check"] = False
    with mock.patch.dict(os.environ, KERNEL_ENV):
        return (yield)
