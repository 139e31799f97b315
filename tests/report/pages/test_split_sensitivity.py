"""Ten splits and many: cells made by hand, and those that were run."""

import math
import operator
import random

import pytest

from acm.errors import UsageError
from acm.experiments import results
from acm.paper import printed
from acm.report.comparison import by_cell
from acm.report.pages.table_3 import split_sensitivity, split_sensitivity_sentence
from tests.records import make_records


def records(dataset="cora", model="GCN", splits=6, accuracy=lambda split: 0.8 + 0.01 * split):
    return make_records(model, dataset, *map(accuracy, range(splits)))


def test_the_first_splits_are_held_against_the_others():
    found = split_sensitivity(records(), first=3).iloc[0]
    assert (found["graph"], found["model"]) == ("cora", "GCN")
    assert found["first splits"] == "81.00 ± 1.00" and found["all splits"] == "82.50 ± 1.87"
    assert found["difference"] == pytest.approx(81 - 84)  # not 81 − 82.5: those share splits
    assert found["SE"] == pytest.approx(math.sqrt(1 / 3 + 1 / 3))


def test_the_order_of_records_does_not_count():
    there = records() + records("texas", "ACM-GCN") + records("texas")
    found = split_sensitivity(there, first=2)
    shuffled = random.Random(0).sample(there, len(there))
    assert found.equals(split_sensitivity(shuffled, first=2))
    cells = list(zip(found["graph"], found["model"]))  # as the tables have them
    assert cells == [("texas", "GCN"), ("texas", "ACM-GCN"), ("cora", "GCN")]


def test_a_split_that_is_missing_or_repeated_is_refused():
    whole = records()
    texas = records("texas", splits=7)
    for odd in (whole[1:], [*whole, whole[1]], [*whole[:4], *whole[5:]], whole + texas):
        with pytest.raises(UsageError, match="GCN on cora needs one record of every split"):
            split_sensitivity(odd, first=3)


def test_the_sentence_has_the_numbers_of_the_cells():
    paper = printed("sota", model="GCN", dataset="cora").mean / 100
    # On the first three splits the paper's mean, and four points less on the others.
    found = split_sensitivity(
        records(accuracy=lambda k: paper - 0.04 * (k > 2) + 0.0001 * (k % 3)), first=3
    )
    largest = found["difference"].item() / found["SE"].item()
    assert split_sensitivity_sentence(found) == (
        "On the first splits 1 of the 1 cells agree with the paper within 2 standard errors; on all"
        " splits 0 cells agree. Our mean minus the paper's is +0.01 points on average on the first"
        " splits, and −1.99 points on all splits. Between the first and the other splits, the"
        f" largest difference of our means is {largest:.1f} standard errors."
    )
    assert (
        found["verdict, first"].item() == "reproduced" and found["verdict, all"].item() == "lower"
    )
    assert found["difference"].item() == pytest.approx(4)


def test_what_was_run_has_the_table_s_own_splits_and_is_what_the_table_shows():
    cells = by_cell(sorted(results("more-splits").records(), key=lambda r: r.split))
    table = {r.trial: r for r in results("sota").records()}
    assert len(cells) == 18
    for cell in cells:
        ours = [table[r.trial].test_accuracy for r in cell[:10]]  # of the table's own recipe
        # Another machine rounds otherwise, and a training amplifies that.
        mean = sum(r.test_accuracy for r in cell[:10]) / 10
        assert sum(ours) / 10 == pytest.approx(mean, abs=0.005)
    # As the page says.
    by_name = {(c[0].model, c[0].dataset): [r.test_accuracy for r in c] for c in cells}
    gcn, snowball = by_name["GCN", "texas"], by_name["Snowball-2", "texas"]
    assert len(gcn) == 60 and sum(map(operator.ne, gcn, snowball)) == 1
