"""Signs: one way of writing them, in sentences and in tables."""

import doctest
import math

import pytest

from acm.paper import printed
from acm.report import compare, comparison, comparison_table, pooled
from acm.report.cells import table_3
from acm.report.comparison import signed
from acm.report.tables import table_html
from tests.records import make_records as records


def test_the_examples():
    assert doctest.testmod(comparison) == doctest.TestResults(0, 1)


@pytest.mark.parametrize(
    ("number", "decimals", "shown"),
    [(-0.004, 2, "0.00"), (0.004, 2, "0.00"), (-0.006, 2, "−0.01"), (12, 1, "+12.0"),
     (-12.25, 0, "−12"), (0.4, 0, "0"), (math.inf, 1, "+inf"), (-math.nan, 1, "–")],
)  # fmt: skip
def test_signs_by_hand(number, decimals, shown):
    assert signed(number, decimals) == shown


def test_sentences_and_tables_have_the_same_sign():
    found = compare(records("ACM-GCN", "cornell", 0.92, 0.94))  # 94.75 in Table 3
    assert "a difference of −1.75 points" in found.sentence()
    assert "The mean difference is −1.75 points" in pooled([found]).sentence()
    table = comparison_table([found])
    assert ">−1.75</td>" in table_html(table, "one cell")
    assert table["Δ"].tolist() == pytest.approx([-1.75])  # a number still


@pytest.mark.parametrize(
    ("model", "dataset", "shown", "text"),
    [
        ("GPRGNN", "cora", "79.51 ± 0.36", "79.51pm 0.36"),
        ("FAGCN", "deezer-europe", "66.86 ± 0.53", "66.86 p, 0.53"),
        ("ACM-GCNII*", "pubmed", "90.18 ± 0.51", "90.18 0.51"),
    ],
)
def test_a_cell_that_the_paper_breaks_is_shown_as_it_is_meant(model, dataset, shown, text):
    there = printed("sota", model=model, dataset=dataset)
    assert (there.shown, there.text) == (shown, text) and text in there.misprint
    cells = table_3(records(model, dataset, 0.5, 0.6, split_scheme=there.split_scheme))
    said = cells[model, dataset].sentence()
    assert f"the paper has {shown} (Table 3" in said and said.count(text) == 1
    table = table_html(comparison_table(cells.values()), "one cell")
    assert f">{shown}</td>" in table and text not in table


def test_only_what_is_broken_is_shown_otherwise_than_it_is_printed():
    whole = printed("sota", model="GCN", dataset="cora")
    assert whole.shown == whole.text and whole.misprint == ""
    assert "backslash" in printed("sota", model="GPRGNN", dataset="cora").misprint
    time = printed(
        "hyperparameters_fixed", model="ACMII-Snowball-2", dataset="texas",
        column="average total time",
    )  # fmt: skip
    assert (time.text, time.shown) == ("11.36ms/2.30", "2.3s")
    assert time.misprint == "printed as “11.36ms/2.30”: a typing error"
