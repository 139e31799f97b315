"""Running trials, many at once, and keeping what they find."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from acm import kernels
from acm.data import load, row_normalize
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.recipes import arguments
from acm.experiments.store import Record, Row, Store, Validation, where
from acm.experiments.trial import Trial, split_of, trials_of
from acm.experiments.workers import Workers, compute, cores
from acm.filters import SparseMatrix, moved, operand
from acm.kernels.memory import keep_freed_memory
from acm.nn.checks import operator_of, random_walk
from acm.registry import build
from acm.training import Setting, TrainingResult, batch_size, stackable, train, training_protocol
from acm.training.stack import private_generator


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
        masks = split_of(trial.dataset, trial.split_scheme, trial.split, self.y)
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
    workers = _device(device)
    data = load(dataset)
    x = operand(row_normalize(data.x))
    return Task(dataset, x.to(workers), data.edge_index, data.y.to(workers), data.num_classes)


def train_trials(
    trials: Sequence[Trial], device: str = "cpu", **options
) -> tuple[Task, list[Split], list[TrainingResult]]:
    """Train trials that differ in split, seed, learning rate, weight decay and dropout only.

    Args:
        trials: What to train.
        device: Where.
        options: Of `acm.training.trainer`; by default the split_scheme is that of the data set.
    """
    task, model, graph = ready(trials[0], device)
    splits = [task.split(trial) for trial in trials]
    settings = [setting(trial, split) for trial, split in zip(trials, splits)]
    # No label that is in nobody's training or validation set is handed on.
    known = functools.reduce(torch.logical_or, (s.train | s.val for s in splits))
    y = torch.where(known, task.y, -1)
    options = {"protocol": training_protocol(trials[0].dataset)} | options
    return task, splits, train(model, task.x, graph, y, settings, **options)


def ready(trial: Trial, device: str) -> tuple[Task, nn.Module, object]:
    """The task of a trial, its model, and what that propagates with, on a device."""
    task = prepare(trial.dataset, device)
    with private_generator(task.y.device):
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


def run_trial(trial: Trial, device: str = "cpu", on_epoch=None) -> tuple[Record, TrainingResult]:
    """Train one trial: its record, and the fitted model with its curves."""
    with on_threads(cores()):
        task, (split,), (fitted,) = train_trials([trial], device, on_epoch=on_epoch)
    return _record(trial, fitted, task, split, cores()), fitted


@dataclass(frozen=True)
class Batch:
    """Trials that are trained together, and how: what a worker is given.

    Attributes:
        trials: They differ in split, seed, learning rate, weight decay and dropout only.
        device: Where.
        threads: How many CPU threads there are for the batch.
        blind: Whether nothing is tested.
        stack: Whether they are stacked, all of them; `None` leaves it to `acm.training.trainer`.
    """

    trials: tuple[Trial, ...]
    device: str = "cpu"
    threads: int = 1
    blind: bool = False
    stack: bool | None = None


def train_batch(batch: Batch, stop: threading.Event | None = None) -> list[Row | UsageError]:
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
        task, splits, fits = train_trials(batch.trials, batch.device, **options)
    return [
        UsageError(f"{_name(trial)}: {fitted.error}")
        if fitted.error
        else _record(trial, fitted, task, None if batch.blind else split, batch.threads)
        for trial, fitted, split in zip(batch.trials, fits, splits)
    ]


#: How many trials a worker gets at a time, by device: what is lost if it dies.
MOST = {"cpu": 10, "cuda": 256}


def batches(
    trials: Sequence[Trial],
    device: str = "cpu",
    *,
    blind: bool = False,
    workers: Workers | None = None,
) -> list[Batch]:
    """The trials in batches that can be trained together.

    Those of one model on one graph go together, those without dropout by themselves (their
    training pass serves for validation too), and no worker is left without; of a Dask cluster,
    none of as many as this machine has cores.
    """
    workers = workers or default_workers(device)
    groups: dict[tuple, list[Trial]] = {}
    for t in trials:
        what = t.dataset, t.model, t.split_scheme, t.hidden, t.channels, t.mix, t.options
        key = *what, t.dropout > 0
        groups.setdefault(key, []).append(t)
    result = []
    threads = max(1, workers.size // max(1, len(trials)))  # fewer trials than cores share loops
    for group in groups.values():
        most = min(MOST.get(device.split(":")[0], 10), -(-len(group) // workers.size))
        stack = None
        if workers.kind == "here":  # seen once for all threads
            task, model, graph = ready(group[0], device)
            one = model, task.x, graph, setting(group[0], task.split(group[0]))
            stack = stackable(*one)
            # The smaller the pieces, the sooner all threads are done.
            most = min(most, batch_size(*one)) if stack else most
        parts = -(-len(group) // max(1, most))
        pieces = (tuple(group[k::parts]) for k in range(parts))
        result += [Batch(piece, device, threads, blind, stack) for piece in pieces]
    return result


def default_workers(device: str) -> Workers:
    """Threads of this process: as many as there are cores, or one that feeds a GPU."""
    return Workers(workers=0 if device == "cpu" else 1)


def _record(
    trial: Trial, fitted: TrainingResult, task: Task, split: Split | None, threads: int
) -> Row:
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


def run_trials(
    trials: Sequence[Trial],
    store: Store | None = None,
    device: str = "cpu",
    progress: bool = True,
    workers: Workers | None = None,
) -> list[Record]:
    """Run the trials that the store does not have, and return the records of all.

    Records are stored as soon as their batch is finished, so an interruption (Ctrl-C, a kill)
    loses the batches in flight and nothing else, and the next call goes on from there. What a
    trial gives does not depend on its batch, nor on the workers.

    Args:
        trials: What to run, see `trials_of`.
        store: Where records are kept; without one nothing is written.
        device: `"cpu"`, `"cuda"`, or as PyTorch names them.
        progress: Whether to draw a bar on standard error, if that is a terminal.
        workers: Where batches run; by default here, in as many threads as there are cores.

    Raises:
        UsageError: If the data or the device cannot be had, the store cannot be written, or the
            loss of a trial stops being a number; all others are then finished and stored.
    """
    return _run(trials, store, device, progress, workers, blind=False)


def validate_trials(
    trials: Sequence[Trial],
    store: Store | None = None,
    device: str = "cpu",
    progress: bool = True,
    workers: Workers | None = None,
) -> list[Validation | None]:
    """The same without any test label, for a search; `None` where a loss stopped being a number.

    Arguments and errors are those of `run_trials`.
    """
    return _run(trials, store, device, progress, workers, blind=True)


def _run(trials, store, device, progress, workers, blind) -> list[Row | None]:
    trials = list(trials)
    workers = workers or default_workers(device)
    there = store.find(trials) if store else {}
    todo = list(dict.fromkeys(t for t in trials if t not in there))
    if store and todo:
        store.check()
    work = batches(todo, device, blind=blind, workers=workers)
    stop, failed = threading.Event(), []
    call = functools.partial(train_batch, stop=stop) if workers.kind == "here" else train_batch
    bar = tqdm(total=len(todo), unit="trial", file=sys.stderr, disable=not progress or None)
    with bar, _responsive():
        try:
            for batch, rows in compute(call, work, workers, stop.set):
                good = [row for row in rows if not isinstance(row, UsageError)]
                failed += [row for row in rows if isinstance(row, UsageError)]
                there |= {row.trial: row for row in (store.extend(good) if store else good)}
                bar.set_description(f"{batch.trials[0].model} on {batch.trials[0].dataset}")
                bar.update(len(rows))
        finally:
            stop.set()
    if failed and not blind:
        rest = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise UsageError(f"{failed[0]}{rest}")
    return [there.get(trial) for trial in trials]


@contextmanager
def _responsive():
    """Python's threads take turns often: their own steps are short beside those of the loops."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


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
    """Run one cell of Table 3 or Table 8: `run_trials(trials_of(…))`.

    Args:
        store: Path of the CSV file with the records, if they are to be kept.
    """
    trials = trials_of(dataset, model, split_scheme, splits, seed, hyperparameters, **options)
    return run_trials(trials, Store(store) if store else None, device, progress, workers)
