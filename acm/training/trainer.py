"""The training loop: many trials of one model on one graph, their weights stacked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm import kernels
from acm.data.names import check_whole
from acm.errors import UsageError
from acm.training.protocol import (
    RELEASED,
    Setting,
    TrainingProtocol,
    check,
    check_call,
    check_model,
)
from acm.training.stack import Adam, Stack, batch_size, private_generator, stackable


@torch.no_grad()
def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool = False):
    r"""`L = −Σ_v s_v log softmax(logits_v)[y_v]` of every trial, and what it predicts (section 2).

    Args:
        logits: `[B, N, C]`.
        y: Classes, `[B, N]`; of no account where a node counts nothing.
        share: What each node counts, `[B, N]`: for a mean, one over the number of nodes.
        gradient: Whether `dL/dlogits` is asked for.

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


@dataclass
class History:
    """What was seen after each epoch, one value an epoch."""

    train_loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)


@dataclass
class TrainingResult:
    """A finished training.

    Attributes:
        model: The model with the weights of the selected epoch, in evaluation mode; `None` if
            they were not kept.
        prediction: The class that the selected epoch gives each node, `[N]`.
        best_epoch: The selected epoch, counted from 0.
        epochs: How many epochs were run.
        val_accuracy, val_loss: At the selected epoch.
        seconds: This trial's share of the time that its batch took.
        stacked: Whether its weights were stacked with others', or could have been.
        history: The curves.
        error: What ended the trial before its time: its loss was no number. Empty if all is well;
            else the attributes above are of the epochs before, or `None` if there are none.
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
    """Train the model once for each trial, and return the epochs that validation selects.

    The weights of many trials are stacked and move through one loop; each trial stops by itself
    and then leaves the batch. What a trial gives depends on its setting alone, not on the others
    nor on the size of the batch: on a CPU to the bit for models that multiply by
    `acm.nn.stacked`, as all here do. A setting has no test mask, so nothing here can select by it:
    hold `Fit.prediction` against the test labels afterwards.

    Args:
        model: A module for one graph, called as `model(x, graph)`; returns logits, `[N, C]`. It
            is left as it is: every trial draws weights of its own by `reset_parameters()`.
            Parameters that require no gradient stay as they are drawn.
        x: Node features as the model takes them.
        graph: `edge_index`, or the filter, as the model takes it.
        y: Classes, `[N]`. Read at the nodes of a trial's training and validation sets only.
        trials: What to train: masks, seed and hyperparameters, each trial its own; or a single one.
        protocol: Optimiser, length and selection.
        batch: How many trials to stack at most; by default as many as is fastest and fits.
        stack: Whether to stack weights at all; by default if the model allows it. One that does
            not (it draws from PyTorch's generator, counts its dimensions from the front, or keeps
            running statistics) is trained one trial at a time.
        keep_weights: Whether the results hold models with the selected weights.
        keep_going: Whether to return a trial whose loss stopped being a number, with
            `Fit.error`; else that is an error, once all trials are done.
        on_epoch: Called after each epoch of a batch with the epoch's number and how many trials
            were in it, for a progress bar; an error that it raises ends the training.

    Raises:
        UsageError: If a setting, a mask, `batch` or another argument is out of range or of the
            wrong kind, if the model cannot draw weights or has none to train, or if a loss stops
            being a number.
    """
    check_call(x, protocol, on_epoch)
    trials = _listed(trials)
    if not trials:
        return []
    check_model(model)
    for trial in trials:
        check(trial, y, model)
    if batch is not None:
        check_whole("batch", batch, 1)
    found: dict[int, TrainingResult] = {}
    for numbers, together in _groups(model, x, graph, trials, stack):
        size = batch if together else 1
        if size is None:
            size = batch_size(model, x, graph, trials[numbers[0]])
        for start in range(0, len(numbers), size):
            part = numbers[start : start + size]
            own = [trials[k] for k in part]
            done = _run(model, x, graph, y, own, protocol, together, keep_weights, on_epoch)
            found |= dict(zip(part, done))
    fits = [found[number] for number in range(len(trials))]
    for fitted in fits:
        if fitted.error and not keep_going:
            raise UsageError(fitted.error)
    return fits


def _listed(trials: Iterable[Setting] | Setting) -> list[Setting]:
    if isinstance(trials, Setting):
        return [trials]
    listed = list(trials) if isinstance(trials, Iterable) else [trials]
    for trial in listed:
        if not isinstance(trial, Setting):
            raise UsageError(f"a trial is a {type(trial).__name__}: settings are needed")
    return listed


def _groups(model, x, graph, trials, stack: bool | None) -> list[tuple[list[int], bool]]:
    """The numbers of the trials that are treated alike, and whether these are stacked.

    What a model does without dropout says nothing of what it does with some: a trial is not to be
    stacked, or not, because another one is.
    """
    if not isinstance(stack, bool | None):
        raise UsageError(f"stack is {stack!r}: True, False or None is needed")
    if stack is not None:
        return [(list(range(len(trials))), stack)]
    alike: dict[bool | None, list[int]] = {}
    for number, trial in enumerate(trials):
        drops = None if trial.dropout is None else trial.dropout > 0  # None: as the model has it
        alike.setdefault(drops, []).append(number)
    groups: dict[bool, list[int]] = {}
    for numbers in alike.values():
        groups.setdefault(stackable(model, x, graph, trials[numbers[0]]), []).extend(numbers)
    return [(sorted(numbers), together) for together, numbers in groups.items()]


def _run(
    template, x, graph, y, trials, protocol, stack, keep_weights, on_epoch
) -> list[TrainingResult]:
    def loop() -> _Loop:
        return _Loop(Stack(template, trials, stack), x, graph, y, trials, protocol, keep_weights)

    if not stack:
        # Its draws go on through the training, from where the weights were drawn.
        with private_generator(y.device):
            return loop().run(on_epoch)
    with private_generator(y.device):
        ready = loop()
    return ready.run(on_epoch)


class _Loop:
    def __init__(
        self, stack: Stack, x, graph, y, trials, protocol: TrainingProtocol, keep_weights: bool
    ):
        self.stack, self.x, self.graph, self.protocol = stack, x, graph, protocol
        train = torch.stack([t.train for t in trials]).to(y.device)
        val = torch.stack([t.val for t in trials]).to(y.device)
        # A label that is in neither set is not even at hand.
        self.y = torch.where(train | val, y.long(), 0)
        kind = next(v.dtype for v, t in zip(stack.values, stack.trained) if t)
        self.share = {
            "train": train.to(kind) / train.sum(1, keepdim=True),
            "val": val.to(kind) / val.sum(1, keepdim=True),
        }
        # Counted, for a sum of shares is not exactly what one division gives.
        self.val, self.num_val = val, val.sum(1).double()
        values = torch.tensor([(t.lr, t.weight_decay) for t in trials], dtype=torch.float64)
        lr, weight_decay = values.to(y.device).unbind(1)
        self.optimizer = Adam(stack.values, lr, weight_decay, protocol.optimizer == "adamw")
        # Without dropout the next training pass computes what evaluation would.
        self.drops = stack.random
        self.states = [_State(keep_weights) for _ in trials]
        self.there = list(range(len(trials)))  # which trials are still in the batch

    def run(self, on_epoch) -> list[TrainingResult]:
        logits = None
        for epoch in range(self.protocol.max_epochs):
            start = time.perf_counter()
            if logits is None:
                logits = self._forward(epoch, training=True)
            if epoch == 0:
                self._check(logits)
            train_loss = self._step(logits)
            logits = None if self.drops else self._forward(epoch + 1, training=True)
            if epoch == 0 and logits is not None:  # is that so for this model?
                self.drops = not torch.equal(logits, self._forward(0, training=False))
                logits = None if self.drops else logits
            seen = self._evaluate(logits)
            going = self._note(epoch, train_loss, *seen, start)
            if on_epoch is not None:
                on_epoch(epoch, len(self.there))
            if not all(going):
                self._compact(going)
                logits = None
                if not self.there:
                    break
        return [state.result(self.stack) for state in self.states]

    def _check(self, logits: Tensor) -> None:
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

    def _forward(self, epoch: int, training: bool) -> Tensor:
        with torch.set_grad_enabled(training):
            return self.stack(self.x, self.graph, epoch, training)

    def _step(self, logits: Tensor) -> Tensor:
        loss, _, grad = cross_entropy(logits, self.y, self.share["train"], gradient=True)
        self.optimizer.step(self.stack.values, self.stack.gradients(logits, grad))
        return loss

    @torch.no_grad()
    def _evaluate(self, logits: Tensor | None):
        if logits is None:
            logits = self._forward(0, training=False)
        loss, prediction, _ = cross_entropy(logits, self.y, self.share["val"])
        right = ((prediction == self.y) & self.val).sum(1)
        return loss, right / self.num_val, prediction

    def _note(self, epoch, train_loss, val_loss, val_accuracy, prediction, start) -> list[bool]:
        """Keep what was seen; which trials go on."""
        seen = torch.stack([train_loss.double(), val_loss.double(), val_accuracy]).tolist()
        seconds = (time.perf_counter() - start) / len(self.there)
        going = []
        for place, (trial, *values) in enumerate(zip(self.there, *seen)):
            state = self.states[trial]
            state.seconds += seconds
            state.note(epoch, *values)
            if not state.error:
                state.select(prediction[place], self.stack, place, self.protocol)
            going.append(not state.error and not state.should_stop(epoch, self.protocol))
        return going

    def _compact(self, going: list[bool]) -> None:
        """Let the finished trials leave the batch."""
        places = torch.tensor([k for k, goes in enumerate(going) if goes], device=self.y.device)
        self.there = [self.there[k] for k in places.tolist()]
        if not self.there:
            return
        self.stack.keep(places)
        self.optimizer.keep(places)
        self.y, self.val = self.y[places], self.val[places]
        self.num_val = self.num_val[places]
        self.share = {part: share[places] for part, share in self.share.items()}


class _State:
    """What is known of one trial so far."""

    def __init__(self, keep_weights: bool):
        self.keep_weights, self.history, self.seconds = keep_weights, History(), 0.0
        self.best: tuple = (-math.inf, None, None, None)
        self.error = ""

    def note(self, epoch, train_loss, val_loss, val_accuracy) -> None:
        """Add an epoch to the curves, unless its loss is no number."""
        if not (math.isfinite(train_loss) and math.isfinite(val_loss)):
            self.error = (
                f"the loss is not a number at epoch {epoch}:"
                " a smaller learning rate, or features without NaN, are needed"
            )
            return
        self.history.train_loss.append(train_loss)
        self.history.val_loss.append(val_loss)
        self.history.val_accuracy.append(val_accuracy)

    def score(self, protocol: TrainingProtocol) -> float:
        """What is to be highest at the selected epoch."""
        history = self.history
        return -history.val_loss[-1] if protocol.select == "loss" else history.val_accuracy[-1]

    def select(
        self, prediction: Tensor, stack: Stack, place: int, protocol: TrainingProtocol
    ) -> None:
        """Take the last epoch for the selected one, if it is the best so far."""
        score = self.score(protocol)
        if score > self.best[0]:
            state = stack.state(place) if self.keep_weights else None
            self.best = score, len(self.history.val_loss) - 1, prediction.clone(), state

    def should_stop(self, epoch: int, protocol: TrainingProtocol) -> bool:
        """Whether the rule of `Protocol.window` ends the trial."""
        window = protocol.window
        if window is None or epoch <= window:
            return False
        losses = self.history.val_loss
        return losses[-1] > sum(losses[-window - 1 : -1]) / window

    def result(self, stack: Stack) -> TrainingResult:
        """What is known, as a result."""
        _, epoch, prediction, state = self.best
        curves = self.history
        return TrainingResult(
            None if state is None else stack.model(state),
            prediction,
            epoch,
            len(curves.val_loss),
            None if epoch is None else curves.val_accuracy[epoch],
            None if epoch is None else curves.val_loss[epoch],
            self.seconds,
            stack.stacked,
            curves,
            self.error,
        )
