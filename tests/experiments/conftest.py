"""Trials that need no data."""

import pytest

from acm.experiments import cell


@pytest.fixture
def trials():
    return cell("synthetic", "MLP-1", splits=4)
