"""Everything is tested with the compiled loops, and as on a machine that has none."""

import pytest

from acm import kernels


@pytest.fixture(params=["loops", "no loops"])
def loops(request, monkeypatch):
    """Whether the compiled loops are at hand."""
    if request.param == "no loops":
        monkeypatch.setattr(kernels, "_loops", lambda: None)
    return request.param == "loops"
