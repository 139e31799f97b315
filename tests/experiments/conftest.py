"""Trials that need no data."""

import pytest

from acm.experiments import trials_of


@pytest.fixture
def trials():
    return trials_of("synthetic", "MLP-1", splits=4)
