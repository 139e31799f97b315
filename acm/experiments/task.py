"""A graph ready to be trained on, and the training of trials on it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from acm.data import load, row_normalize
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.options import arguments
from acm.experiments.trial import Trial, split_of
from acm.filters import SparseMatrix, moved, operand
from acm.nn import build
from acm.nn.propagation import operator_of, random_walk
from acm.training import Fit, Setting, fit, protocol_for
from acm.training.stack import own_generator


@dataclass(frozen=True)
class Task:
    """A graph, ready to be trained on.

    Attributes:
        name: The data set.
        x: Row-normalised features, `[N, F]`, sparse where they are.
        edge_index: The undirected graph with its raw loops, `[2, E]` (FIDELITY 1), on the CPU.
        y: Classes, `[N]`.
        num_classes: `C`.
    """

    name: str
    x: Tensor | SparseMatrix
    edge_index: Tensor
    y: Tensor
    num_classes: int
    _graphs: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def low_pass(self) -> SparseMatrix:
        """The filter `Â_rw`, with which most models propagate."""
        return self.graph(nn.Module())

    def graph(self, model: nn.Module, options: str = ""):
        """What a model propagates with: what its `operator` makes of the edges, or `Â_rw`.

        Args:
            model: It may have an `operator(edge_index, num_nodes)`.
            options: The model's own hyperparameters, on which that may depend.
        """
        make = operator_of(model)
        function = getattr(make, "__func__", make)
        key = function, "" if function is random_walk else options
        with _FINDING:  # some of it takes minutes: others wait, and share it
            if key not in self._graphs:
                found = moved(make(self.edge_index, self.x.shape[0]), self.y.device)
                while len(self._graphs) > 4:
                    self._graphs.pop(next(iter(self._graphs)))
                self._graphs[key] = _shared(found, tuple(self._graphs.values()))
            return self._graphs[key]

    def split(self, trial: Trial) -> Split:
        """The masks of a trial's split."""
        masks = split_of(trial.dataset, trial.protocol, trial.split, self.y)
        return Split(*(mask.to(self.y.device) for mask in masks))


_FINDING = threading.Lock()


def _shared(found, kept):
    """What was found, with the matrices of `kept` in place of those that equal them."""
    if isinstance(found, tuple):
        return tuple(_shared(part, kept) for part in found)
    return next((matrix for matrix in _matrices(kept) if _same(matrix, found)), found)


def _matrices(graph) -> Iterator:
    if isinstance(graph, tuple):
        for part in graph:
            yield from _matrices(part)
    else:
        yield graph


def _same(*pair) -> bool:
    one, other = pair
    if not all(isinstance(matrix, SparseMatrix) for matrix in pair) or one.shape != other.shape:
        return False
    return all(torch.equal(getattr(one, p), getattr(other, p)) for p in ("crow", "col", "value"))


@functools.lru_cache(maxsize=2)
def prepare(dataset: str, device: str = "cpu") -> Task:
    """Load a graph and normalise its features, on a device.

    Raises:
        UsageError: If the data cannot be had, or there is no such device.
    """
    place = _device(device)
    data = load(dataset)
    x = operand(row_normalize(data.x))
    return Task(dataset, x.to(place), data.edge_index, data.y.to(place), data.num_classes)


def fit_trials(
    trials: Sequence[Trial], device: str = "cpu", **options
) -> tuple[Task, list[Split], list[Fit]]:
    """Train trials that differ in split, seed, learning rate, weight decay and dropout only.

    Args:
        trials: What to train.
        device: Where.
        options: Of `acm.training.fit`; by default the protocol is that of the data set.
    """
    task, model, graph = ready(trials[0], device)
    splits = [task.split(trial) for trial in trials]
    settings = [setting(trial, split) for trial, split in zip(trials, splits)]
    # No label that is in nobody's training or validation set is handed on.
    known = functools.reduce(torch.logical_or, (s.train | s.val for s in splits))
    y = torch.where(known, task.y, -1)
    options = {"protocol": protocol_for(trials[0].dataset)} | options
    return task, splits, fit(model, task.x, graph, y, settings, **options)


def ready(trial: Trial, device: str) -> tuple[Task, nn.Module, object]:
    """The task of a trial, its model, and what that propagates with, on a device."""
    task = prepare(trial.dataset, device)
    with own_generator(task.y.device):
        model = build(
            trial.model,
            task.x.shape[1],
            task.num_classes,
            trial.hidden,
            trial.dropout,
            trial.channels.split("+") if trial.channels else None,
            trial.mix,
            task.x.shape[0],
            **arguments(trial.model, trial.options),
        )
    return task, model.to(task.y.device), task.graph(model, trial.options)


def setting(trial: Trial, split: Split) -> Setting:
    """What the trainer is asked for a trial, with the masks of its split."""
    return Setting(
        split.train, split.val, trial.lr, trial.weight_decay, trial.entropy, trial.dropout
    )


def _device(name: str) -> torch.device:
    away = UsageError(
        f"device {name!r} is not at hand here: 'cpu' always is"
        f"{', cuda too' if torch.cuda.is_available() else ''}"
    )
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # `meta` has no numbers
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        raise away from error
    if device.type == "cpu" and device.index:  # which PyTorch takes for the one there is
        raise away
    return device
