"""Choosing among many: planted accuracies, and a simulation with a known answer."""

import numpy as np
import pytest

from acm.errors import UsageError
from acm.experiments import trials_of
from acm.report.pages.results import selection_optimism
from tests.records import make_record


def grid(test, val=None):
    """Records of a grid of configurations with these accuracies, `[configurations, splits]`."""
    val = test if val is None else val
    records = []
    for k, (row, val_row) in enumerate(zip(test, val)):
        given = {"lr": 0.1, "weight_decay": k / 1000, "dropout": 0.0}
        trials = trials_of("synthetic", "GCN", splits=len(row), hyperparameters=given)
        records += [
            make_record(t, float(a), val_accuracy=float(v)) for t, a, v in zip(trials, row, val_row)
        ]
    return records


def test_by_hand():
    # On either half of the splits another configuration is best, and there only.
    found = selection_optimism(grid([[0.9, 0.5], [0.6, 0.7]], val=[[0.1, 0.1], [0.2, 0.3]]))
    assert (found.configurations, found.splits) == (2, 2)
    assert found.best_test == pytest.approx(70)
    assert found.best_val == pytest.approx(65)
    assert found.same == pytest.approx((90 + 70) / 2)
    assert found.fresh == pytest.approx((50 + 60) / 2)
    assert found.optimism == pytest.approx(25)
    assert "adds 25.00 points" in found.sentence()


def test_noise_flatters_by_the_expected_maximum():
    # Configurations that differ by noise alone: the best of k means of n/2 draws is E[max] of k
    # standard normals times s/√(n/2) too high, and a fresh half shows none of it.
    rng = np.random.default_rng(0)
    k, n, s = 20, 8, 0.02
    optimism = [
        selection_optimism(grid(0.8 + s * rng.standard_normal((k, n)))).optimism for _ in range(60)
    ]
    expected = 1.867 * 100 * s / np.sqrt(n / 2)
    assert np.mean(optimism) == pytest.approx(expected, rel=0.1)


def test_other_splits_of_a_configuration_are_refused():
    with pytest.raises(UsageError, match="the same splits"):
        selection_optimism(grid([[0.5, 0.6], [0.5, 0.6]])[:-1])
