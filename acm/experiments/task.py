"""A graph ready to be trained on, and the training of trials on it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from acm.data import fixed_split, load, random_split, row_normalize
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.trial import Trial, uses_random_splits
from acm.filters import SparseMatrix, low_pass, operand
from acm.nn import build
from acm.training import Fit, Setting, fit, protocol_for
from acm.training.stack import own_generator


@dataclass(frozen=True)
class Task:
    """A graph, ready to be trained on.

    Attributes:
        name: The data set.
        x: Row-normalised features, `[N, F]`, sparse where they are.
        low_pass: The filter `Â_rw` of the undirected graph with its raw loops (FIDELITY 1).
        y: Classes, `[N]`.
        num_classes: `C`.
    """

    name: str
    x: Tensor | SparseMatrix
    low_pass: SparseMatrix
    y: Tensor
    num_classes: int

    def split(self, trial: Trial) -> Split:
        """The masks of a trial's split."""
        if uses_random_splits(trial.dataset, trial.protocol):
            masks = random_split(self.y.cpu(), trial.split)
        else:
            masks = fixed_split(trial.dataset, trial.split)
        return Split(*(mask.to(self.y.device) for mask in masks))


@functools.lru_cache(maxsize=2)
def prepare(dataset: str, device: str = "cpu") -> Task:
    """Load a graph, normalise its features and build its filter, on a device.

    Raises:
        UsageError: If the data cannot be had, or there is no such device.
    """
    place = _device(device)
    data = load(dataset)
    x = operand(row_normalize(data.x))
    low = low_pass(data.edge_index, data.num_nodes)
    return Task(dataset, x.to(place), low.to(place), data.y.to(place), data.num_classes)


def fit_trials(
    trials: Sequence[Trial], device: str = "cpu", **options
) -> tuple[Task, list[Split], list[Fit]]:
    """Train trials that differ in split, seed, learning rate, weight decay and dropout only.

    Args:
        trials: What to train.
        device: Where.
        options: Of `acm.training.fit`; by default the protocol is that of the data set.
    """
    task, model = ready(trials[0], device)
    splits = [task.split(trial) for trial in trials]
    settings = [setting(trial, split) for trial, split in zip(trials, splits)]
    # No label that is in nobody's training or validation set is handed on.
    known = functools.reduce(torch.logical_or, (s.train | s.val for s in splits))
    y = torch.where(known, task.y, -1)
    options = {"protocol": protocol_for(trials[0].dataset)} | options
    return task, splits, fit(model, task.x, task.low_pass, y, settings, **options)


def ready(trial: Trial, device: str) -> tuple[Task, nn.Module]:
    """The graph of a trial and its model, on a device."""
    task = prepare(trial.dataset, device)
    with own_generator(task.y.device):
        model = build(
            trial.model,
            task.x.shape[1],
            task.num_classes,
            trial.hidden,
            trial.dropout,
            trial.channels.split("+"),
            trial.mix,
        )
    return task, model.to(task.y.device)


def setting(trial: Trial, split: Split) -> Setting:
    """What the trainer is asked for a trial, with the masks of its split."""
    return Setting(
        split.train, split.val, trial.lr, trial.weight_decay, trial.entropy, trial.dropout
    )


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # `meta` has no numbers
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(
            f"device {name!r} is not at hand here: 'cpu' always is"
            f"{', cuda too' if torch.cuda.is_available() else ''}"
        ) from error
    return device
