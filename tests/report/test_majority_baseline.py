"""Check the majority baseline against all splits of a small graph and against simulations."""

from collections import Counter
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from acm.data import load, random_split
from acm.errors import UsageError
from acm.report.pages.results import chosen_by_test, majority_baseline
from tests.report.test_selection_optimism import grid


def test_every_split_of_a_small_graph_counts_alike():
    # Ten nodes, two classes, three of each train; of the other 1 + 3 two validate and two test.
    y = [0] * 4 + [1] * 6
    baseline = majority_baseline(y, splits=2)
    once = Counter(sum(pair) for pair in combinations([0, 1, 1, 1], 2))
    twice = Counter()
    for (a, n), (b, m) in product(once.items(), repeat=2):
        twice[(a + b) / 4] += n * m
    assert baseline.accuracy.tolist() == [0, 25, 50, 75, 100]
    expected = [twice[share] / 36 for share in (0, 0.25, 0.5, 0.75, 1)]
    assert baseline.probability == pytest.approx(expected)
    assert baseline.reached(75) == pytest.approx(expected[3] + expected[4])
    # A published number is rounded.
    assert baseline.reached(75.004) == baseline.reached(74.996) == baseline.reached(75)
    # The larger of two draws, over all pairs of them.
    pairs = product(zip(baseline.accuracy, baseline.probability), repeat=2)
    assert baseline.best_of(2) == pytest.approx(sum(p * q * max(a, b) for (a, p), (b, q) in pairs))
    assert baseline.best_of(1) == pytest.approx(baseline.mean)


def test_drawn_splits_have_that_mean_and_spread():
    rng = np.random.default_rng(1)
    y = rng.choice(4, 60, p=[0.1, 0.2, 0.2, 0.5])
    assert set(y) == {0, 1, 2, 3}
    baseline = majority_baseline(y, splits=3)
    seen = []
    for start in range(0, 3000, 3):
        tests = [y[random_split(y, start + k).test.numpy()] for k in range(3)]
        seen.append(np.mean([100 * np.mean(labels == 3) for labels in tests]))
    assert np.mean(seen) == pytest.approx(baseline.mean, abs=4 * baseline.std / np.sqrt(len(seen)))
    assert np.std(seen) == pytest.approx(baseline.std, rel=0.1)
    high = baseline.accuracy[baseline.accuracy > baseline.mean + 3][0]
    above = np.mean(np.array(seen) > high - 1e-9)
    assert above == pytest.approx(baseline.reached(high), abs=0.05) and above > 0.03


@pytest.mark.data
def test_texas_on_the_results_page_is_texas():
    page = (Path(__file__).parents[2] / "notebooks" / "results.md").read_text(encoding="utf-8")
    assert "np.repeat(range(5), [33, 1, 18, 101, 30])" in page
    assert np.bincount(load("texas").y).tolist() == [33, 1, 18, 101, 30]


def test_the_best_by_test_by_hand():
    test = [[0.5, 0.7], [0.8, 0.9], [0.6, 0.6]]
    found = chosen_by_test(grid(test, val=[[0.1, 0.1], [0.2, 0.3], [0.4, 0.4]]))
    assert (found.configurations, found.splits) == (3, 2)
    assert found.best == pytest.approx(85)
    assert found.std == pytest.approx(100 * np.sqrt(0.005))
    assert found.hyperparameters["weight_decay"] == 0.001
    assert found.by_validation == found.typical == pytest.approx(60)
    assert "85.00 ± 7.07 %, the best by validation accuracy 60.00 %" in found.sentence()


def test_unequal_numbers_of_splits_are_refused():
    with pytest.raises(UsageError, match="equally many splits"):
        chosen_by_test(grid([[0.5, 0.6], [0.7, 0.8]])[:3])
