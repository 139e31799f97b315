"""What all tests share: whether raw data is at hand, and a cache that is nobody's own."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest
from hypothesis import settings

from acm.data.files import available, source_problem
from acm.data.names import DATASETS
from acm.errors import UsageError

settings.register_profile("acm", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("acm")

_PROBLEM = "ACM_TESTS_DATA_PROBLEM"  # decided once; xdist's workers inherit the environment
_CACHE = "ACM_TESTS_DATA_CACHE"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "data: needs the raw data (skips without, see conftest.py)")
    if hasattr(config, "workerinput"):
        return
    if mirror := os.environ.get(
        "ACM_DATA_MIRROR"
    ):  # quick to read anew: no need of the user's cache
        if "://" not in mirror:
            os.environ["ACM_DATA_MIRROR"] = os.path.abspath(mirror)  # some tests change directory
        os.environ[_CACHE] = os.environ["ACM_DATA_CACHE"] = tempfile.mkdtemp(prefix="acm-tests-")
    try:
        at_hand = all(available(name) for name in DATASETS)
        os.environ[_PROBLEM] = "" if at_hand else source_problem() or ""
    except UsageError as error:
        os.environ[_PROBLEM] = str(error)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and (folder := os.environ.pop(_CACHE, None)):
        shutil.rmtree(folder, ignore_errors=True)
        del os.environ["ACM_DATA_CACHE"]


def pytest_runtest_setup(item: pytest.Item) -> None:
    problem = os.environ.get(_PROBLEM)
    if problem and item.get_closest_marker("data"):
        reason = f"no raw data: {problem}"
        if os.environ.get("ACM_REQUIRE_DATA") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(params=["loops", "no loops"])
def loops(request, monkeypatch):
    """Whether the compiled loops are at hand: as here, and as on a machine that has none."""
    from acm import kernels

    if request.param == "no loops":
        monkeypatch.setattr(kernels, "_loops", lambda: None)
    return request.param == "loops"
