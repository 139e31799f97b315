"""The training loop: many trials of one model on one graph."""

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
from acm.training.setting import Setting, check_call, check_setting
from acm.training.stack import Stack, batch_size, private_generator


@dataclass
class History:
    """The training curves: one value per epoch."""

    train_loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)


@dataclass
class TrainingResult:
    """A finished training.

    Attributes:
        model: The model with the weights of the selected epoch, in evaluation mode; `None` if
            the weights were not kept.
        prediction: Predicted class of each node at the selected epoch, `[N]`.
        best_epoch: The selected epoch, counted from 0.
        epochs: Number of epochs.
        val_accuracy, val_loss: At the selected epoch.
        seconds: The trial's share of the time of its batch.
        stacked: Whether the trial was trained in one loop with others, or could have been.
        history: The training curves.
        error: Why the training failed, or empty. The attributes above are then those of the epochs
            before the failure, or `None`.
    """

    model: nn.Module | None
    prediction: Tensor | None
    best_epoch: int | None
    epochs: int
    val_accuracy: float | None
    val_loss: float | None
    seconds: float
    stacked: bool
    history: History
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
    """Train the model once per trial, and return the epochs that validation selects.

    Trials of a model with `stackable = True` are trained in one loop; each trial stops by itself
    and then leaves the batch. The outcome of a trial depends on its setting alone, not on the other
    trials or the size of the batch, on a CPU to the bit. A setting has no test mask, so nothing
    here can select by test accuracy: compare `TrainingResult.prediction` with the test labels.

    Args:
        model: A module for one graph, called as `model(x, graph)`; it returns logits, `[N, C]`. It
            is not changed: every trial draws its weights by `reset_parameters()`. With the
            attribute `stackable = True` the module promises three things. Its random draws come
            from `acm.nn.Dropout`, it keeps no statistics of the data, and it counts dimensions from
            the last, so that weights `[B, …]` give logits `[B, N, C]`.
        x: Node features as the model takes them.
        graph: `edge_index` or a filter, as the model takes it.
        y: Classes, `[N]`. Only labels of training and validation nodes are read.
        trials, protocol: Settings, or one setting; and the training rule.
        batch: Largest number of trials in one loop; by default what is fastest and fits.
        stack: Whether to train several trials in one loop; by default `model.stackable`. Without
            that attribute trials are trained one by one.
        keep_weights: Whether the results hold models with the selected weights.
        keep_going: Whether to return a trial whose loss stops being a number, with
            `TrainingResult.error`; otherwise an error is raised after all trials.
        on_epoch: Called after each epoch with its number and the number of trials in the batch.

    Raises:
        UsageError: If an argument is wrong, if the model has no weights to draw or train, or if a
            loss stops being a number.
    """
    trials = [*trials] if isinstance(trials, Iterable) else [trials]
    check_call(model, x, protocol, on_epoch)
    for trial in trials:
        check_setting(trial, y, model)
    if batch is not None:
        check_whole("batch", batch, 1)
    if not isinstance(stack, bool | None):
        raise UsageError(f"stack is {stack!r}: True, False or None is needed")
    if not trials:
        return []
    stacked = bool(getattr(model, "stackable", False)) if stack is None else stack
    size = batch if stacked else 1
    if size is None:
        size = batch_size(model, x, graph, trials[0])
    results = []
    for first in range(0, len(trials), size):
        settings = trials[first : first + size]
        # A model that is not stackable may draw from PyTorch's generator during the training.
        with private_generator(y.device):
            loop = _Loop(model, x, graph, y, settings, protocol, stacked, keep_weights)
            if not stacked:
                loop.run(on_epoch)
        if stacked:
            loop.run(on_epoch)
        results += [trial.result(loop.stack) for trial in loop.trials]
    for result in results:
        if result.error and not keep_going:
            raise UsageError(result.error)
    return results


class _Loop:
    """One batch of trials: `rows[k]` is the trial in row `k` of every stacked tensor."""

    def __init__(self, model, x, graph, y, settings, protocol, stacked, keep_weights):
        self.x, self.graph, self.protocol = x, graph, protocol
        self.stack = Stack(model, settings, stacked)
        train = torch.stack([s.train for s in settings]).to(y.device)
        val = torch.stack([s.val for s in settings]).to(y.device)
        self.y = torch.where(train | val, y.long(), 0)  # all other labels are hidden
        kind = next(v.dtype for v, t in zip(self.stack.values, self.stack.trained) if t)
        self.train_share = train.to(kind) / train.sum(1, keepdim=True)
        self.val_share = val.to(kind) / val.sum(1, keepdim=True)
        self.val, self.num_val = val, val.sum(1).double()
        rates = torch.tensor([(s.lr, s.weight_decay) for s in settings], dtype=torch.float64)
        lr, weight_decay = rates.to(y.device).unbind(1)
        self.optimizer = Adam(self.stack.values, lr, weight_decay, protocol.optimizer == "adamw")
        self.trials = [_Trial(protocol, keep_weights) for _ in settings]
        self.rows = list(self.trials)

    def run(self, on_epoch) -> None:
        """Train until every trial has stopped."""
        # Without dropout, the pass that trains the next epoch also evaluates this one.
        one_pass, logits = not self.stack.random, None
        for epoch in range(self.protocol.max_epochs):
            start = time.perf_counter()
            if logits is None:
                logits = self.forward(epoch, training=True)
            if epoch == 0:
                self.check(logits)
            train_loss, _, grad = cross_entropy(logits, self.y, self.train_share, gradient=True)
            self.optimizer.step(self.stack.values, self.stack.gradients(logits, grad))
            logits = self.forward(epoch + 1, training=True) if one_pass else None
            if epoch == 0 and logits is not None:
                if not torch.equal(logits, self.forward(0, training=False)):
                    one_pass, logits = False, None  # the model differs in evaluation all the same
            val_loss, val_accuracy, prediction = self.evaluate(logits)
            curves = torch.stack([train_loss.double(), val_loss.double(), val_accuracy]).tolist()
            seconds = (time.perf_counter() - start) / len(self.rows)
            for row, trial in enumerate(self.rows):
                trial.note(epoch, [values[row] for values in curves], seconds)
                trial.select(prediction[row], self.stack, row)
            if on_epoch is not None:
                on_epoch(epoch, len(self.rows))
            if any(trial.stopped for trial in self.rows):
                self.drop_stopped()
                logits = None
                if not self.rows:
                    break

    def forward(self, epoch: int, training: bool) -> Tensor:
        with torch.set_grad_enabled(training):
            return self.stack(self.x, self.graph, epoch, training)

    @torch.no_grad()
    def evaluate(self, logits: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Return validation loss and accuracy, `[B]`, and the predictions, `[B, N]`."""
        if logits is None:
            logits = self.forward(0, training=False)
        loss, prediction, _ = cross_entropy(logits, self.y, self.val_share)
        correct = ((prediction == self.y) & self.val).sum(1)
        return loss, correct / self.num_val, prediction

    def check(self, logits: Tensor) -> None:
        if logits.dim() != 3 or logits.shape[:2] != self.y.shape:
            shape = list(logits.shape[1:] if self.stack.stacked else logits[0].shape)
            raise UsageError(
                f"the model gives logits of shape {shape}: [N, C] is needed, one row for each of"
                f" {self.y.shape[1]} labels"
            )
        if int(self.y.max()) >= logits.shape[-1]:
            raise UsageError(
                f"the model has {logits.shape[-1]} classes, a label is {int(self.y.max())}"
            )

    def drop_stopped(self) -> None:
        """Remove the rows of stopped trials from every stacked tensor."""
        going = [row for row, trial in enumerate(self.rows) if not trial.stopped]
        self.rows = [self.rows[row] for row in going]
        if not self.rows:
            return
        rows = torch.tensor(going, device=self.y.device)
        self.stack.keep(rows)
        self.optimizer.keep(rows)
        self.y, self.val, self.num_val = self.y[rows], self.val[rows], self.num_val[rows]
        self.train_share, self.val_share = self.train_share[rows], self.val_share[rows]


class _Trial:
    """The curves of one trial, its selected epoch, and whether it has stopped."""

    def __init__(self, protocol: TrainingProtocol, keep_weights: bool):
        self.protocol, self.keep_weights = protocol, keep_weights
        self.history, self.seconds, self.error, self.stopped = History(), 0.0, "", False
        self.best_score = -math.inf
        self.best_epoch: int | None = None
        self.prediction: Tensor | None = None
        self.weights: dict[str, Tensor] | None = None

    def note(self, epoch: int, curves: list[float], seconds: float) -> None:
        """Add an epoch to the curves."""
        train_loss, val_loss, val_accuracy = curves
        self.seconds += seconds
        if not (math.isfinite(train_loss) and math.isfinite(val_loss)):
            self.stopped, self.error = (
                True,
                (
                    f"the loss is not a number at epoch {epoch}: use a smaller learning rate, or"
                    " features without NaN"
                ),
            )
            return
        self.history.train_loss.append(train_loss)
        self.history.val_loss.append(val_loss)
        self.history.val_accuracy.append(val_accuracy)
        self.stopped = self.protocol.should_stop(self.history.val_loss)

    def select(self, prediction: Tensor, stack: Stack, row: int) -> None:
        """Select the last epoch if it is the best."""
        history = self.history
        if self.error:
            return
        score = self.protocol.score(history.val_loss[-1], history.val_accuracy[-1])
        if score > self.best_score:
            self.best_score, self.best_epoch = score, len(history.val_loss) - 1
            self.prediction = prediction.clone()
            self.weights = stack.state(row) if self.keep_weights else None

    def result(self, stack: Stack) -> TrainingResult:
        history, best = self.history, self.best_epoch
        return TrainingResult(
            model=None if self.weights is None else stack.model(self.weights),
            prediction=self.prediction,
            best_epoch=best,
            epochs=len(history.val_loss),
            val_accuracy=None if best is None else history.val_accuracy[best],
            val_loss=None if best is None else history.val_loss[best],
            seconds=self.seconds,
            stacked=stack.stacked,
            history=history,
            error=self.error,
        )


@torch.no_grad()
def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool = False):
    r"""Return `L = −Σ_v s_v log softmax(logits_v)[y_v]` of every trial, and its predictions.

    Args:
        logits: `[B, N, C]`.
        y: Classes, `[B, N]`; any class where the share is 0.
        share: Weight `s` of each node, `[B, N]`: 1 over the number of nodes for a mean.
        gradient: Whether to return `dL/dlogits` as well.

    Returns:
        The loss, `[B]`, the most likely class of each node, `[B, N]`, and the gradient,
        `[B, N, C]`, or `None`.
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
