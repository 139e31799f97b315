"""Run the training loop for many trials of one model on one graph."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm import kernels
from acm.errors import UsageError, check_whole
from acm.training.optimizer import Adam
from acm.training.protocol import RELEASED, TrainingProtocol
from acm.training.setting import Setting, check_labels
from acm.training.stack import Stack, batch_size, private_generator


@dataclass
class History:
    """Hold the training curves, with one value per epoch."""

    train_loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)


@dataclass
class TrainingResult:
    """Hold the result of one trial.

    Attributes:
        model: The model with the weights of the selected epoch, in evaluation mode; `None` if
            the weights were not kept.
        prediction: Predicted class of each node at the selected epoch, `[N]`.
        best_epoch, epochs: The selected epoch, counted from 0, and the number of epochs.
        val_accuracy, val_loss: Validation accuracy and loss at the selected epoch.
        seconds: The trial's share of the time of its batch.
        stacked: Whether the trial was trained in the loop for stacked trials.
        history: The training curves.
        error: Why the training failed, or the empty string. After a failure, the attributes above
            describe the epochs before the failure, or are `None`.
    """

    model: nn.Module | None = None
    prediction: Tensor | None = None
    best_epoch: int | None = None
    epochs: int = 0
    val_accuracy: float | None = None
    val_loss: float | None = None
    seconds: float = 0.0
    stacked: bool = True
    history: History = field(default_factory=History)
    error: str = ""


def train(
    model: nn.Module,
    x,
    graph,
    y: Tensor,
    trials: Iterable[Setting] | Setting,
    *,
    protocol: TrainingProtocol = RELEASED,
    batch: int | None = None,
    stack: bool | None = None,
    keep_weights: bool = True,
    keep_going: bool = False,
    on_epoch: Callable[[int, int], None] | None = None,
) -> list[TrainingResult]:
    """Train the model once per trial, and return one result per trial.

    One loop trains all trials of a model with `stackable = True`. Each trial stops separately and
    then leaves the batch. On a CPU, other trials and the batch size do not change a bit of the
    result. Training cannot select by test accuracy, since a setting has no test mask. For the test
    accuracy, compare `TrainingResult.prediction` with the test labels.

    Args:
        model: A module that returns logits, `[N, C]`, if called as `model(x, graph)`. Training does
            not change the module: every trial draws new weights by `reset_parameters()`. With
            `stackable = True`, weights `[B, …]` must give logits `[B, N, C]`. The module must then
            count dimensions from the last, draw by `acm.nn.Dropout`, and keep no statistics.
        x, graph: Node features, and `edge_index` or a filter, as the model takes them.
        y: Classes, `[N]`. Only labels of training and validation nodes are read.
        trials, protocol: One setting or several, and the training rule.
        batch: Largest number of trials in one loop; by default `batch_size(…)`.
        stack: Whether to train several trials in one loop; by default `model.stackable`.
        keep_weights: Whether the results hold models with the selected weights.
        keep_going: Whether to return a trial with NaN or infinite loss, with a message in
            `TrainingResult.error`. Otherwise an error is raised after all trials.
        on_epoch: Called after each epoch with its number and the number of trials in the batch.

    Raises:
        UsageError: If labels or logits are invalid, or if a loss is NaN or infinite.
    """
    trials = [*trials] if isinstance(trials, Iterable) else [trials]
    for trial in trials:
        check_labels(trial, y, model)
    if batch is not None:
        check_whole("batch", batch, 1)
    if not trials:
        return []
    stacked = bool(getattr(model, "stackable", False)) if stack is None else stack
    size = (batch or batch_size(model, x, graph, trials[0])) if stacked else 1
    results: list[TrainingResult] = []
    for first in range(0, len(trials), size):
        settings = trials[first : first + size]
        arguments = x, graph, y, settings, protocol, keep_weights, on_epoch
        with private_generator(y.device):
            weights = Stack(model, settings, stacked)
            if not stacked:  # the model may draw from PyTorch's generator
                results += _train(weights, *arguments)
        if stacked:
            results += _train(weights, *arguments)
    for result in results:
        if result.error and not keep_going:
            raise UsageError(result.error)
    return results


def _train(stack, x, graph, y, settings, protocol, keep_weights, on_epoch) -> list[TrainingResult]:
    """Train a batch of trials until every trial has stopped."""
    results = [TrainingResult(stacked=stack.stacked) for _ in settings]
    selected: dict[int, dict[str, Tensor]] = {}  # the weights of each trial's selected epoch
    active = list(range(len(settings)))  # the trial in each row of every stacked tensor
    train = torch.stack([s.train for s in settings]).to(y.device)
    val = torch.stack([s.val for s in settings]).to(y.device)
    y = torch.where(train | val, y.long(), 0)  # all other labels are never used
    dtype = next(w.dtype for w in stack.weights if w.requires_grad)
    train_share, val_share = (m.to(dtype) / m.sum(1, keepdim=True) for m in (train, val))
    rates = torch.tensor([(s.lr, s.weight_decay) for s in settings], dtype=torch.float64)
    lr, weight_decay = rates.to(y.device).unbind(1)
    optimizer = Adam(stack.weights, lr, weight_decay, protocol.optimizer == "adamw")
    # Without dropout, the forward pass of the next epoch also evaluates this epoch.
    one_pass, logits = stack.stacked and not bool(stack.p.any()), None
    for epoch in range(protocol.max_epochs):
        start = time.perf_counter()
        if logits is None:
            logits = stack(x, graph, epoch, training=True)
        if epoch == 0:
            _check_logits(logits, y)
        train_loss, _, grad = cross_entropy(logits, y, train_share, gradient=True)
        optimizer.step(stack.weights, stack.gradients(logits, grad))
        logits = stack(x, graph, epoch + 1, training=True) if one_pass else None
        if logits is None or epoch == 0:
            evaluated = stack(x, graph, 0, training=False)
            if logits is not None and not torch.equal(logits, evaluated):
                one_pass, logits = False, None  # evaluation gives other logits
        if logits is not None:
            evaluated = logits
        val_loss, prediction, _ = cross_entropy(evaluated, y, val_share)
        val_accuracy = ((prediction == y) & val).sum(1).double() / val.sum(1)
        curves = torch.stack([train_loss.double(), val_loss.double(), val_accuracy], 1).tolist()
        seconds = (time.perf_counter() - start) / len(active)
        going = []
        for row, (trial, values) in enumerate(zip(active, curves)):
            result = results[trial]
            result.seconds += seconds
            if _note(result, protocol, *values):
                result.prediction = prediction[row].clone()
                if keep_weights:
                    selected[trial] = stack.state(row)
            if not result.error and not protocol.should_stop(result.history.val_loss):
                going.append(row)
        if on_epoch is not None:
            on_epoch(epoch, len(active))
        if not going:
            break
        if len(going) < len(active):  # stopped trials leave every stacked tensor
            active, rows = [active[row] for row in going], torch.tensor(going, device=y.device)
            stack.keep(rows)
            optimizer.keep(rows)
            y, val, train_share, val_share = (t[rows] for t in (y, val, train_share, val_share))
            logits = None
    for trial, state in selected.items():
        results[trial].model = stack.model(state)
    return results


def _note(result, protocol, train_loss: float, val_loss: float, val_accuracy: float) -> bool:
    """Add an epoch to a result, and return whether it is the best epoch so far."""
    if not (math.isfinite(train_loss) and math.isfinite(val_loss)):
        result.error = (
            f"the loss is not a number at epoch {result.epochs}: use a smaller learning rate, or"
            " features without NaN"
        )
        return False
    result.history.train_loss.append(train_loss)
    result.history.val_loss.append(val_loss)
    result.history.val_accuracy.append(val_accuracy)
    result.epochs += 1
    score, first = protocol.score, result.best_epoch is None
    if not first and score(val_loss, val_accuracy) <= score(result.val_loss, result.val_accuracy):
        return False
    result.best_epoch = result.epochs - 1
    result.val_loss, result.val_accuracy = val_loss, val_accuracy
    return True


def _check_logits(logits: Tensor, y: Tensor) -> None:
    if logits.dim() != 3 or logits.shape[:2] != y.shape:
        raise UsageError(
            f"the model gives logits of shape {list(logits.shape[1:])}: [N, C] is needed, one row"
            f" for each of {y.shape[1]} labels"
        )
    if int(y.max()) >= logits.shape[-1]:
        raise UsageError(f"a label is {int(y.max())}: classes are 0 … {logits.shape[-1] - 1}")


@torch.no_grad()
def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool = False):
    """Return the loss, `[B]`, the predicted classes, `[B, N]`, and the gradient or `None`.

    The loss is `L = −Σ_v s_v log softmax(logits_v)[y_v]`, where `share` is `s`; the gradient is
    `dL/dlogits`. The logits are `[B, N, C]`, the classes and shares `[B, N]`.
    """
    if kernels.supports(logits, share):
        return kernels.cross_entropy(logits, y, share, gradient)
    log_p = functional.log_softmax(logits, dim=2)
    loss = -(log_p.gather(2, y[:, :, None]).squeeze(2) * share).sum(1)
    grad = None
    if gradient:
        grad = log_p.exp_().mul_(share[:, :, None])
        grad.scatter_add_(2, y[:, :, None], -share[:, :, None])
    return loss, logits.argmax(2), grad
