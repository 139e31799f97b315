"""Trials that are trained together: what a worker is given, and what it gives back."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import torch

from acm import kernels
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.places import Place, cores
from acm.experiments.record import Record, Validation, where
from acm.experiments.store import Row
from acm.experiments.task import Task, fit_trials, ready, setting
from acm.experiments.trial import Trial
from acm.kernels.memory import keep_freed_memory
from acm.training import Fit, batch_size, stackable


@contextmanager
def on_threads(number: int):
    """The loops of `acm.kernels` on so many threads, and PyTorch's own operations on one.

    What these add up depends on how many threads they have; and two pools of threads would wait
    for each other's cores.
    """
    keep_freed_memory()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with kernels.threads(number):
            yield
    finally:
        torch.set_num_threads(before)


def run_trial(trial: Trial, device: str = "cpu", on_epoch=None) -> tuple[Record, Fit]:
    """Train one trial: its record, and the fitted model with its curves."""
    with on_threads(cores()):
        task, (split,), (fitted,) = fit_trials([trial], device, on_epoch=on_epoch)
    return _record(trial, fitted, task, split, cores()), fitted


@dataclass(frozen=True)
class Batch:
    """Trials that are trained together, and how: what a worker is given.

    Attributes:
        trials: They differ in split, seed, learning rate, weight decay and dropout only.
        device: Where.
        threads: How many CPU threads there are for the batch.
        blind: Whether nothing is tested.
        stack: Whether they are stacked, all of them; `None` leaves it to `acm.training.fit`.
    """

    trials: tuple[Trial, ...]
    device: str = "cpu"
    threads: int = 1
    blind: bool = False
    stack: bool | None = None


def run_batch(batch: Batch, stop: threading.Event | None = None) -> list[Row | UsageError]:
    """A record of each trial, or what went wrong with it.

    Args:
        batch: What to run.
        stop: Set by another thread, ends the training with an `InterruptedError`.
    """

    def on_epoch(epoch: int, number: int) -> None:
        if stop is not None and stop.is_set():
            raise InterruptedError

    options = dict(keep_weights=False, keep_going=True, on_epoch=on_epoch, stack=batch.stack)
    if batch.stack:
        options["batch"] = len(batch.trials)
    with on_threads(batch.threads):
        task, splits, fits = fit_trials(batch.trials, batch.device, **options)
    return [
        UsageError(f"{_name(trial)}: {fitted.error}")
        if fitted.error
        else _record(trial, fitted, task, None if batch.blind else split, batch.threads)
        for trial, fitted, split in zip(batch.trials, fits, splits)
    ]


#: How many trials a worker gets at a time, by device: what is lost if it dies.
MOST = {"cpu": 10, "cuda": 256}


def batches(
    trials: Sequence[Trial], device: str = "cpu", *, blind: bool = False, place: Place | None = None
) -> list[Batch]:
    """The trials in batches that can be trained together.

    Those of one model on one graph go together, those without dropout by themselves (their
    training pass serves for validation too), and no worker is left without; of a Dask cluster,
    none of as many as this machine has cores.
    """
    place = place or default_place(device)
    groups: dict[tuple, list[Trial]] = {}
    for t in trials:
        what = t.dataset, t.model, t.protocol, t.hidden, t.channels, t.mix, t.options
        key = *what, t.dropout > 0
        groups.setdefault(key, []).append(t)
    result = []
    threads = max(1, place.size // max(1, len(trials)))  # fewer trials than cores share loops
    for group in groups.values():
        most = min(MOST.get(device.split(":")[0], 10), -(-len(group) // place.size))
        stack = None
        if place.kind == "here":  # seen once for all threads
            task, model, graph = ready(group[0], device)
            one = model, task.x, graph, setting(group[0], task.split(group[0]))
            stack = stackable(*one)
            # The smaller the pieces, the sooner all threads are done.
            most = min(most, batch_size(*one)) if stack else most
        parts = -(-len(group) // max(1, most))
        pieces = (tuple(group[k::parts]) for k in range(parts))
        result += [Batch(piece, device, threads, blind, stack) for piece in pieces]
    return result


def default_place(device: str) -> Place:
    """Threads of this process: as many as there are cores, or one that feeds a GPU."""
    return Place(workers=0 if device == "cpu" else 1)


def _record(trial: Trial, fitted: Fit, task: Task, split: Split | None, threads: int) -> Row:
    seen = asdict(trial) | dict(
        val_accuracy=fitted.val_accuracy,
        val_loss=fitted.val_loss,
        best_epoch=fitted.best_epoch,
        epochs=fitted.epochs,
        seconds=round(fitted.seconds, 3),
        stacked=fitted.stacked,
        **where(task.y.device, threads),
    )
    if split is None:
        return Validation(**seen)
    right = fitted.prediction[split.test] == task.y[split.test]
    return Record(**seen, test_accuracy=right.double().mean().item())


def _name(trial: Trial) -> str:
    return f"{trial.model} on {trial.dataset}, split {trial.split}, lr {trial.lr:g}"
