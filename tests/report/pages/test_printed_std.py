"""Printed spreads against chance: by simulation, by the splits themselves, and by hand."""

import numpy as np
import pytest
import torch

from acm.data import fixed_split, load, random_split
from acm.report.pages.printed_std import (
    RARE,
    chance_std,
    printed_std_sentence,
    printed_std_table,
    printed_stds,
    probability,
)


@pytest.mark.parametrize("shares", [(0.6, 0.2), (0.1, 0.1)])
@pytest.mark.parametrize("dataset, share", [("texas", 0.9), ("wisconsin", 0.5)])
def test_chance_is_how_far_the_splits_take_the_same_nodes(dataset, share, shares):
    y, rng = load(dataset).y, np.random.default_rng(0)
    tests = torch.stack([random_split(y, seed, *shares).test for seed in range(600)]).double()
    right = torch.from_numpy(rng.random((400, len(y))) < share).double()
    accuracies = tests @ right.T / tests.sum(1, keepdim=True)
    drawn = float(accuracies.var(0).mean()) ** 0.5
    assert chance_std(y, random_split(y, 0, *shares), share) == pytest.approx(drawn, rel=0.02)


def test_it_is_less_than_if_test_nodes_were_drawn_from_all_alike():
    y = load("texas").y
    split = random_split(y, 0)
    alike = (0.9 * 0.1 * (1 / 61 - 1 / 183)) ** 0.5
    assert int(split.test.sum()) == 61
    assert chance_std(y, split, 0.9) / alike == pytest.approx(0.925, abs=0.005)


def test_a_class_that_is_only_trained_on_and_one_without_nodes_have_no_part():
    y = torch.tensor([0] * 6 + [3] * 8 + [4])
    train = torch.zeros(15, dtype=torch.bool)
    train[[0, 1, 2, 3, 4, 5, 6, 7, 14]] = True
    test = ~train
    test[13] = False
    split = random_split(torch.arange(60) % 2, 0)._replace(train=train, test=test)
    # Five of the eight nodes of one class, any of them.
    assert chance_std(y, split, 0.5) == pytest.approx((0.25 * 5 * 3 / 8) ** 0.5 / 5)


def test_all_right_or_all_wrong_leaves_nothing_to_chance():
    y, split = load("cornell").y, fixed_split("cornell", 0)
    assert chance_std(y, split, 0.0) == chance_std(y, split, 1.0) == 0


def test_the_probability_is_that_of_ten_splits():
    stds = np.random.default_rng(0).normal(0, 3, (20_000, 10)).std(1)
    for std in (1.5, 2.5, 4.0):
        assert probability(std, 3, 10) == pytest.approx((stds <= std).mean(), abs=0.02)


def test_intervals_are_told_from_standard_deviations():
    found = printed_stds(["texas", "wisconsin"])
    assert found["probability"].is_monotonic_increasing
    small = found[found["probability"] < RARE]
    # GPRGNN's authors have no Wisconsin.
    assert set(small["graph"]) == {"texas"}
    assert set(small["model"]) == {"MLP-2", "GAT", "APPNP", "GPRGNN", "GraphSAGE"}
    chance = 100 * chance_std(load("texas").y, random_split(load("texas").y, 0), 0.79)
    (sage,) = small[small["model"] == "GraphSAGE"].to_dict("records")
    assert sage["std"] == 1.2 and sage["chance"] == pytest.approx(chance, rel=1e-3)
    assert sage["probability"] == probability(1.2, sage["chance"], 10) and sage["interval"]
    table = printed_std_table(found)
    assert list(table["cells"]) == [2] * 5 and list(table["± too small"]) == [1] * 5
    assert list(table["± read as an interval"]) == [1] * 5
    said = printed_std_sentence(found)
    assert f"5 of {len(found)} ± are so small" in said and "We read 5 of these 5 ±" in said
