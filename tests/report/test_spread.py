"""Printed spreads against chance: by simulation, by the splits themselves, and by hand."""

from dataclasses import replace

import numpy as np
import pytest

from acm.data import load, random_split
from acm.experiments import cell, results
from acm.paper import published
from acm.report.spread import RARE, Spread, nodes_tested, spread_sentence, spread_table, spreads
from tests.records import make_record


def records(dataset, protocol="random", nodes=61, wrong=(1, 2)):
    """Some that got so many of the tested nodes wrong."""
    trial = cell(dataset, "GCN", protocol, splits=1)[0]
    return [make_record(trial, (nodes - k) / nodes) for k in wrong]


def test_the_nodes_of_a_split_follow_from_the_accuracies():
    assert nodes_tested(records("texas")) == {("texas", "random"): 61}
    assert nodes_tested([]) == {}
    # 58 of 60 are 29 of 30, and 57 of 60 are 19 of 20; together they need 60.
    assert nodes_tested(records("texas", nodes=60, wrong=(2, 3))) == {("texas", "random"): 60}
    both = [*records("cora", nodes=542), *records("cora", "sparse", nodes=2573)]
    assert nodes_tested(both) == {("cora", "random"): 542, ("cora", "sparse"): 2573}


@pytest.mark.parametrize("dataset", ["texas", "chameleon", "cora"])
def test_they_are_those_of_the_splits(dataset):
    split = random_split(load(dataset).y, 0)
    found = nodes_tested(results("sota").records())
    assert found[dataset, "random"] == int(split.test.sum())


def test_chance_is_what_drawing_nodes_gives():
    # A model that gets 226 of 251 right: 10 splits of 80 test nodes, drawn 20,000 times.
    right, whole, tested = 226, 251, 80
    rng = np.random.default_rng(0)
    drawn = rng.hypergeometric(right, whole - right, tested, (20_000, 10))
    spread = (100 * drawn / tested).std(1)
    printed = published("sota", model="FAGCN", dataset="wisconsin")
    one = next(s for s in spreads(records("wisconsin", nodes=80)) if s.published == printed)
    assert one.published.mean == pytest.approx(100 * right / whole, abs=0.5)
    assert (spread**2).mean() ** 0.5 == pytest.approx(one.chance * 0.9**0.5, rel=0.02)
    for std in (1.5, 2.5, 4.0):
        at = Spread(replace(printed, std=std), one.nodes, one.chance)
        assert at.probability == pytest.approx((spread <= std).mean(), abs=0.03)


def test_intervals_are_told_from_standard_deviations():
    found = spreads([*records("texas"), *records("wisconsin", nodes=80)])
    assert [s.probability for s in found] == sorted(s.probability for s in found)
    small = {(s.published.name, s.published.dataset) for s in found if s.probability < RARE}
    # GPRGNN's authors have no Wisconsin.
    assert small == {(m, "texas") for m in ("MLP-2", "GAT", "APPNP", "GPRGNN", "GraphSAGE")}
    table = spread_table(found)
    assert list(table["cells"]) == [2] * 5 and list(table["± too small"]) == [1] * 5
    assert list(table["± taken for an interval"]) == [1] * 5
    said = spread_sentence(found)
    assert f"5 of {len(found)} are so small" in said and "none of these is of a cell" in said


def test_without_records_nothing_is_said():
    assert spreads([]) == [] and "too few records" in spread_sentence([])
    assert spread_table([]).empty
