"""One row by two definitions: which cells are taken, and what is said of them."""

import pytest

from acm.errors import UsageError
from acm.experiments import trials_of
from acm.paper import printed
from acm.report.pages.provenance import variants, variants_table
from tests.records import make_record


def sage(dataset, aggregator, accuracy, lr=0.01, splits=2, **changes):
    """Records of a cell whose accuracies lie half a point about their mean."""
    trials = trials_of(
        dataset, "GraphSAGE", splits=splits, hyperparameters={"aggregator": aggregator, "lr": lr}
    )
    parts = [0.5 if t.split % 2 else -0.5 for t in trials]
    return [make_record(t, (accuracy + p) / 100, **changes) for t, p in zip(trials, parts)]


def test_of_every_value_the_best_by_validation_counts():
    paper = printed("sota", model="GraphSAGE", dataset="cora")
    found = variants(
        [
            *sage("cora", "mean", 95, val_accuracy=0.8),
            *sage("cora", "gcn", 50, lr=0.05, val_accuracy=0.3),
            *sage("cora", "gcn", paper.mean, val_accuracy=0.6),
            *sage("cora", "gcn", 99, lr=0.5, val_accuracy=0.9, splits=1),  # on fewer splits
            *sage("texas", "mean", 90),
            *[make_record(t, 0.1) for t in trials_of("cora", "GCN", splits=2)],  # another model
        ],
        "graphsage",
        "aggregator",
    )
    assert found[["graph", "aggregator", "ours", "verdict"]].values.tolist() == [
        ["texas", "mean", "90.00 ± 0.71", "higher"],
        ["cora", "gcn", "86.58 ± 0.71", "reproduced"],
        ["cora", "mean", "95.00 ± 0.71", "higher"],
    ]
    table = variants_table(found)
    assert table.loc["cora"].tolist() == [paper.shown, "86.58 ± 0.71", "95.00 ± 0.71"]
    assert list(table.index) == ["texas", "cora"] and table.loc["texas", "gcn"] == "–"


def test_what_every_model_has_is_a_variant_too():
    records = [
        make_record(t, p)
        for p in (0.0, 0.5)
        for t in trials_of("cora", "FAGCN", splits=2, hyperparameters={"dropout": p})
    ]
    found = variants(records, "FAGCN", "dropout")
    assert found["dropout"].tolist() == [0, 0.5]
    assert found["ours"].tolist() == ["0.00 ± 0.00", "50.00 ± 0.00"]


def test_what_there_is_none_of_is_one_line():
    with pytest.raises(UsageError, match="unknown hyperparameter 'agregator'"):
        variants([], "GraphSAGE", "agregator")


def test_lengths_stand_beside_the_accuracies_by_value():
    records = [*sage("cora", "gcn", 86, lr=0.1, epochs=250), *sage("cora", "gcn", 85, epochs=1200)]
    table = variants(records, "GraphSAGE", "lr")
    assert table["lr"].tolist() == [0.01, 0.1]
    assert table["ours"].tolist() == ["85.00 ± 0.71", "86.00 ± 0.71"]
    assert table["epochs"].tolist() == ["1,200", "250"]
