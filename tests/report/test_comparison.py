"""Verdicts against numbers worked out by hand."""

import dataclasses
import math

import pytest

from acm.errors import UsageError
from acm.experiments import trials_of
from acm.report import agreement, compare, compare_cells, comparison_table, pooled
from acm.report.tables import table_html
from tests.records import make_record


def records(accuracies, dataset="cornell", model="ACM-GCN", split_scheme="random", **options):
    trials = trials_of(
        dataset,
        model,
        split_scheme,
        len(accuracies),
        hyperparameters={"lr": 0.1, "weight_decay": 0.0, "dropout": 0.1},
        **options,
    )
    return [make_record(t, a, device="cpu: x") for t, a in zip(trials, accuracies)]


def test_against_a_calculation_by_hand():
    # Table 3: 94.75 ± 3.8 over ten. Ours 90 and 94: mean 92, std √8.
    found = compare(records([0.90, 0.94]))
    assert (found.mean, found.std) == (pytest.approx(92), pytest.approx(math.sqrt(8)))
    assert found.delta == pytest.approx(-2.75)
    assert found.standard_error == pytest.approx(math.sqrt(8 / 2 + 3.8**2 / 9))
    assert found.verdict == "reproduced"
    sentence = found.sentence()
    assert "92.00 ± 2.83 %" in sentence and "94.75 ± 3.8" in sentence and "−2.75" in sentence
    assert "tab:" not in sentence and '(Table 3, row "ACM-GCN", ' in sentence
    assert sentence.endswith("reproduced.")


@pytest.mark.parametrize(
    "mean, verdict", [(0.90, "lower"), (0.99, "higher"), (0.945, "reproduced")]
)
def test_verdicts(mean, verdict):
    assert compare(records([mean + s for s in (-0.01, 0.01) * 5])).verdict == verdict


def test_the_limit_is_two_standard_errors():
    # No spread of ours: the standard error is 3.8 / √9 = 1.2667, twice it 2.5333.
    assert compare(records([0.9475 - 0.02533] * 10)).verdict == "reproduced"
    assert compare(records([0.9475 - 0.02534] * 10)).verdict == "lower"


def test_deezer_has_five_splits():
    found = compare(records([0.67] * 5, "deezer-europe"))
    assert found.standard_error == pytest.approx(0.38 / math.sqrt(4))


@pytest.mark.parametrize(
    "arguments, options, mean",
    [
        (("cornell", "ACM-GCN", "fixed"), {}, 85.14),
        (("cornell", "ACM-GCN"), {"channels": "low+high"}, 82.13),
        (("cornell", "ACMII-GCN"), {"channels": "low+identity"}, 94.26),
        (("cornell", "ACM-SGC-1"), {"mix": False}, 88.2),
        (("cornell", "ACM-GCN"), {"mix": False}, 91.64),
        (("cornell", "ACM-GCN"), {"channels": "low+high", "mix": False}, None),
        (("cornell", "ACM-GCN", "fixed"), {"mix": False}, None),
        (("cornell", "ACM-GCN"), {"channels": "high+identity"}, None),
        (("cornell", "ACM-GCN"), {"channels": "low"}, None),
        (("synthetic", "ACM-GCN"), {}, None),
        (("cornell", "ACM-GCN+"), {}, None),
    ],
)
def test_which_cell_of_which_table(arguments, options, mean):
    found = compare(records([0.5, 0.6], *arguments, **options))
    assert (found.paper_value.mean if found.paper_value else None) == mean
    if mean is None:
        assert found.verdict == "not comparable"
        assert found.sentence().endswith("the paper prints no mean for this cell.")


def test_one_split_has_no_verdict_and_no_spread():
    found = compare(records([0.9]))
    assert found.verdict == "not comparable" and "no verdict" in found.sentence()
    assert found.ours == "90.00" and "90.00 % over 1 random split;" in found.sentence()
    assert comparison_table([found])["ours"].tolist() == ["90.00"]
    assert compare(records([0.9, 0.9])).ours == "90.00 ± 0.00"


def test_a_ratio_close_to_the_limit_is_not_rounded_onto_it():
    # No spread of ours: the standard error is 3.8 / √9 = 1.2667, and Δ 1.96 of them.
    found = compare(records([0.9475 - 1.96 * 0.012667] * 10))
    assert ">−1.96</td>" in table_html(comparison_table([found]), "one cell")
    assert ", or 1.96 standard errors of 1.27 points: reproduced." in found.sentence()


def test_nothing_to_compare_is_an_empty_table():
    empty, full = comparison_table([]), comparison_table(compare_cells(records([0.5, 0.6])))
    assert len(empty) == 0 and list(empty.columns) == list(full.columns)


def test_a_split_counts_once():
    record, other = records([0.5, 0.6])
    with pytest.raises(UsageError, match="split 0 has several records: each split counts once"):
        compare([record, other, record])


def test_records_of_several_cells_are_refused():
    mixed = records([0.5]) + records([0.5], "texas")
    with pytest.raises(UsageError, match="differ in dataset"):
        compare(mixed)
    with pytest.raises(UsageError, match="no record"):
        compare([])


def test_cells_are_told_apart_and_tabulated():
    found = compare_cells(
        [
            *records([0.90, 0.94]),
            *records([0.5, 0.6], "synthetic"),
            *records([0.9, 0.9], split_scheme="fixed"),
        ]
    )
    assert [(len(c.records), c.records[0].dataset) for c in found] == [
        (2, "cornell"),
        (2, "synthetic"),
        (2, "cornell"),
    ]
    table = comparison_table(found)
    assert table["paper"].tolist() == ["94.75 ± 3.8", "–", "85.14 ± 6.07"]
    assert table["Δ"].tolist() == pytest.approx([-2.75, math.nan, 4.86], nan_ok=True)
    assert table["verdict"].tolist() == ["reproduced", "not comparable", "higher"]


def test_pooled_differences_by_hand():
    # Δ = -2.75 (SE √(8/2 + 3.8²/9)) and -5.41 (SE √(2/2 + 2.88²/9)); Texas is 94.92 ± 2.88.
    found = pooled(
        compare_cells(
            [
                *records([0.90, 0.94]),
                *records([0.8851, 0.9051], "texas"),
                *records([0.5, 0.6], "synthetic"),
            ]
        )
    )
    assert (found.below, found.cells) == (2, 2)
    assert found.delta == pytest.approx((-2.75 - 5.41) / 2)
    squares = 4 + 3.8**2 / 9 + 1 + 2.88**2 / 9
    assert found.standard_error == pytest.approx(math.sqrt(squares) / 2)
    assert found.p_value == pytest.approx(0.5)  # two heads or two tails
    assert found.sentence().startswith("In 2 of 2 cells our mean is below")
    with pytest.raises(UsageError, match="no cell is comparable"):
        pooled(compare_cells(records([0.5, 0.6], "synthetic")))


@pytest.mark.parametrize(
    "signs, p_value", [("-" * 9, 2 / 512), ("-+", 1.0), ("--+", 1.0), ("-" * 8 + "+", 20 / 512)]
)
def test_the_sign_test(signs, p_value):
    cells = [c for s in signs for c in compare_cells(records([0.9475 + float(f"{s}0.02")] * 3))]
    assert pooled(cells).p_value == pytest.approx(p_value)


def test_agreement_with_a_stored_record():
    (record,) = records([0.5])
    assert "to the last bit" in agreement(record, dataclasses.replace(record, seconds=9.0))
    other = dataclasses.replace(record, test_accuracy=0.75, device="cpu: y")
    assert "50.00 % on this machine and 75.00 % in the stored record" in agreement(record, other)
    assert agreement(record, other).startswith("**Different rounding.**")
    same_place = dataclasses.replace(record, test_accuracy=0.75)
    assert agreement(record, same_place).startswith("**Different.**")
    assert "cpu: x" in agreement(record, other) and "cpu: y" in agreement(record, other)
    other_loss = dataclasses.replace(record, val_loss=1.5)
    assert "1.500000 in the stored record" in agreement(record, other_loss)
    with pytest.raises(UsageError, match="different trials"):
        agreement(record, dataclasses.replace(record, split=3))


def test_a_number_of_other_splits_is_not_comparable():
    def against(split_scheme, model="GPRGNN", dataset="cora"):
        trials = trials_of(dataset, model, split_scheme, splits=2)
        return compare([make_record(t, a) for t, a in zip(trials, (0.79, 0.8))])

    assert against("random").verdict == "not comparable"
    assert "the paper's number is for sparse splits" in against("random").sentence()
    assert against("sparse").verdict == "reproduced"
    error = against("sparse").standard_error
    assert error == pytest.approx(((0.5**0.5) ** 2 / 2 + (0.36 / 1.96) ** 2) ** 0.5)
    # The paper has no sparse splits of its own.
    for model, dataset in (("ACM-GCN", "cora"), ("GPRGNN", "texas"), ("MLP-2", "cora")):
        assert against("sparse", model, dataset).paper_value is None
