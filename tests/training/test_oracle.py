"""Compare batches with the reference trainer, which trains one trial at a time."""

import dataclasses

import pytest
import torch

from acm.filters import SparseMatrix
from acm.registry import build
from acm.training import TrainingProtocol, train
from tests.training import oracle

NAMES = ["ACM-GCN", "ACMII-GCN", "GCN", "SGC-1", "MLP-2", "ACM-SGC-2"]


def both(name, x, low, y, trials, protocol, batch, kind=torch.float32):
    """Return the results of the batched trainer and of the reference trainer."""
    x, low = x.to(dtype=kind), low.to(dtype=kind)
    sparse = isinstance(x, SparseMatrix)
    model = build(name, x.shape[1], 2, hidden=8).to(kind)
    dense = x.to_dense() if sparse else x
    fits = train(model, x, low, y, trials, protocol=protocol, batch=batch)
    args = low.to_dense(), y
    return fits, [oracle.train(model, dense, *args, trial, protocol, sparse) for trial in trials]


@pytest.mark.parametrize("drops", [False, True], ids=["no dropout", "dropout"])
@pytest.mark.parametrize(
    "name, optimizer, sparse",
    [("ACM-GCN", "adam", True), ("ACM-GCN", "adamw", False)]
    + [(n, *variant) for n in NAMES for variant in (("adam", False), ("adamw", True))],
)
def test_losses_agree_step_by_step(task, words, trials, name, optimizer, sparse, drops):
    x, low, y, *_ = task
    # A small learning rate keeps the inputs of ReLUs further from 0 than rounding errors.
    trials = [
        dataclasses.replace(t, lr=t.lr / 2, dropout=t.dropout if drops else 0.0) for t in trials[:3]
    ]
    protocol = TrainingProtocol(optimizer, max_epochs=50)
    fits, expected = both(name, words[0] if sparse else x, low, y, trials, protocol, batch=3)
    for ours, (curves, best_epoch, prediction, epochs) in zip(fits, expected):
        assert ours.stacked and ours.epochs == epochs == 50
        for curve in ("train_loss", "val_loss"):
            assert getattr(ours.history, curve) == pytest.approx(curves[curve], rel=1e-5, abs=1e-5)
        assert ours.best_epoch == best_epoch
        assert torch.equal(ours.prediction, prediction)


@pytest.mark.parametrize(
    "protocol",
    [TrainingProtocol("adam", 250, 10), TrainingProtocol("adamw", 80, None, "accuracy")],
    ids=["released", "deezer"],
)
@pytest.mark.parametrize("name", NAMES)
def test_in_double_precision_they_stop_and_select_alike(task, words, trials, name, protocol):
    x, low, y, *_ = task
    x = words[0] if protocol.window else x
    trials = [dataclasses.replace(t, lr=5 * t.lr) for t in trials[:3]]
    fits, expected = both(name, x, low, y, trials, protocol, 2, torch.float64)
    for ours, (curves, best_epoch, prediction, epochs) in zip(fits, expected):
        assert (ours.epochs, ours.best_epoch) == (epochs, best_epoch)
        assert torch.equal(ours.prediction, prediction)
        assert ours.history.val_accuracy == curves["val_accuracy"]
        assert ours.history.val_loss == pytest.approx(curves["val_loss"], rel=1e-6)
    if protocol.window:
        assert fits[0].epochs != fits[1].epochs  # one trial left the batch before the other
