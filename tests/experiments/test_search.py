"""Choosing by validation: what is chosen, what is kept, and what is never seen."""

import dataclasses
import itertools
import sys
from collections import Counter

import numpy as np
import pytest
import torch

from acm.errors import UsageError
from acm.experiments import Store, Validation, Workers, grid, prepare, search, trials_of
from acm.experiments.run import Task
from tests.experiments.test_record import make_validation

SPACE = {"lr": [0.05, 0.01], "weight_decay": [1e-3], "dropout": [0.0, 0.5], "hidden": [8]}
HERE = Workers("here", 1)


def find(**options):
    return search(
        "synthetic", "GCN", splits=3, space=SPACE, progress=False, workers=HERE, **options
    )


def test_the_grid_is_the_papers():
    space = grid("ACM-GCN", "cornell")
    assert np.prod([len(values) for values in space.values()]) == 270
    assert space["hidden"] == [64] and space["lr"] == [0.01, 0.05, 0.1]
    for model, dataset in (("MLP-2", "cornell"), ("ACM-GCN", "cornell_corrected")):
        with pytest.raises(UsageError, match=f"no search ranges for {model} on {dataset}: give"):
            grid(model, dataset)
    with pytest.raises(UsageError, match="unknown model"):
        grid("ACM-GNC", "cornell")
    with pytest.raises(UsageError, match="unknown data set"):
        grid("ACM-GCN", "cornel")


def test_values_that_are_named_twice_are_tried_once_and_the_width_need_not_be_said():
    space = {"lr": (0.01, 0.010, 0.05), "weight_decay": [0], "dropout": np.array([0.5])}
    found = search("synthetic", "MLP-2", splits=1, space=space, progress=False, workers=HERE)
    assert [c.hyperparameters for c in found.surface] == [
        {"hidden": 64, "lr": lr, "weight_decay": 0, "dropout": 0.5} for lr in (0.01, 0.05)
    ]


def test_halving_keeps_a_third_of_the_configurations_for_three_times_as_many_splits(monkeypatch):
    def validate(trials, *_):
        return [make_validation(t, val_accuracy=t.lr) for t in trials]

    module = sys.modules["acm.experiments.search"]
    monkeypatch.setattr(module, "validate_trials", validate)
    space = {"lr": [k / 270 for k in range(1, 271)], "weight_decay": [0], "dropout": [0]}
    found = search("synthetic", "MLP-1", splits=10, space=space, strategy="halving")
    assert found.trainings == 270 + 90 * 2 + 30 * 6 + 10 and found.chosen["lr"] == 1
    assert Counter(c.splits for c in found.surface) == {1: 180, 3: 60, 9: 20, 10: 10}


def test_the_choice_is_the_best_of_the_whole_surface(tmp_path):
    found = find(store=tmp_path / "search.csv")
    rows = Store(tmp_path / "search.csv", Validation).records()
    assert found.trainings == len(rows) == 4 * 3
    points = [dict(zip(SPACE, values)) for values in itertools.product(*SPACE.values())]
    assert [c.hyperparameters for c in found.surface] == points
    for c in found.surface:
        own = [
            r
            for r in rows
            if (r.lr, r.dropout) == tuple(c.hyperparameters[k] for k in ("lr", "dropout"))
        ]
        accuracies = [r.val_accuracy for r in own]
        assert c.splits == 3 and c.accuracy == pytest.approx(np.mean(accuracies))
        assert c.std == pytest.approx(np.std(accuracies, ddof=1))
    best = max(found.surface, key=lambda c: (c.accuracy, -c.loss))
    assert found.chosen == best.hyperparameters


def test_halving_trains_less_and_its_survivors_are_those_of_the_first_splits():
    whole, halved = find(), find(strategy="halving")
    assert halved.trainings == 4 * 1 + 1 * 2 < whole.trainings
    assert sorted(c.splits for c in halved.surface) == [1, 1, 1, 3]
    first = {tuple(c.hyperparameters.items()): c for c in find_on_one_split().surface}
    survivor = next(c for c in halved.surface if c.splits == 3)
    best = max(first.values(), key=lambda c: (c.accuracy, -c.loss))
    assert survivor.hyperparameters == best.hyperparameters == halved.chosen


def find_on_one_split():
    return search("synthetic", "GCN", splits=1, space=SPACE, progress=False, workers=HERE)


def test_a_search_goes_on_where_it_was(tmp_path):
    path = tmp_path / "search.csv"
    whole = find(store=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:6]) + lines[6][:20])  # five rows, and one that was cut short
    again = find(store=path)
    assert again == whole
    assert len(path.read_text().splitlines()) == 13


def test_no_test_label_can_matter(monkeypatch):
    # Labels of the nodes that no trial trains or validates on are replaced by others.
    expected = find_on_one_split()
    task = prepare("synthetic")
    (trial,) = trials_of("synthetic", "GCN", splits=1)
    hidden = task.split(trial).test
    y = torch.where(hidden, (task.y + 1) % task.num_classes, task.y)
    assert not torch.equal(y, task.y)
    split = task.split(trial)
    monkeypatch.setattr("acm.experiments.run.prepare", lambda *_: dataclasses.replace(task, y=y))
    monkeypatch.setattr(Task, "split", lambda self, trial: split)
    assert find_on_one_split() == expected
    assert not any("test" in field.name for field in dataclasses.fields(Validation))


def test_a_configuration_that_diverges_is_not_chosen():
    space = SPACE | {"lr": [1e38, 0.01], "dropout": [0.0]}
    found = search("synthetic", "GCN", splits=2, space=space, progress=False, workers=HERE)
    assert found.surface[0].accuracy == -1 and found.chosen["lr"] == 0.01
    with pytest.raises(UsageError, match="no configuration could be trained"):
        search("synthetic", "GCN", splits=1, space=space | {"lr": [1e38]}, progress=False)


def test_a_models_own_hyperparameters_are_searched_as_well(tmp_path):
    space = {"lr": [0.01], "weight_decay": [0.0], "dropout": [0.0]}
    space |= {"alpha": [0.1, 0.9], "K": [2]}
    store = tmp_path / "search.csv"
    ranges = dict(splits=2, space=space, progress=False, workers=HERE, store=store)
    found = search("synthetic", "appnp", **ranges)
    assert [c.hyperparameters["alpha"] for c in found.surface] == [0.1, 0.9]
    seen = Store(store, Validation).records()
    assert [r.options for r in seen] == ["K=2 alpha=0.1"] * 2 + ["K=2 alpha=0.9"] * 2
    assert seen[0].val_loss != seen[2].val_loss
    assert found.chosen["K"] == 2 and set(found.chosen) == {*space, "hidden"}
    for values, words in (
        ({"alpha": ["x"]}, "alpha='x': a number is needed"),
        ({"alpha": [1.5]}, "alpha is 1.5"),
        ({"K": [2.5]}, "K=2.5: a whole number is needed"),
        ({"alpha": []}, r"range of alpha is \[\]"),
    ):
        with pytest.raises(UsageError, match=words):
            search("synthetic", "APPNP", **(ranges | {"space": space | values}))


@pytest.mark.parametrize(
    "options, words",
    [
        (dict(strategy="random"), "the strategies are grid, halving"),
        (dict(space={"lr": []}), r"range of lr is \[\]: a list of values"),
        (dict(space={"lr": 0.01}), "range of lr is 0.01: a list of values"),
        (dict(space={"lr": "0.01"}), "range of lr is '0.01': a list of values"),
        (dict(space={"lr": [[1]]}), r"lr=\[1\]: a positive finite number"),
        (dict(space={"lr": [None]}), "lr=None: a positive finite number"),
        (dict(space={"momentum": [0.9]}), "unknown hyperparameter"),
        (dict(space=SPACE | {"alpha": [0.1]}), "unknown hyperparameter 'alpha'"),
        (dict(space=SPACE | {"lr": [-1.0]}), "lr"),
        (dict(space=SPACE | {"hidden": [8.5]}), "hidden"),
    ],
)
def test_bad_searches_are_one_line(options, words):
    with pytest.raises(UsageError, match=words) as error:
        search("synthetic", "GCN", splits=1, progress=False, **options)
    assert "\n" not in str(error.value)
