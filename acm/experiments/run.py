"""Train trials, many at once, and keep their records."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tqdm import tqdm

from acm import kernels
from acm.errors import UsageError
from acm.experiments.record import Record, Validation, provenance
from acm.experiments.store import Store
from acm.experiments.task import train_trials
from acm.experiments.trial import NUMERICS, Trial, trials_of
from acm.experiments.workers import Workers, compute, cores
from acm.training import TrainingResult

#: How many trials a worker gets at once, by device: what is lost if it dies.
MOST = {"cpu": 10, "cuda": 256}


@contextmanager
def on_threads(number: int) -> Iterator[None]:
    """Run the loops of `acm.kernels` on some threads, and PyTorch's own operations on one.

    PyTorch's sums depend on its number of threads, and two pools of threads would wait for each
    other.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with kernels.threads(number):
            yield
    finally:
        torch.set_num_threads(before)


def run_trial(trial: Trial, device: str = "cpu", on_epoch=None) -> tuple[Record, TrainingResult]:
    """Train one trial, and return its record and the trained model with its curves."""
    with on_threads(cores()):
        task, (split,), (result,) = train_trials([trial], device, on_epoch=on_epoch)
    return _record(trial, result, task, split, cores()), result


@dataclass(frozen=True)
class Batch:
    """Trials that a worker trains together.

    Attributes:
        trials: They differ in split, seed, learning rate, weight decay and dropout only.
        device: Where to train.
        threads: Number of CPU threads of the batch.
        blind: Whether no test label is read.
    """

    trials: tuple[Trial, ...]
    device: str = "cpu"
    threads: int = 1
    blind: bool = False


def train_batch(
    batch: Batch, stop: threading.Event | None = None
) -> list[Record | Validation | UsageError]:
    """Return a record of each trial, or the error that ended its training.

    Args:
        batch: What to train.
        stop: If another thread sets this event, the training ends with an `InterruptedError`.
    """

    def on_epoch(epoch: int, number: int) -> None:
        if stop is not None and stop.is_set():
            raise InterruptedError

    with on_threads(batch.threads):
        task, splits, results = train_trials(
            batch.trials, batch.device, keep_weights=False, keep_going=True, on_epoch=on_epoch
        )
    return [
        UsageError(f"{_name(trial)}: {result.error}")
        if result.error
        else _record(trial, result, task, None if batch.blind else split, batch.threads)
        for trial, result, split in zip(batch.trials, results, splits)
    ]


def batches(
    trials: Sequence[Trial],
    device: str = "cpu",
    *,
    blind: bool = False,
    workers: Workers | None = None,
) -> list[Batch]:
    """Divide trials into batches that can be trained together, so that no worker is idle.

    Trials with and without dropout are separated: without dropout one pass serves for training and
    validation.
    """
    size = (workers or default_workers(device)).size
    groups: dict[tuple, list[Trial]] = {}
    for t in trials:
        cell = t.dataset, t.model, t.split_scheme, t.hidden, t.channels, t.mix, t.options
        groups.setdefault((*cell, t.dropout > 0), []).append(t)
    threads = max(1, size // max(1, len(trials)))  # fewer trials than cores share the loops
    result = []
    for group in groups.values():
        most = max(1, min(MOST.get(device.split(":")[0], 10), -(-len(group) // size)))
        parts = -(-len(group) // most)
        result += [Batch(tuple(group[k::parts]), device, threads, blind) for k in range(parts)]
    return result


def default_workers(device: str) -> Workers:
    """Return threads of this process: one per core, or one that feeds a GPU."""
    return Workers(workers=0 if device == "cpu" else 1)


def _name(trial: Trial) -> str:
    return f"{trial.model} on {trial.dataset}, split {trial.split}, lr {trial.lr:g}"


def _record(trial, result, task, split, threads) -> Record | Validation:
    fields = asdict(trial) | dict(
        val_accuracy=result.val_accuracy,
        val_loss=result.val_loss,
        best_epoch=result.best_epoch,
        epochs=result.epochs,
        seconds=round(result.seconds, 3),
        stacked=result.stacked,
        **provenance(task.y.device, threads),
    )
    if split is None:
        return Validation(**fields)
    right = result.prediction[split.test] == task.y[split.test]
    return Record(**fields, test_accuracy=right.double().mean().item())


def run_trials(
    trials: Sequence[Trial],
    store: Store | None = None,
    device: str = "cpu",
    progress: bool = True,
    workers: Workers | None = None,
) -> list[Record]:
    """Train the trials that the store does not have, and return the records of all.

    Records are stored as soon as their batch is finished. An interruption (Ctrl-C, a kill) loses
    only the batches in flight, and the next call continues there. The outcome of a trial does not
    depend on its batch or on the workers.

    Args:
        trials: What to train, see `trials_of`.
        store: Where records are kept; without a store nothing is written.
        device: `"cpu"`, `"cuda"`, or another name that PyTorch has.
        progress: Whether to show a progress bar, if standard error is a terminal.
        workers: Where batches run; by default in one thread per core of this process.

    Raises:
        UsageError: If the data or the device are not available, the store cannot be written, or a
            loss stops being a number; all other trials are then finished and stored.
    """
    return _run(trials, store, device, progress, workers, blind=False)


def validate_trials(
    trials: Sequence[Trial],
    store: Store | None = None,
    device: str = "cpu",
    progress: bool = True,
    workers: Workers | None = None,
) -> list[Validation | None]:
    """Do the same without any test label; a trial whose loss stops being a number gives `None`.

    Arguments and errors are those of `run_trials`.
    """
    return _run(trials, store, device, progress, workers, blind=True)


def _run(trials, store, device, progress, workers, blind) -> list:
    trials = list(trials)
    workers = workers or default_workers(device)
    rows = store.find(trials) if store else {}
    todo = list(dict.fromkeys(t for t in trials if t not in rows))
    if any(t.numerics != NUMERICS for t in todo):
        raise UsageError(f"only numerics version {NUMERICS} can be trained, earlier ones only read")
    if store and todo:
        store.check()
    stop, errors = threading.Event(), []
    function = functools.partial(train_batch, stop=stop) if workers.kind == "here" else train_batch
    work = batches(todo, device, blind=blind, workers=workers)
    bar = tqdm(total=len(todo), unit="trial", file=sys.stderr, disable=not progress or None)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)  # Python's steps are short beside those of the loops
    try:
        with bar:
            for batch, outcome in compute(function, work, workers, stop.set):
                done = [row for row in outcome if not isinstance(row, UsageError)]
                errors += [row for row in outcome if isinstance(row, UsageError)]
                rows |= {row.trial: row for row in (store.extend(done) if store else done)}
                bar.set_description(f"{batch.trials[0].model} on {batch.trials[0].dataset}")
                bar.update(len(outcome))
    finally:
        stop.set()
        sys.setswitchinterval(interval)
    if errors and not blind:
        others = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise UsageError(f"{errors[0]}{others}")
    return [rows.get(trial) for trial in trials]


def run_cell(
    dataset: str,
    model: str,
    split_scheme: str = "random",
    splits: int | None = None,
    seed: int = 0,
    hyperparameters=None,
    store: str | Path | None = None,
    device: str = "cpu",
    progress: bool = True,
    workers: Workers | None = None,
    **options,
) -> list[Record]:
    """Train one cell of Table 3 or Table 8: `run_trials(trials_of(…))`.

    Args:
        store: Path of the CSV file that keeps the records; without it nothing is written.

    Other arguments and errors are those of `trials_of` and `run_trials`.
    """
    trials = trials_of(dataset, model, split_scheme, splits, seed, hyperparameters, **options)
    return run_trials(trials, Store(store) if store else None, device, progress, workers)
