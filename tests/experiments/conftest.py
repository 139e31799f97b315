"""Records and trials that need no data."""

import pytest

from acm.experiments import Record, cell


@pytest.fixture
def trials():
    return cell("synthetic", "MLP-1", splits=4)


@pytest.fixture
def make_record():
    """A record of a trial, without a training."""

    def make(trial, test_accuracy=0.5):
        return Record(
            **vars(trial),
            val_accuracy=1 / 3,
            test_accuracy=test_accuracy,
            val_loss=0.1 + 0.2,
            best_epoch=7,
            epochs=203,
            seconds=1.25,
            device='cpu: a "quoted", CPU',
            threads=1,
            versions="python 3, torch 2",
            commit="abc+",
        )

    return make
