"""Compare the trainer with the protocol, with validation losses from a script."""

import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from acm.errors import UsageError
from acm.nn import product
from acm.registry import build
from acm.training import RELEASED, Setting, TrainingProtocol
from acm.training import train as train_model

SETTINGS = dict(lr=0.05, weight_decay=1e-3, seed=0)


def fit_one(model, x, graph, y, train, val, protocol=RELEASED, **settings):
    """Train one trial."""
    (fitted,) = train_model(
        model, x, graph, y, [Setting(train, val, **settings)], protocol=protocol
    )
    return fitted


class Scripted(nn.Module):
    """Follow a script of validation losses: the logits are set epoch by epoch."""

    def __init__(self, losses):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(1))
        self.losses, self.epoch = losses, -1

    def reset_parameters(self):
        nn.init.uniform_(self.w)

    def forward(self, x, graph):
        self.epoch += self.training
        # Cross-entropy of logits (0, log(e^l - 1)) at class 0 is l.
        other = torch.tensor(self.losses[self.epoch]).expm1().log()
        return torch.stack([torch.zeros(4), other.expand(4) + 0 * self.w], dim=1)


def run_script(losses, protocol):
    y = torch.zeros(4, dtype=torch.long)
    mask = torch.tensor([True, True, False, False])
    setting = Setting(mask, ~mask, **SETTINGS)
    # The model is not stackable, since its logits do not depend on its weights.
    return train_model(Scripted(losses), None, None, y, [setting], protocol=protocol, stack=False)[
        0
    ]


def test_stops_at_the_first_epoch_beyond_the_window_above_the_mean_of_the_window_before():
    # Losses are flat, then below, then above the mean; the rule first applies to epoch 201.
    flat = [1.0] * 200
    for tail, stop in (([9.0, 1.5], 201), ([1.0, 0.9, 1.2], 202), ([0.5, 0.5, 0.5, 0.6, 1.1], 204)):
        fitted = run_script(flat + tail + [9.0] * 10, RELEASED)
        losses = flat + tail
        mean = sum(losses[stop - 200 : stop]) / 200
        assert losses[stop] > mean
        assert fitted.epochs == stop + 1, tail
    assert (
        run_script([0.5 - 1e-4 * k for k in range(400)], TrainingProtocol(max_epochs=400)).epochs
        == 400
    )


def test_the_window_is_the_losses_before_this_one():
    # A mean over other losses would stop the training at another epoch.
    losses = [5.0] + [1.0] * 3 + [1.4, 1.05, 3.0]
    protocol = TrainingProtocol(window=3, max_epochs=7)
    # At epoch 4, 1.4 > mean(1, 1, 1); a window from epoch 0 would give 1.4 < 2.
    assert run_script(losses, protocol).epochs == 5
    assert run_script([5.0, 5.0, 1.0, 1.0, 2.0, 1.3, 1.5], protocol).epochs == 7


def test_selects_the_first_epoch_with_the_lowest_validation_loss():
    fitted = run_script([3.0, 1.0, 0.5, 0.5, 2.0], TrainingProtocol(max_epochs=5))
    assert (fitted.best_epoch, fitted.epochs) == (2, 5)
    assert fitted.val_loss == pytest.approx(0.5, abs=1e-5)
    assert fitted.history.val_loss == pytest.approx([3.0, 1.0, 0.5, 0.5, 2.0], abs=1e-5)


def test_selects_by_accuracy_where_the_protocol_says_so():
    # With a loss above log 2, the wrong class 1 is predicted.
    protocol = TrainingProtocol(max_epochs=4, select="accuracy", window=None)
    fitted = run_script([1.0, 0.6, 0.3, 0.9], protocol)
    assert (fitted.best_epoch, fitted.val_accuracy) == (1, 1.0)


def test_the_stopping_rule_is_the_protocols():
    rule = TrainingProtocol(window=3)
    losses = [1.0, 0.9, 0.8, 0.9]
    assert not rule.should_stop(losses)  # epoch 3 is the last epoch without the rule
    assert rule.should_stop([*losses, 0.87]) and not rule.should_stop([*losses, 0.86])
    assert not TrainingProtocol(window=None).should_stop([0.1] * 300 + [9.0])
    assert rule.score(0.5, 0.9) == -0.5
    assert TrainingProtocol(select="accuracy").score(0.5, 0.9) == 0.9


@pytest.mark.parametrize("name", ["ACM-GCN", "MLP-2"])
def test_same_seed_same_result_to_the_bit_whatever_the_global_generator(task, name):
    x, graph, y, train, val = task
    protocol = TrainingProtocol(max_epochs=30)
    model = build(name, 8, 2, hidden=8, dropout=0.5)
    first = fit_one(model, x, graph, y, train, val, **SETTINGS, protocol=protocol)
    another = build(name, 8, 2, hidden=8, dropout=0.5)
    torch.manual_seed(77)
    before = torch.random.get_rng_state()
    second = fit_one(another, x, graph, y, train, val, **SETTINGS, protocol=protocol)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert first.history == second.history
    other = fit_one(
        model, x, graph, y, train, val, lr=0.05, weight_decay=1e-3, seed=1, protocol=protocol
    )
    assert other.history != first.history


def test_the_returned_model_is_the_selected_epochs(task):
    x, graph, y, train, val = task
    fitted = fit_one(
        build("ACM-GCN", 8, 2, hidden=8),
        x,
        graph,
        y,
        train,
        val,
        **SETTINGS,
        protocol=TrainingProtocol(max_epochs=60),
    )
    assert not fitted.model.training
    logits = fitted.model(x, graph)
    assert torch.equal(logits.argmax(1), fitted.prediction)
    loss = nn.functional.cross_entropy(logits[val], y[val]).item()
    assert loss == pytest.approx(fitted.val_loss, rel=1e-6)
    assert fitted.val_loss == min(fitted.history.val_loss)
    accuracy = (fitted.prediction[val] == y[val]).double().mean().item()
    assert accuracy == fitted.val_accuracy == fitted.history.val_accuracy[fitted.best_epoch]


@pytest.mark.parametrize("name", ["GCN", "ACM-GCN"])
def test_labels_outside_training_and_validation_are_never_read(task, trials, name):
    x, graph, y, *_ = task
    visible = torch.stack([t.train | t.val for t in trials[:3]]).any(0)
    assert 0 < int((~visible).sum())
    generator = torch.Generator().manual_seed(0)
    poisons = [
        torch.full((60,), -1),
        torch.full((60,), -12345),  # cross-entropy would fail on this label
        torch.randint(2, (60,), generator=generator),
        torch.full((60,), 2**62),
    ]
    results = []
    for poison in (y, *poisons):
        hidden = torch.where(visible, y, poison)
        results.append(
            train_model(
                build(name, 8, 2),
                x,
                graph,
                hidden,
                trials[:3],
                protocol=TrainingProtocol(max_epochs=20),
            )
        )
    for unseen in results[1:]:
        for ours, theirs in zip(results[0], unseen):
            assert ours.history == theirs.history
            assert torch.equal(ours.prediction, theirs.prediction)


def test_nor_is_a_label_that_only_another_trial_may_see(task, trials):
    x, graph, y, *_ = task
    first, second = trials[:2]
    only_second = (second.train | second.val) & ~(first.train | first.val)
    assert only_second.any()
    original, changed = (
        train_model(
            build("GCN", 8, 2),
            x,
            graph,
            labels,
            [first, second],
            protocol=TrainingProtocol(max_epochs=20),
        )
        for labels in (y, torch.where(only_second, 1 - y, y))
    )
    assert original[0].history == changed[0].history
    assert original[1].history != changed[1].history


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_a_step_is_the_textbooks(task, optimizer):
    """Compare with the formulas of Adam (decay in the gradient) and AdamW, in float64."""
    x, graph, y, train, val = task
    x = x.double()
    lr, decay = 0.1, 0.2
    fitted = fit_one(
        build("MLP-1", 8, 2).double(),
        x,
        graph,
        y,
        train,
        val,
        lr=lr,
        weight_decay=decay,
        seed=3,
        protocol=TrainingProtocol(optimizer, max_epochs=3),
    )
    torch.manual_seed(3)
    model = build("MLP-1", 8, 2).double()
    torch.manual_seed(3)
    model.reset_parameters()
    w = next(model.parameters()).detach()[:, 0].clone()
    m, v = torch.zeros_like(w), torch.zeros_like(w)
    losses = []
    for t in range(1, 4):
        w.requires_grad_()
        loss = nn.functional.cross_entropy((x @ w)[train], y[train])
        losses.append(loss.item())
        (grad,) = torch.autograd.grad(loss, w)
        w = w.detach()
        if optimizer == "adam":
            grad = grad + decay * w
        else:
            w = w * (1 - lr * decay)
        m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2
        w = w - lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    assert fitted.history.train_loss == pytest.approx(losses, rel=1e-9)


def test_learns(task):
    x, graph, y, train, val = task
    fitted = fit_one(build("ACM-GCN", 8, 2), x, graph, y, train, val, **SETTINGS)
    assert fitted.val_accuracy >= 0.8 and fitted.epochs > 201


def test_dropout_of_a_setting_goes_before_the_models(task):
    x, graph, y, train, val = task
    protocol = TrainingProtocol(max_epochs=10)
    losses = [
        fit_one(
            build("GCN", 8, 2, dropout=drop), x, graph, y, train, val, protocol, **SETTINGS, **d
        ).history.train_loss
        for drop, d in ((0.1, {"dropout": 0.6}), (0.6, {}), (0.1, {}), (0.1, {"dropout": 0.0}))
    ]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2] != losses[3]


def test_without_dropout_one_pass_serves_training_and_evaluation(task):
    x, graph, y, train, val = task
    calls = []
    model = build("GCN", 8, 2)
    model.register_forward_hook(lambda module, *_: calls.append(module.training))
    for dropout, passes in ((0.5, 2), (0.0, 1)):
        calls.clear()
        fit_one(
            model,
            x,
            graph,
            y,
            train,
            val,
            TrainingProtocol(max_epochs=40),
            **SETTINGS,
            dropout=dropout,
        )
        assert passes * 40 <= len(calls) <= passes * 40 + 9  # at most 9 more, for setup


def test_on_epoch_hears_of_every_epoch_and_may_end_the_training(task, trials):
    x, graph, y, *_ = task
    calls = []
    fits = train_model(
        build("MLP-2", 8, 2), x, graph, y, trials[:3], protocol=TrainingProtocol(window=20),
        batch=3, on_epoch=lambda *args: calls.append(args),
    )  # fmt: skip
    epochs = sorted(f.epochs for f in fits)
    assert [e for e, _ in calls] == list(range(epochs[-1]))
    assert [n for _, n in calls] == [sum(e < f for f in epochs) for e in range(epochs[-1])]

    def enough(epoch, number):
        if epoch == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train_model(build("MLP-2", 8, 2), x, graph, y, trials[:3], on_epoch=enough)


def test_no_trials_are_no_fits(task):
    x, graph, y, *_ = task
    assert train_model(build("GCN", 8, 2), x, graph, y, []) == []


def test_trials_may_be_a_single_one_or_any_iterable(task, trials):
    x, graph, y, *_ = task
    model, short = build("GCN", 8, 2), TrainingProtocol(max_epochs=3)
    (one,) = train_model(model, x, graph, y, trials[0], protocol=short)
    several = train_model(model, x, graph, y, (t for t in trials[:3]), protocol=short)
    assert len(several) == 3 and several[0].history == one.history


def test_a_protocol_that_cannot_be_is_refused_in_one_line():
    for change, message in (
        (dict(optimizer="sgd"), "unknown optimizer .sgd.*: the optimizers are adam, adamw"),
        (dict(select="los"), r"unknown selection 'los' \(did you mean loss\?\)"),
        (dict(max_epochs=0), "max_epochs=0: a whole number from 1 up"),
        (dict(max_epochs=2.5), "max_epochs=2.5: a whole number"),
        (dict(window=0), "window=0: a whole number from 1 up"),
        (dict(window=True), "window=True: a whole number"),
    ):
        with pytest.raises(UsageError, match=message) as error:
            TrainingProtocol(**change)
        assert "\n" not in str(error.value)


def test_bad_input_is_said_in_one_line(task):
    x, graph, y, train, val = task
    model = build("GCN", 8, 2)
    good = Setting(train, val, **SETTINGS)
    for change, words in (
        (dict(val=train), "30 nodes are in train and val: the masks must not overlap"),
        (dict(train=train.long()), "the train mask has shape .* a bool mask"),
        (dict(val=torch.zeros_like(val)), "the val mask has .* with at least one node"),
        (dict(train=train[:5]), "the val mask has shape"),
        (dict(lr=float("nan")), "lr is nan"),
        (dict(lr=float("inf")), "lr is inf"),
        (dict(lr=0), "lr is 0"),
        (dict(lr="0.1"), "lr is '0.1': a finite number is needed"),
        (dict(lr=None), "lr is None: a finite number is needed"),
        (dict(weight_decay=-1.0), "weight_decay is -1.0"),
        (dict(weight_decay=True), "weight_decay is True: a finite number is needed"),
        (dict(dropout=1.0), "dropout is 1.0"),
        (dict(dropout=-0.1), "dropout is -0.1"),
        (dict(seed=-1), "seed=-1: a whole number from 0"),
        (dict(seed=1.5), "seed=1.5: a whole number"),
    ):
        with pytest.raises(UsageError, match=words) as error:
            dataclasses.replace(good, **change)
        assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="negative label"):
        train_model(model, x, graph, y - 1, [good])
    with pytest.raises(UsageError, match="has no acm.nn.Dropout, so dropout must be None"):
        train_model(nn.Linear(8, 2), x, graph, y, [dataclasses.replace(good, dropout=0.5)])
    with pytest.raises(UsageError, match="not a number at epoch 0"):
        fit_one(model, x * torch.nan, graph, y, train, val, **SETTINGS)


def test_what_cannot_be_trained_is_told_in_one_line(task, trials):
    x, graph, y, *_ = task
    model = build("GCN", 8, 2)
    for args, message in (
        ((model, x, graph, y.double(), trials), "y has .* whole numbers of shape"),
        ((model, x, graph, y[None], trials), r"y has shape \[1, 60\]"),
    ):
        with pytest.raises(UsageError, match=message) as error:
            train_model(*args)
        assert "\n" not in str(error.value)
    for batch in (0, -1, 1.5, "2", True):
        for stack in (True, False, None):
            with pytest.raises(UsageError, match="batch=.* a whole number from 1"):
                train_model(model, x, graph, y, trials, batch=batch, stack=stack)


def test_whole_numbers_of_numpy_are_seeds(task, trials):
    x, graph, y, *_ = task
    model, short = build("GCN", 8, 2), TrainingProtocol(max_epochs=3)
    ours, theirs = (
        train_model(
            model, x, graph, y, [dataclasses.replace(trials[0], seed=seed)], protocol=short
        )[0]
        for seed in (np.int64(7), 7)
    )
    assert ours.history == theirs.history
    largest = dataclasses.replace(trials[0], seed=2**64 - 1)
    assert train_model(model, x, graph, y, [largest], protocol=short)[0].history != ours.history


@pytest.mark.parametrize("kind", [torch.int32, torch.uint8, torch.bool])
def test_labels_of_any_whole_type_are_classes(task, trials, kind, loops):
    x, graph, y, *_ = task
    ours, theirs = (
        train_model(
            build("GCN", 8, 2),
            x,
            graph,
            labels,
            trials[:2],
            protocol=TrainingProtocol(max_epochs=5),
        )
        for labels in (y.to(kind), y)
    )
    assert [f.history for f in ours] == [f.history for f in theirs]


class Shifted(nn.Module):
    """Return other logits in training than in evaluation, without random draws."""

    stackable = True

    def __init__(self, rows=60):
        super().__init__()
        self.weight, self.rows = nn.Parameter(torch.empty(8, 2)), rows

    def reset_parameters(self):
        nn.init.normal_(self.weight)

    def forward(self, x, graph):
        out = product(x[: self.rows], self.weight)
        return out - torch.tensor([2.0, 0.0]) if self.training else out


def test_the_training_pass_serves_for_evaluation_only_where_it_is_one(task, trials):
    x, graph, y, *_ = task
    plain = [dataclasses.replace(t, dropout=None) for t in trials[:2]]
    protocol = TrainingProtocol(max_epochs=20)
    together = train_model(Shifted(), x, graph, y, plain, protocol=protocol)
    for ours, theirs in zip(together, train_model(Shifted(), x, graph, y, plain, stack=False,
                                          protocol=protocol)):  # fmt: skip
        assert ours.stacked and ours.best_epoch == theirs.best_epoch
        assert ours.val_loss == pytest.approx(theirs.val_loss, rel=1e-5)
        assert torch.equal(ours.model(x, graph).argmax(1), ours.prediction)


@pytest.mark.parametrize("rows", [1, 10, 59])
@pytest.mark.parametrize("stack", [True, False, None])
def test_logits_of_other_nodes_are_refused(task, trials, rows, stack):
    x, graph, y, *_ = task
    plain = [dataclasses.replace(t, dropout=None) for t in trials[:2]]
    with pytest.raises(UsageError, match=rf"logits of shape \[{rows}, 2\]: .* 60 labels"):
        train_model(Shifted(rows), x, graph, y, plain, stack=stack)
    doubled = torch.cat([x, x])
    model = Shifted(120)
    with pytest.raises(UsageError, match=r"logits of shape \[120, 2\]"):
        train_model(model, doubled, graph, y, plain, stack=stack)
