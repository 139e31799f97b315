"""Test that a result depends on the trial's setting only, not on the batch or threads."""

import copy
import dataclasses

import pytest
import torch

from acm import kernels
from acm.errors import UsageError
from acm.filters import low_pass
from acm.registry import build
from acm.training import Setting, TrainingProtocol, train
from acm.training.stack import Stack

PROTOCOL = TrainingProtocol(max_epochs=80, window=10)


def assert_same(ours, theirs):
    """Assert that all bits of two results are equal, except for the training time."""
    assert ours.history == theirs.history and ours.error == theirs.error
    names = ("best_epoch", "epochs", "val_accuracy", "val_loss")
    assert [getattr(ours, n) for n in names] == [getattr(theirs, n) for n in names]
    assert torch.equal(ours.prediction, theirs.prediction)
    weights = theirs.model.state_dict()
    assert all(torch.equal(w, weights[n]) for n, w in ours.model.state_dict().items())


@pytest.mark.parametrize(
    "name, sparse",
    [("ACM-GCN", True), ("ACMII-GCN", False), ("GCN", False), ("MLP-2", True)],
)
def test_the_same_to_the_bit_in_any_batch_beside_any_neighbors(task, words, trials, name, sparse):
    x, graph, y, *_ = task
    x = words[0] if sparse else x
    model = build(name, x.shape[1], 2, hidden=8)
    trials = [dataclasses.replace(t, lr=3 * t.lr) for t in trials]
    alone = train(model, x, graph, y, trials, protocol=PROTOCOL, batch=1)
    assert len({f.epochs for f in alone}) > 2  # the trials leave their batch at different epochs
    for batch in (2, 3, 7):
        for order in (range(7), [3, 6, 0, 5, 1, 4, 2]):
            fits = train(
                model, x, graph, y, [trials[k] for k in order], protocol=PROTOCOL, batch=batch
            )
            for k, fitted in zip(order, fits):
                assert_same(fitted, alone[k])
    twins = train(model, x, graph, y, trials[:2] * 2, protocol=PROTOCOL)
    for k, fitted in enumerate(twins):
        assert_same(fitted, alone[k % 2])


def test_without_dropout_too(task, words, trials):
    x, graph, y, *_ = task
    model = build("ACM-GCN", 12, 2, hidden=8, dropout=0.0)
    trials = [dataclasses.replace(t, dropout=None, lr=3 * t.lr) for t in trials]
    args = model, words[0], graph, y, trials
    alone = train(*args, protocol=PROTOCOL, batch=1)
    assert len({f.epochs for f in alone}) > 2
    for batch in (3, 7):
        for ours, theirs in zip(train(*args, protocol=PROTOCOL, batch=batch), alone):
            assert_same(ours, theirs)
    # A trial with dropout in the batch requires a separate evaluation pass.
    mixed = [*trials[:2], dataclasses.replace(trials[2], dropout=0.5)]
    fits = train(*args[:4], mixed, protocol=PROTOCOL, batch=3)
    for ours, theirs in zip(fits[:2], alone):
        assert_same(ours, theirs)


@pytest.mark.parametrize("name", ["ACM-GCN", "ACM-SGC-1", "GCN", "MLP-2"])
def test_a_neighbor_that_diverges_is_told_of_and_changes_nothing(task, trials, name):
    x, graph, y, *_ = task
    model = build(name, 8, 2, hidden=8)
    wild = dataclasses.replace(trials[1], lr=1e30)
    args = model, x, graph, y
    options = dict(protocol=TrainingProtocol(max_epochs=30), batch=3)
    expected = train(*args, [trials[0], trials[2]], **options)
    fits = train(*args, [trials[0], wild, trials[2]], **options, keep_going=True)
    assert_same(fits[0], expected[0])
    assert_same(fits[2], expected[1])
    assert "the loss is not a number at epoch" in fits[1].error and "\n" not in fits[1].error
    assert fits[1].epochs == len(fits[1].history.val_loss) < 30
    numbers = []
    with pytest.raises(UsageError, match="not a number at epoch") as error:
        options |= dict(on_epoch=lambda epoch, number: numbers.append(epoch), batch=1)
        train(*args, [wild, trials[0], trials[2]], **options)
    assert "\n" not in str(error.value)
    assert numbers.count(29) == 2  # the other trials were finished before the error was raised


def test_a_trial_that_diverges_at_once_has_no_selected_epoch(task, trials):
    x, graph, y, *_ = task
    x = x * torch.nan
    for name in ("GCN", "ACM-GCN"):
        (fitted,) = train(build(name, 8, 2), x, graph, y, trials[:1], keep_going=True)
        assert "at epoch 0" in fitted.error and fitted.epochs == 0
        assert fitted.model is fitted.prediction is fitted.best_epoch is fitted.val_loss is None


@pytest.fixture
def large():
    """Return a graph with 3000 nodes and 48 columns, large enough for shared loops."""
    generator = torch.Generator().manual_seed(2)
    y = torch.randint(3, (3000,), generator=generator)
    x = torch.randn(3000, 20, generator=generator) + y[:, None]
    edges = torch.randint(3000, (2, 6000), generator=generator)
    part = torch.randperm(3000, generator=generator)
    train, val = torch.zeros(2, 3000, dtype=torch.bool)
    train[part[:1500]], val[part[1500:2200]] = True, True
    settings = [Setting(train, val, 0.02, 1e-3, seed, 0.4) for seed in range(2)]
    return x, low_pass(torch.cat([edges, edges.flip(0)], 1), 3000), y, settings


@pytest.mark.parametrize("name", ["ACM-GCN", "GCN"])
def test_the_same_to_the_bit_on_any_number_of_threads(large, name, monkeypatch):
    x, graph, y, settings = large
    assert 3000 * 3 * 16 > 2 * kernels._SMALL
    shared, helpers = [], kernels._helpers
    monkeypatch.setattr(kernels, "_helpers", lambda: shared.append(1) or helpers())
    results = []
    for number in (1, 2, 3):
        shared.clear()
        with kernels.threads(number):
            model = build(name, 20, 3, hidden=16)
            fits = train(
                model, x, graph, y, settings, protocol=TrainingProtocol(max_epochs=4), batch=2
            )
        assert bool(shared) == (number > 1)
        results.append(fits)
    for others in results[1:]:
        for ours, theirs in zip(others, results[0]):
            assert_same(ours, theirs)


def test_weights_are_of_the_selected_epoch_and_nobody_elses(task, trials):
    x, graph, y, *_ = task
    fits = train(build("ACM-GCN", 8, 2, hidden=8), x, graph, y, trials[:3], protocol=PROTOCOL)
    for fitted, trial in zip(fits, trials):
        logits = fitted.model(x, graph)
        assert not fitted.model.training and torch.equal(logits.argmax(1), fitted.prediction)
        loss = torch.nn.functional.cross_entropy(logits[trial.val], y[trial.val]).item()
        assert loss == pytest.approx(fitted.val_loss, rel=1e-5)
        assert fitted.val_loss == min(fitted.history.val_loss)
        assert fitted.best_epoch == fitted.history.val_loss.index(fitted.val_loss)
    before = [f.model(x, graph) for f in fits[1:]]
    with torch.no_grad():
        for weight in fits[0].model.parameters():
            weight.fill_(7.0)
    assert all(torch.equal(f.model(x, graph), b) for f, b in zip(fits[1:], before))
    loss = fits[1].model.train()(x, graph).sum()  # the returned models can be trained further
    loss.backward()
    none = train(build("GCN", 8, 2), x, graph, y, trials[:2], protocol=PROTOCOL, keep_weights=False)
    assert all(f.model is None and f.prediction is not None for f in none)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("stack", [True, False, None])
def test_the_given_module_is_left_as_it_is(task, trials, training, stack):
    x, graph, y, *_ = task
    model = build("ACM-GCN", 8, 2, hidden=8).train(training)
    before = copy.deepcopy(model.state_dict())
    buffers = {name: b.clone() for name, b in model.named_buffers()}
    train(model, x, graph, y, trials[:2], protocol=TrainingProtocol(max_epochs=5), stack=stack)
    assert all(part.training == training for part in model.modules())
    assert all(torch.equal(w, before[name]) for name, w in model.state_dict().items())
    assert {name: b.item() for name, b in model.named_buffers()} == {
        name: b.item() for name, b in buffers.items()
    }
    assert all(w.grad is None and w.requires_grad for w in model.parameters())


def test_initial_weights_are_those_of_the_seed(trials):
    model = build("ACM-GCN", 8, 2, hidden=8)
    stack = Stack(copy.deepcopy(model), trials)
    for row, trial in enumerate(trials):
        torch.manual_seed(trial.seed)
        model.reset_parameters()
        for name, weight in model.named_parameters():
            assert torch.equal(stack.state(row)[name], weight)
