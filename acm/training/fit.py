"""The training loop: one model, one split, one seed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.errors import UsageError
from acm.training.protocol import RELEASED, Protocol


@dataclass
class History:
    """What was seen after each epoch, one value an epoch."""

    train_loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)
    val_accuracy: list[float] = field(default_factory=list)


@dataclass
class Fit:
    """A finished training.

    Attributes:
        model: The model, with the weights of the selected epoch, in evaluation mode.
        prediction: The class that the selected epoch gives each node, `[N]`.
        best_epoch: The selected epoch, counted from 0.
        epochs: How many epochs were run.
        val_accuracy, val_loss: At the selected epoch.
        seconds: How long the loop took.
        history: The curves.
    """

    model: nn.Module
    prediction: Tensor
    best_epoch: int
    epochs: int
    val_accuracy: float
    val_loss: float
    seconds: float
    history: History


def fit(
    model: nn.Module,
    x,
    graph,
    y: Tensor,
    train: Tensor,
    val: Tensor,
    *,
    lr: float,
    weight_decay: float,
    seed: int,
    protocol: Protocol = RELEASED,
    on_epoch: Callable[[int], None] | None = None,
) -> Fit:
    """Draw the weights, train by the protocol, and return the epoch that validation selects.

    No test mask is asked for, so nothing here can select by it: hold `Fit.prediction` against
    the test labels afterwards.

    Args:
        model: Called as `model(x, graph)`; returns logits, `[N, C]`. Its weights are drawn anew
            by its `reset_parameters()`.
        x: Node features as the model takes them.
        graph: `edge_index`, or the filter, as the model takes it.
        y: Classes, `[N]`. Read at the nodes of `train` and `val` only.
        train: Mask of the training nodes, `[N]`.
        val: Mask of the validation nodes, `[N]`.
        lr: Learning rate of the optimiser.
        weight_decay: Its weight decay.
        seed: Decides initial weights and dropout; the same seed on the same machine gives the
            same result to the bit.
        protocol: Optimiser, length and selection.
        on_epoch: Called after each epoch with its number, for a progress bar.

    Raises:
        UsageError: If a mask is empty or has the wrong shape, if `lr` is not positive or
            `weight_decay` negative, or if the loss stops being a number.
    """
    for name, mask in (("train", train), ("val", val)):
        if mask.shape != y.shape or mask.dtype != torch.bool or not bool(mask.any()):
            raise UsageError(
                f"the {name} mask has shape {list(mask.shape)} and type {mask.dtype}:"
                f" a bool mask of shape {list(y.shape)} with a node in it is needed"
            )
    if not lr > 0 or not weight_decay >= 0:
        raise UsageError(
            f"lr is {lr} and weight_decay {weight_decay}:"
            " a positive and a non-negative number are needed"
        )
    devices = [y.device] if y.is_cuda else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        model.reset_parameters()
        return _Loop(model, x, graph, y, train, val, lr, weight_decay, protocol).run(on_epoch)


class _Loop:
    def __init__(self, model, x, graph, y, train, val, lr, weight_decay, protocol: Protocol):
        self.model, self.x, self.graph, self.protocol = model, x, graph, protocol
        self.train_nodes, self.val_nodes = train.nonzero().squeeze(1), val.nonzero().squeeze(1)
        self.train_y, self.val_y = y[self.train_nodes], y[self.val_nodes]
        kinds = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
        self.optimizer = kinds[protocol.optimizer](
            model.parameters(), lr=lr, weight_decay=weight_decay, fused=True
        )
        self.history = History()

    def run(self, on_epoch) -> Fit:
        start = time.perf_counter()
        best = None
        for epoch in range(self.protocol.max_epochs):
            self.history.train_loss.append(self._step())
            logits, val_loss, val_accuracy = self._evaluate()
            self.history.val_loss.append(val_loss)
            self.history.val_accuracy.append(val_accuracy)
            if not all(map(_is_number, (self.history.train_loss[-1], val_loss))):
                raise UsageError(
                    f"the loss is not a number at epoch {epoch}:"
                    " a smaller learning rate, or features without NaN, are needed"
                )
            score = -val_loss if self.protocol.select == "loss" else val_accuracy
            if best is None or score > best[0]:
                state = {name: w.clone() for name, w in self.model.state_dict().items()}
                best = score, epoch, logits.argmax(1), state
            if on_epoch is not None:
                on_epoch(epoch)
            if self._should_stop(epoch):
                break
        _, best_epoch, prediction, state = best
        self.model.load_state_dict(state)
        return Fit(
            self.model.eval(),
            prediction,
            best_epoch,
            epoch + 1,
            self.history.val_accuracy[best_epoch],
            self.history.val_loss[best_epoch],
            time.perf_counter() - start,
            self.history,
        )

    def _step(self) -> float:
        self.model.train()
        self.optimizer.zero_grad()
        logits = self.model(self.x, self.graph)[self.train_nodes]
        loss = functional.cross_entropy(logits, self.train_y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def _evaluate(self) -> tuple[Tensor, float, float]:
        self.model.eval()
        logits = self.model(self.x, self.graph)
        at_val = logits[self.val_nodes]
        loss = functional.cross_entropy(at_val, self.val_y).item()
        accuracy = (at_val.argmax(1) == self.val_y).double().mean().item()
        return logits, loss, accuracy

    def _should_stop(self, epoch: int) -> bool:
        window = self.protocol.window
        if window is None or epoch <= window:
            return False
        before = self.history.val_loss[-window - 1 : -1]
        return self.history.val_loss[-1] > sum(before) / window


def _is_number(value: float) -> bool:
    return value - value == 0  # neither NaN nor infinite
