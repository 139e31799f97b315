"""The trainer against what the protocol says, with losses written by hand."""

import pytest
import torch
from torch import nn

from acm.errors import UsageError
from acm.filters import low_pass
from acm.nn import build
from acm.training import DEEZER, RELEASED, Protocol, fit, protocol_for

SETTINGS = dict(lr=0.05, weight_decay=1e-3, seed=0)


@pytest.fixture
def task():
    """Two noisy clusters on a ring with chords."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 2
    x = torch.randn(60, 8, generator=generator) + y[:, None] * 1.0
    edge_index = torch.stack([torch.arange(60), (torch.arange(60) + 2) % 60])
    edge_index = torch.cat([edge_index, edge_index.flip(0)], 1)
    part = torch.randperm(60, generator=generator)
    train, val = torch.zeros(2, 60, dtype=torch.bool)
    train[part[:30]], val[part[30:45]] = True, True
    return x, low_pass(edge_index, 60), y, train, val


class Scripted(nn.Module):
    """A model whose validation loss follows a script: logits are set epoch by epoch."""

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
    return fit(Scripted(losses), None, None, y, mask, ~mask, **SETTINGS, protocol=protocol)


def test_stops_at_the_first_epoch_beyond_the_window_above_the_mean_of_the_window_before():
    # Flat, then below the mean, then above it: epoch 200 is not asked, 201 is the first that is.
    flat = [1.0] * 200
    for rest, stop in (([9.0, 1.5], 201), ([1.0, 0.9, 1.2], 202), ([0.5, 0.5, 0.5, 0.6, 1.1], 204)):
        fitted = run_script(flat + rest + [9.0] * 10, RELEASED)
        losses = flat + rest
        mean = sum(losses[stop - 200 : stop]) / 200
        assert losses[stop] > mean
        assert fitted.epochs == stop + 1, rest
    assert run_script([0.5 - 1e-4 * k for k in range(400)], Protocol(max_epochs=400)).epochs == 400


def test_the_window_is_the_losses_before_this_one():
    # Were the own loss or one more in the mean, this would stop elsewhere.
    losses = [5.0] + [1.0] * 3 + [1.4, 1.05, 3.0]
    protocol = Protocol(window=3, max_epochs=7)
    # epoch 4: 1.4 > mean(1, 1, 1); with a window from epoch 0 it would be 1.4 < 2.
    assert run_script(losses, protocol).epochs == 5
    assert run_script([5.0, 5.0, 1.0, 1.0, 2.0, 1.3, 1.5], protocol).epochs == 7


def test_selects_the_first_epoch_with_the_lowest_validation_loss():
    fitted = run_script([3.0, 1.0, 0.5, 0.5, 2.0], Protocol(max_epochs=5))
    assert (fitted.best_epoch, fitted.epochs) == (2, 5)
    assert fitted.val_loss == pytest.approx(0.5, abs=1e-5)
    assert fitted.history.val_loss == pytest.approx([3.0, 1.0, 0.5, 0.5, 2.0], abs=1e-5)


def test_selects_by_accuracy_where_the_protocol_says_so():
    # A loss above log 2 means class 1 is predicted: wrong.
    protocol = Protocol(max_epochs=4, select="accuracy", window=None)
    fitted = run_script([1.0, 0.6, 0.3, 0.9], protocol)
    assert (fitted.best_epoch, fitted.val_accuracy) == (1, 1.0)


def test_deezer_is_trained_by_its_own_protocol():
    assert protocol_for("deezer-europe") == DEEZER == Protocol("adamw", 500, None, "accuracy")
    assert protocol_for("cora") == RELEASED == Protocol("adam", 5000, 200, "loss")


@pytest.mark.parametrize("name", ["ACM-GCN", "MLP-2"])
def test_same_seed_same_result_to_the_bit_whatever_the_global_generator(task, name):
    x, graph, y, train, val = task
    protocol = Protocol(max_epochs=30)
    model = build(name, 8, 2, hidden=8, dropout=0.5)
    first = fit(model, x, graph, y, train, val, **SETTINGS, protocol=protocol)
    another = build(name, 8, 2, hidden=8, dropout=0.5)
    torch.manual_seed(77)
    before = torch.random.get_rng_state()
    second = fit(another, x, graph, y, train, val, **SETTINGS, protocol=protocol)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert first.history == second.history
    other = fit(
        model, x, graph, y, train, val, lr=0.05, weight_decay=1e-3, seed=1, protocol=protocol
    )
    assert other.history != first.history


def test_the_returned_model_is_the_selected_epochs(task):
    x, graph, y, train, val = task
    fitted = fit(
        build("ACM-GCN", 8, 2, hidden=8),
        x,
        graph,
        y,
        train,
        val,
        **SETTINGS,
        protocol=Protocol(max_epochs=60),
    )
    assert not fitted.model.training
    logits = fitted.model(x, graph)
    assert torch.equal(logits.argmax(1), fitted.prediction)
    loss = nn.functional.cross_entropy(logits[val], y[val]).item()
    assert loss == pytest.approx(fitted.val_loss, rel=1e-6)
    assert fitted.val_loss == min(fitted.history.val_loss)
    accuracy = (fitted.prediction[val] == y[val]).double().mean().item()
    assert accuracy == fitted.val_accuracy == fitted.history.val_accuracy[fitted.best_epoch]


def test_labels_outside_training_and_validation_are_never_read(task):
    x, graph, y, train, val = task
    hidden = y.clone()
    hidden[~(train | val)] = -12345  # cross-entropy would fail on it
    protocol = Protocol(max_epochs=20)
    seen = fit(build("GCN", 8, 2), x, graph, y, train, val, **SETTINGS, protocol=protocol)
    unseen = fit(build("GCN", 8, 2), x, graph, hidden, train, val, **SETTINGS, protocol=protocol)
    assert seen.history == unseen.history


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_a_step_is_the_textbooks(task, optimizer):
    """Adam with L2 decay in the gradient, AdamW with decay beside it; written out, in float64."""
    x, graph, y, train, val = task
    x = x.double()
    lr, decay = 0.1, 0.2
    fitted = fit(
        build("MLP-1", 8, 2).double(),
        x,
        graph,
        y,
        train,
        val,
        lr=lr,
        weight_decay=decay,
        seed=3,
        protocol=Protocol(optimizer, max_epochs=3),
    )
    torch.manual_seed(3)
    model = build("MLP-1", 8, 2).double()
    torch.manual_seed(3)
    model.reset_parameters()
    w = next(model.parameters()).detach().clone()
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
    fitted = fit(build("ACM-GCN", 8, 2), x, graph, y, train, val, **SETTINGS)
    assert fitted.val_accuracy >= 0.8 and fitted.epochs > 201


def test_bad_input_is_said_in_one_line(task):
    x, graph, y, train, val = task
    model = build("GCN", 8, 2)
    with pytest.raises(UsageError, match="val mask"):
        fit(model, x, graph, y, train, torch.zeros_like(val), **SETTINGS)
    with pytest.raises(UsageError, match="train mask"):
        fit(model, x, graph, y, train[:5], val, **SETTINGS)
    with pytest.raises(UsageError, match="lr is 0"):
        fit(model, x, graph, y, train, val, lr=0, weight_decay=0, seed=0)
    with pytest.raises(UsageError, match="not a number at epoch 0"):
        fit(model, x * torch.nan, graph, y, train, val, **SETTINGS)
