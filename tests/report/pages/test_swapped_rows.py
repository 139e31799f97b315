"""Rows that are another model's: which are found, and the comparison of both trainings."""

from acm.experiments.store import results
from acm.paper import hyperparameters, printed
from acm.report.cells import table_3
from acm.report.pages.provenance import swapped_rows
from tests.records import make_records


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
    assert swapped_rows(table_3(own), own, "SGC-2").empty
    asked = row_of("citeseer")
    form = make_records("ACM-SGC-2", "citeseer", *[0.80, 0.82] * 5, hyperparameters=asked)
    assert swapped_rows(table_3(form), form, "SGC-2").empty  # the model itself was not run
    (found,) = swapped_rows(table_3(own + form), own + form, "SGC-2").to_dict("records")
    assert found == {
        "graph": "citeseer",
        "paper": printed("sota", model="SGC-2", dataset="citeseer").shown, "epochs": "826",
        "SGC-2": "79.00 ± 1.05", "epochs, SGC-2": "203", "verdict, SGC-2": "lower",
        "ACM-SGC-2": "81.00 ± 1.05", "epochs, ACM-SGC-2": "203", "verdict, ACM-SGC-2": "reproduced",
    }  # fmt: skip


def test_the_records_bear_out_what_the_errata_and_reasons_say():
    records = results("sota").records()
    found = swapped_rows(table_3(records), records, "SGC-2")
    assert found["graph"].tolist() == ["squirrel", "citeseer"]
    assert set(found["verdict, ACM-SGC-2"]) == {"reproduced"}
    assert "reproduced" not in set(found["verdict, SGC-2"])
    for _, row in found.iterrows():
        paper, sgc, acm = (
            float(row[name].replace(",", ""))
            for name in ("epochs", "epochs, SGC-2", "epochs, ACM-SGC-2")
        )
        assert abs(acm / paper - 1) < 0.06 and abs(sgc / paper - 1) > 0.2
