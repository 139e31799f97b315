"""Load a graph for training, and train trials on it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from acm.data import load, row_normalize
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.protocols import training_protocol
from acm.experiments.recipes import arguments
from acm.experiments.trial import Trial, split_of
from acm.filters import SparseMatrix, moved, operand
from acm.nn.checks import operator_of, random_walk
from acm.registry import build
from acm.training import Setting, TrainingResult, train
from acm.training.stack import private_generator


@dataclass(frozen=True)
class Task:
    """A graph that is ready for training.

    Attributes:
        name: Name of the data set.
        x: Row-normalized features, `[N, F]`, sparse where most of them are zero.
        edge_index: The undirected graph with the self-loops of the raw data, `[2, E]`, on the CPU.
        y: Classes, `[N]`.
        num_classes: Number of classes, `C`.
    """

    name: str
    x: Tensor | SparseMatrix
    edge_index: Tensor
    y: Tensor
    num_classes: int
    _graphs: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def low_pass(self) -> SparseMatrix:
        """Return the filter `Â_rw`, with which most models propagate."""
        return self.graph(nn.Module())

    def graph(self, model: nn.Module, options: str = ""):
        """Return what a model propagates with, and keep it for the next trials.

        Args:
            model: A model with or without an `operator(edge_index, num_nodes)`; without, `Â_rw`.
            options: The options of the model, on which its operator may depend.
        """
        make = operator_of(model)
        function = getattr(make, "__func__", make)
        key = function, "" if function is random_walk else options
        with _OPERATORS:  # an operator may take minutes, so threads wait for each other
            if key not in self._graphs:
                if len(self._graphs) > 4:
                    self._graphs.pop(next(iter(self._graphs)))
                operator = make(self.edge_index, self.x.shape[0])
                self._graphs[key] = moved(operator, self.y.device)
            return self._graphs[key]

    def split(self, trial: Trial) -> Split:
        """Return the masks of a trial's split."""
        masks = split_of(trial.dataset, trial.split_scheme, trial.split, self.y)
        return Split(*(mask.to(self.y.device) for mask in masks))


_OPERATORS = threading.Lock()


@functools.lru_cache(maxsize=2)
def prepare(dataset: str, device: str = "cpu") -> Task:
    """Load a graph and normalize its features, on a device.

    Raises:
        UsageError: If the data or the device are not available.
    """
    try:
        where = torch.device(device)
        if where.type == "cpu" and where.index:
            raise RuntimeError("there is one CPU device")
        torch.zeros(1, device=where).item()  # a device without numbers, such as meta, fails
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        devices = "'cpu' and 'cuda' are" if torch.cuda.is_available() else "'cpu' is"
        raise UsageError(f"device {device!r} is not available here: {devices}") from error
    data = load(dataset)
    x = operand(row_normalize(data.x))
    return Task(dataset, x.to(where), data.edge_index, data.y.to(where), data.num_classes)


def ready(trial: Trial, device: str) -> tuple[Task, nn.Module, object]:
    """Return the task of a trial, its model, and the operator of the model, on a device."""
    task = prepare(trial.dataset, device)
    with private_generator(task.y.device):
        model = build(
            trial.model,
            task.x.shape[1],
            task.num_classes,
            trial.hidden,
            trial.dropout,
            trial.channels.split("+") if trial.channels else None,
            trial.mix if trial.channels else None,
            task.x.shape[0],
            **arguments(trial.model, trial.options),
        )
    return task, model.to(task.y.device), task.graph(model, trial.options)


def setting(trial: Trial, split: Split) -> Setting:
    """Return what the trainer needs of a trial: no mask of the test nodes is in it."""
    return Setting(
        split.train, split.val, trial.lr, trial.weight_decay, trial.entropy, trial.dropout
    )


def train_trials(
    trials: Sequence[Trial], device: str = "cpu", **options
) -> tuple[Task, list[Split], list[TrainingResult]]:
    """Train trials that differ in split, seed, learning rate, weight decay and dropout only.

    Args:
        trials: What to train.
        device: Where to train.
        options: Options of `acm.training.train`.
    """
    task, model, graph = ready(trials[0], device)
    splits = [task.split(trial) for trial in trials]
    settings = [setting(trial, split) for trial, split in zip(trials, splits)]
    # A label that is in no training or validation set is hidden from the trainer.
    visible = functools.reduce(torch.logical_or, (s.train | s.val for s in splits))
    y = torch.where(visible, task.y, -1)
    options = {"protocol": training_protocol(trials[0].dataset)} | options
    return task, splits, train(model, task.x, graph, y, settings, **options)
