"""A cell's trials: the paper's optimum where nothing is given, and what is refused."""

import numpy as np
import pytest

from acm.errors import UsageError
from acm.experiments import Trial, prepare, recipe, trials_of


def test_the_papers_optimum_is_the_default():
    # Hyperparameter table of the ACM-GNNs: Cornell, ACM-GCN.
    trials = trials_of("cornell", "acm-gcn")
    assert trials[3] == Trial(
        "cornell", "ACM-GCN", "random", 3, 0, 0.05, 1e-2, 0.2, 64, "low+high+identity", True
    )
    assert [t.split for t in trials] == list(range(10))


def test_given_hyperparameters_replace_the_papers():
    trial = trials_of("cornell", "ACM-GCN", hyperparameters={"lr": 0.3, "dropout": None})[0]
    assert (trial.lr, trial.weight_decay, trial.dropout) == (0.3, 1e-2, 0.2)


def test_the_fixed_protocol_has_its_own_optimum():
    random, fixed = (
        trials_of("cornell", "ACM-GCN", splits=1),
        trials_of("cornell", "ACM-GCN", "fixed"),
    )
    assert (fixed[0].weight_decay, fixed[0].dropout) == (5e-4, 0.5)
    assert len(fixed) == 10 and random[0] != fixed[0]


def test_deezer_has_five_splits_under_either_protocol():
    assert len(trials_of("deezer-europe", "ACM-GCN")) == 5


def test_every_split_and_seed_has_its_own_entropy():
    drawn = {t.entropy for seed in range(5) for t in trials_of("cornell", "ACM-GCN", seed=seed)}
    assert len(drawn) == 50


def test_channels_and_mixing():
    trial = trials_of("cornell", "ACM-GCN", channels="low+high", mix=False)[0]
    assert (trial.channels, trial.mix) == ("low+high", False)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("cornel", "GCN"), "did you mean cornell"),
        (("cornell", "GNC"), "did you mean GCN"),
        (("cornell", "GCN", "randon"), "random, fixed"),
        (("cornell", "GCN", "random", 0), "splits=0: a whole number from 1 up"),
        (("cornell", "ACM-GCN", "fixed", 11), "cornell has at most 10 fixed"),
        (("deezer-europe", "ACM-GCN", "random", 6), "deezer-europe has at most 5 "),
        (("cornell", "GCN", "random", 1, -1), "seed=-1: a whole number from 0 up"),
        (("cornell", "GCN", "random", 1, 0, {"leraning_rate": 1}), "unknown hyperparameter"),
        (("cornell", "GCN", "random", 1, 0, {"lr": 0.0}), "lr=0.0: a positive finite number"),
        (
            ("cornell", "GCN", "random", 1, 0, {"lr": float("nan")}),
            "lr=nan: a positive finite number",
        ),
        (("cornell", "GCN", "random", 1, 0, {"hidden": 0}), "hidden=0: a whole number from 1 up"),
        (
            ("cornell", "GCN", "random", 1, 0, {"dropout": 1.0}),
            "dropout=1.0: a number from 0 to below 1",
        ),
        (("cornell", "GAT", "random", 1, 0, {}, "low"), "GAT has no channels to choose from"),
        (("cornell", "GAT", "random", 1, 0, {}, None, True), "GAT has no channels"),
        (("cornell", "GCN", "random", 1, 0, {"layers": 3}), "unknown hyperparameter 'layers'"),
        (("cora", "GCNII", "random", 1, 0, {"layers": 2.5}), "layers=2.5: a whole number"),
        (("cora", "GCNII", "random", 1, 0, {"layers": 0}), "layers=0"),
        (("cora", "GCNII", "random", 1, 0, {"alpha": "x"}), "alpha='x': a number"),
        (("cora", "GCN+JK", "random", 1, 0, {"jk": "sum"}), "jk"),
        (("cora", "GCN+JK", "random", 1, 0, {"jk": "a b"}), "jk='a b': a word"),
        (("cornell", "GCN", "random", 1, 0, {}, "low+mid"), "low, high, identity"),
        (("cornell", "GCN", "random", 1, 0, {}, ""), "low, high, identity"),
        (("cornell", "GCN", "random", 1, 0, {}, "low", "no"), "mix='no': True, False or None"),
        (("cornell", "GCN", "random", 1, True), "seed=True: a whole number"),
        (("cornell", "GCN", "random", 1, 0.5), "seed=0.5: a whole number"),
        (("cornell", "GCN", "random", True), "splits=True: a whole number"),
        (("cornell", "GCN", "random", "2"), "splits='2': a whole number"),
        (("cornell", "GCN", "random", 10**9), "at most 10,000"),
        (("synthetic", "GCN", "fixed"), "synthetic has at most 0 fixed"),
        (("cornell", "GCN", "random", 1, 0, {"hidden": 64.7}), "hidden=64.7: a whole number"),
        (("cornell", "GCN", "random", 1, 0, {"hidden": True}), "hidden=True: a whole number"),
        (("cornell", "GCN", "random", 1, 0, {"lr": "x"}), "lr='x': a positive finite number"),
        (("cornell", "GCN", "random", 1, 0, {"lr": True}), "lr=True: a positive finite number"),
        (
            ("cornell", "GCN", "random", 1, 0, {"lr": float("inf")}),
            "lr=inf: a positive finite number",
        ),
        (("cornell", "GCN", "random", 1, 0, {"lr": 10**400}), "lr=10+: a positive finite number"),
        (
            ("cornell", "GCN", "random", 1, 0, {"weight_decay": [1]}),
            r"weight_decay=\[1\]: a finite number",
        ),
        (
            ("cornell", "GCN", "random", 1, 0, {"weight_decay": -1}),
            "weight_decay=-1: a finite number",
        ),
        (("cornell", "GCN", "random", 1, 0, {"dropout": float("nan")}), "dropout=nan: a number"),
        (
            ("chameleon_filtered", "GCN", "random", 1, 0, {"lr": 0.01}),
            "no hyperparameters for GCN on chameleon_filtered: give lr, weight_decay and dropout",
        ),
        (("cornell", "SGC-1", "random", 1, 0, {"hidden": 8}), "hidden=8 has no effect on SGC-1"),
        (("cornell", "SGC-1", "random", 1, 0, {"dropout": 0.5}), "dropout=0.5 has no effect"),
        (("tolokers", "GCN"), "give lr, weight_decay and dropout"),
    ],
)
def test_bad_input_is_said_in_one_line(arguments, words):
    with pytest.raises(UsageError, match=words) as error:
        trials_of(*arguments)
    assert "\n" not in str(error.value)


def test_a_model_without_a_published_optimum_runs_when_all_is_given():
    values = {"lr": 0.1, "weight_decay": 0.0, "dropout": 0.0}
    assert trials_of("cornell", "MLP-2", hyperparameters=values)[0].hidden == 64


def test_numbers_of_any_library_make_one_trial():
    plain = trials_of("cornell", "GCN", "random", 2, 1, {"lr": 1, "hidden": 32})
    numpy = {"lr": np.float64(1), "hidden": np.int64(32)}
    other = trials_of("cornell", "GCN", "random", np.int64(2), np.int64(1), numpy)
    assert other == plain and repr(other) == repr(plain)


def test_a_models_own_hyperparameters_are_in_one_spelling():
    trial = trials_of("cora", "GCNII", splits=1)[0]
    assert (trial.options, trial.channels, trial.mix) == (
        "alpha=0.2 lambda=0.5 layers=16", "low", False,
    )  # fmt: skip
    given = {"layers": "4", "lambda": 1, "alpha": None}
    other = trials_of("cora", "GCNII", splits=1, hyperparameters=given)[0]
    assert other.options == "alpha=0.2 lambda=1.0 layers=4"
    assert (other.lr, other.hidden) == (trial.lr, trial.hidden)
    jk = trials_of("cora", "GAT+JK", splits=1)[0]
    assert (jk.options, jk.channels, jk.mix) == ("heads=2 jk=cat layers=2", "", False)
    assert trials_of("cora", "ACM-GCN", splits=1)[0].options == ""
    assert trials_of("cora", "ACM-GCN+", splits=1)[0].channels == ""


def test_a_width_that_is_not_given_is_the_recipes():
    values = {"lr": 0.1, "weight_decay": 0.0, "dropout": 0.0}
    assert trials_of("cora", "FAGCN", hyperparameters=values)[0].hidden == 32
    assert trials_of("minesweeper", "FAGCN", splits=1, hyperparameters=values)[0].hidden == 64


def test_sparse_splits_are_drawn_for_every_graph():
    trials = trials_of("deezer-europe", "GPRGNN", "sparse", splits=7)
    assert [t.split for t in trials] == list(range(7))
    assert recipe("GPRGNN", "pubmed", "sparse").lr == 0.05
    assert "random splits" in recipe("ACM-GCN", "cora", "sparse").source
    task = prepare("synthetic")
    for split_scheme, share in (("random", 0.6), ("sparse", 0.025)):
        (trial,) = trials_of("synthetic", "GCN", split_scheme, splits=1)
        split = task.split(trial)
        assert int(split.train.sum()) == 5 * round(share * len(task.y) / 5)
