"""Signs: one way of writing them, in sentences and in tables."""

import doctest
import math
import re
from pathlib import Path

import pandas as pd
import pytest

import acm.report
from acm.paper import printed
from acm.report import compare, comparison_table, numbers, pooled
from acm.report.cells import table_3
from acm.report.numbers import SignedTable, signed
from acm.report.pages.models import cards
from acm.report.reasons import explain
from acm.report.tables import cells_html, matrix_html
from tests.records import make_records as records


def test_the_examples():
    assert doctest.testmod(numbers) == doctest.TestResults(0, 2)


def test_left_out_records_are_counted_by_reason():
    counts = {"another training rule": 3, "another numerics version": 1}
    assert numbers.left_out_sentence({}) == numbers.left_out_sentence({"another rule": 0}) == ""
    assert numbers.left_out_sentence(counts) == (
        "The table leaves out 4 records: 3 of another training rule, 1 of another numerics version."
    )


@pytest.mark.parametrize(
    ("number", "decimals", "shown"),
    [(-0.004, 2, "0.00"), (0.004, 2, "0.00"), (-0.006, 2, "−0.01"), (12, 1, "+12.0"),
     (-12.25, 0, "−12"), (0.4, 0, "0"), (math.inf, 1, "+inf"), (-math.nan, 1, "–")],
)  # fmt: skip
def test_signs_by_hand(number, decimals, shown):
    assert signed(number, decimals) == shown


def test_no_other_place_of_the_room_writes_a_sign():
    for path in Path(acm.report.__file__).parent.glob("*.py"):
        found = re.findall(r"""[:"']\+\.""", path.read_text(encoding="utf-8"))
        assert len(found) == (path.name == "numbers.py"), (path.name, found)


def test_sentences_and_tables_have_the_same_sign():
    found = compare(records("ACM-GCN", "cornell", 0.92, 0.94))  # 94.75 in Table 3
    assert "a difference of −1.75 points" in found.sentence()
    assert "The mean difference is −1.75 points" in pooled([found]).sentence()
    table = comparison_table([found])
    for said in (table._repr_html_(), repr(table[["Δ", "SE", "verdict"]])):
        assert "−1.75" in said and "-1.75" not in said
    assert table["Δ"].tolist() == [-1.75]  # a number still


def test_a_signed_table_keeps_its_signs_when_it_is_cut_and_rounded():
    table = pd.DataFrame({"a": [-1.25, math.nan], "b": [-1.5, 2], "c": ["x", "y"]})
    table = SignedTable.of(table, {"a": 1})
    for kept in (table, table.drop(columns="c"), table.round(2), table.head(5)):
        assert "−1.2" in repr(kept) and "–" in repr(kept) and "-1.5" in repr(kept)
    assert "−" not in repr(table.drop(columns="a")) and "−1.2" in table._repr_html_()


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
    table = cells_html(cells, explain(cells))
    assert f">{shown}</td>" in table and table.count(text) == 1  # in the note below
    assert shown in matrix_html(cells) and text not in matrix_html(cells)
    card = cards([model], cells)
    assert card.count(text) == (dataset == "cora") and (shown in card) == (dataset == "cora")


def test_only_what_is_broken_is_shown_otherwise_than_it_is_printed():
    whole = printed("sota", model="GCN", dataset="cora")
    assert whole.shown == whole.text and whole.misprint == ""
    assert "backslash" in printed("sota", model="GPRGNN", dataset="cora").misprint
    time = printed(
        "hyperparameters_fixed", model="ACMII-Snowball-2", dataset="texas",
        column="average total time",
    )  # fmt: skip
    assert (time.text, time.shown) == ("11.36ms/2.30", "2.3s")
    assert time.misprint == "printed as “11.36ms/2.30”: a broken cell"
    assert "“" not in cells_html(table_3(records("GCN", "cora", 0.5, 0.6)), {})
