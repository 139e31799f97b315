"""Rows that are another model's: which are found, and what is said of both trainings."""

import pytest

from acm.errors import UsageError
from acm.experiments.store import results
from acm.paper import hyperparameters, printed
from acm.report.cells import table_3
from acm.report.pages.provenance import (
    epoch_time_ratio,
    rows_with_dropout,
    swapped_rows,
    swapped_rows_sentence,
    swapped_rows_table,
)
from tests.records import make_records


def test_rows_with_a_dropout_are_those_of_three_graphs():
    assert rows_with_dropout("sgc-2") == ["squirrel", "citeseer", "pubmed"]
    assert rows_with_dropout("SGC-1") == ["pubmed"]


def test_times_are_the_printed_ones_of_graphs_that_both_have():
    ratio = epoch_time_ratio("SGC-2")
    assert len(ratio) == 9 and "deezer-europe" not in ratio
    assert ratio["squirrel"] == 35.06 / 35.20 and ratio["pubmed"] == 1


def row_of(dataset):
    row = hyperparameters("SGC-2", dataset)
    return {"lr": row.lr, "weight_decay": row.weight_decay, "dropout": row.dropout}


def test_a_row_counts_once_both_trainings_are_there():
    own = [
        *make_records("SGC-2", "citeseer", *[0.78, 0.80] * 5),
        *make_records("SGC-2", "squirrel", *[0.42, 0.44] * 5),
        # The other model with hyperparameters of its own is not what is asked for.
        *make_records("ACM-SGC-2", "citeseer", *[0.1] * 10),
        # Nor is one with a channel alone, and half a cell does not count.
        *make_records(
            "ACM-SGC-2", "citeseer", *[0.1] * 10, channels="low", hyperparameters=row_of("citeseer")
        ),
        *make_records("ACM-SGC-2", "squirrel", *[0.4] * 5, hyperparameters=row_of("squirrel")),
    ]
    assert swapped_rows(table_3(own), own, "SGC-2") == []
    asked = row_of("citeseer")
    form = make_records("ACM-SGC-2", "citeseer", *[0.80, 0.82] * 5, hyperparameters=asked)
    assert swapped_rows(table_3(form), form, "SGC-2") == []  # the model itself was not run
    (found,) = swapped_rows(table_3(own + form), own + form, "sgc-2")
    paper = printed("sota", model="SGC-2", dataset="citeseer")
    assert (
        found.dataset == "citeseer"
        and found.as_acm.paper_value == paper == found.as_printed.paper_value
    )
    assert (found.as_printed.verdict, found.as_acm.verdict) == ("lower", "reproduced")
    assert swapped_rows_table([found]).loc["SGC-2, citeseer"].to_dict() == {
        "paper": paper.shown, "epochs, paper": "826",
        "SGC": "79.00 ± 1.05", "epochs, SGC": "203",
        "ACM-SGC": "81.00 ± 1.05", "epochs, ACM-SGC": "203",
    }  # fmt: skip
    assert swapped_rows_sentence([found]) == (
        "Of 1 printed means the ACM form agrees with 1, the printed model with none."
    )


def test_other_models_and_no_rows_are_refused():
    for ask in (epoch_time_ratio, rows_with_dropout, lambda name: swapped_rows({}, [], name)):
        with pytest.raises(UsageError, match="SGC-9"):
            ask("SGC-9")
        with pytest.raises(UsageError, match="GCNII.*SGC-1, SGC-2"):
            ask("GCNII")
    with pytest.raises(UsageError, match="no row"):
        swapped_rows_table([])


def test_the_records_bear_out_what_the_errata_and_reasons_say():
    records = results("sota").records()
    found = swapped_rows(table_3(records), records, "SGC-2")
    assert [each.dataset for each in found] == ["squirrel", "citeseer"]
    for each in found:
        assert each.as_printed.verdict != "reproduced" and each.as_acm.verdict == "reproduced"
        here = [sum(r.epochs for r in c.records) / 10 for c in (each.as_printed, each.as_acm)]
        assert abs(here[1] / each.epochs - 1) < 0.06 and abs(here[0] / each.epochs - 1) > 0.2
