"""Ten splits and many: cells made by hand, and those that were run."""

import math
import operator
import random
import statistics

import pytest

from acm.errors import UsageError
from acm.experiments import results
from acm.paper import printed
from acm.report.pages.table_3 import (
    split_sensitivity,
    split_sensitivity_sentence,
    split_sensitivity_table,
)
from tests.records import make_records


def records(dataset="cora", model="GCN", splits=6, accuracy=lambda split: 0.8 + 0.01 * split):
    return make_records(model, dataset, *map(accuracy, range(splits)))


def test_the_first_splits_are_held_against_the_others():
    (found,) = split_sensitivity(records(), first=3)
    assert (found.dataset, found.model) == ("cora", "GCN")
    assert found.first.mean == pytest.approx(81) and found.whole.mean == pytest.approx(82.5)
    assert found.difference == pytest.approx(81 - 84)  # not 81 − 82.5: those are not independent
    assert found.standard_error == pytest.approx(math.sqrt(1 / 3 + 1 / 3))
    assert [len(c.records) for c in (found.first, found.whole)] == [3, 6]


def test_the_order_of_records_does_not_count():
    there = records() + records("texas", "ACM-GCN") + records("texas")
    found = split_sensitivity(there, first=2)
    shuffled = random.Random(0).sample(there, len(there))
    assert found == split_sensitivity(shuffled, first=2)
    places = [(d.dataset, d.model) for d in found]  # as the tables have them
    assert places == [("texas", "GCN"), ("texas", "ACM-GCN"), ("cora", "GCN")]


def test_a_split_that_is_missing_is_said():
    whole = records()
    for there in (whole[1:], whole[:4], whole[:3]):
        with pytest.raises(UsageError, match="GCN on cora: splits 0 to 2 and two or more others"):
            split_sensitivity(there, first=3)
    with pytest.raises(UsageError, match="first"):
        split_sensitivity(whole, first=1)
    for odd in ([*whole, whole[1]], [*whole, whole[5]], [*whole[:4], *whole[5:]]):
        with pytest.raises(UsageError, match="each once and none left out"):
            split_sensitivity(odd, first=3)


@pytest.mark.parametrize("graph", ["synthetic", "minesweeper", "deezer-europe"])
def test_what_the_paper_has_no_number_of_is_said(graph):
    options = dict(lr=0.1, weight_decay=0.0, dropout=0.5)
    there = make_records("Snowball-2", graph, *[0.5] * 5, hyperparameters=options)
    with pytest.raises(UsageError, match=f"Snowball-2 on {graph}: the paper has no mean"):
        split_sensitivity(there, first=3)


def test_nothing_and_unequal_numbers_of_splits_are_said():
    for function in (split_sensitivity_table, split_sensitivity_sentence):
        with pytest.raises(UsageError, match="no cell was trained on more splits"):
            function([])
        with pytest.raises(UsageError, match="equally many"):
            function(split_sensitivity(records() + records("texas", splits=7), first=3))


def test_the_sentence_has_the_numbers_of_the_cells():
    paper = printed("sota", model="GCN", dataset="cora").mean / 100
    # On the first three splits the paper's mean, and four points less on the others.
    found = split_sensitivity(
        records(accuracy=lambda k: paper - 0.04 * (k > 2) + 0.0001 * (k % 3)), first=3
    )
    said = split_sensitivity_sentence(found)
    assert "+4.00 on cora" in said
    largest = found[0].difference / found[0].standard_error
    assert f"of a cell is {largest:.1f} of its standard errors" in said
    assert "+4.00 on cora (−0.01 and +1.99);" in said
    assert "less ours is −0.01 points on average on 3 splits, and +1.99 on all 6." in said
    assert "On 3 splits 1 of the 1 cells agree" in said and "on 6 splits 0 do" in said
    table = split_sensitivity_table(found)
    assert list(table["verdict, 3"]) == ["reproduced"] and list(table["verdict, 6"]) == ["lower"]
    assert table["difference"].item() == pytest.approx(4)


def test_what_was_run_has_the_table_s_own_splits_and_is_what_the_table_shows():
    found = split_sensitivity(results("more-splits").records())
    table = {r.trial: r for r in results("sota").records()}
    assert len(found) == 18
    for draw in found:
        ours = [table[r.trial] for r in draw.first.records]  # a cell of the table's own recipe
        accuracy = [100 * r.test_accuracy for r in ours]
        # Another machine rounds otherwise, and a training amplifies that.
        assert statistics.fmean(accuracy) == pytest.approx(draw.first.mean, abs=0.5)
    # As the page says.
    gcn, snowball = (
        [r.test_accuracy for r in d.whole.records]
        for model in ("GCN", "Snowball-2")
        for d in found
        if (d.model, d.dataset) == (model, "texas")
    )
    assert len(gcn) == 60 and sum(map(operator.ne, gcn, snowball)) == 1
