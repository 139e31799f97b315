"""Running trials, many at once, and keeping what they find."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from acm import kernels
from acm.data import fixed_split, load, random_split, row_normalize
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.options import arguments
from acm.experiments.places import Place, compute, cores
from acm.experiments.record import Record, Validation, where
from acm.experiments.store import Row, Store
from acm.experiments.trial import Trial, cell, uses_random_splits
from acm.filters import SparseMatrix, low_pass, operand
from acm.kernels.memory import keep_freed_memory
from acm.nn import GCNII, Network, build
from acm.training import Fit, Setting, batch_size, fit, protocol_for
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

    @functools.cached_property
    def low_pass(self) -> SparseMatrix:
        """The filter `Â_rw`, with which most models propagate."""
        return low_pass(self.edge_index, self.x.shape[0]).to(self.y.device)

    def split(self, trial: Trial) -> Split:
        """The masks of a trial's split."""
        if uses_random_splits(trial.dataset, trial.protocol):
            masks = random_split(self.y.cpu(), trial.split)
        else:
            masks = fixed_split(trial.dataset, trial.split)
        return Split(*(mask.to(self.y.device) for mask in masks))


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


#: What models propagated with last, newest last: some of it takes minutes to find.
_GRAPHS: dict[tuple, object] = {}
_FINDING = threading.Lock()


def _graph(task: Task, trial: Trial, model: nn.Module):
    """What a model propagates with: its `operator`, or `Â_rw` if it has none."""
    operator = getattr(model, "operator", None)
    if operator is None or isinstance(model, Network | GCNII):
        return task.low_pass
    key = task.name, str(task.y.device), trial.model, trial.options
    with _FINDING:
        if key not in _GRAPHS:
            found = _moved(operator(task.edge_index, task.x.shape[0]), task.y.device)
            while len(_GRAPHS) > 3:
                _GRAPHS.pop(next(iter(_GRAPHS)))
            _GRAPHS[key] = found
        return _GRAPHS[key]


def _moved(graph, device: torch.device):
    """A matrix, or a tuple of them, on a device."""
    if isinstance(graph, tuple):
        return tuple(_moved(part, device) for part in graph)
    return graph.to(device)


def fit_trials(
    trials: Sequence[Trial], device: str = "cpu", **options
) -> tuple[Task, list[Split], list[Fit]]:
    """Train trials that differ in split, seed, learning rate, weight decay and dropout only.

    Args:
        trials: What to train.
        device: Where.
        options: Of `acm.training.fit`.
    """
    task, model, graph = _ready(trials[0], device)
    splits = [task.split(trial) for trial in trials]
    settings = [_setting(trial, split) for trial, split in zip(trials, splits)]
    # No label that is in nobody's training or validation set is handed on.
    known = functools.reduce(torch.logical_or, (s.train | s.val for s in splits))
    y = torch.where(known, task.y, -1)
    protocol = protocol_for(trials[0].dataset)
    return (
        task,
        splits,
        fit(model, task.x, graph, y, settings, protocol=protocol, **options),
    )


def _ready(trial: Trial, device: str) -> tuple[Task, nn.Module, object]:
    """The graph, the model, and what it propagates with."""
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
    return task, model.to(task.y.device), _graph(task, trial, model)


def _setting(trial: Trial, split: Split) -> Setting:
    return Setting(
        split.train, split.val, trial.lr, trial.weight_decay, trial.entropy, trial.dropout
    )


def run_trial(trial: Trial, device: str = "cpu", on_epoch=None) -> tuple[Record, Fit]:
    """Train one trial: its record, and the fitted model with its curves."""
    with on_threads(cores()):
        task, (split,), (fitted,) = fit_trials([trial], device, on_epoch=on_epoch)
        return _record(trial, fitted, task, split), fitted


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


@dataclass(frozen=True)
class Batch:
    """Trials that are trained together, and how: what a worker is given.

    Attributes:
        trials: They differ in split, seed, learning rate, weight decay and dropout only.
        device: Where.
        threads: How many CPU threads there are for the batch.
        blind: Whether nothing is tested.
    """

    trials: tuple[Trial, ...]
    device: str = "cpu"
    threads: int = 1
    blind: bool = False


def run_batch(batch: Batch, stop: threading.Event | None = None) -> list[Row | UsageError]:
    """A record of each trial, or what went wrong with it.

    Args:
        batch: What to run.
        stop: Set by another thread, ends the training with an `InterruptedError`.
    """

    def on_epoch(epoch: int, number: int) -> None:
        if stop is not None and stop.is_set():
            raise InterruptedError

    options = dict(keep_weights=False, keep_going=True, on_epoch=on_epoch)
    with on_threads(batch.threads):
        task, splits, fits = fit_trials(batch.trials, batch.device, **options)
    return [
        UsageError(f"{_name(trial)}: {fitted.error}")
        if fitted.error
        else _record(trial, fitted, task, None if batch.blind else split)
        for trial, fitted, split in zip(batch.trials, fits, splits)
    ]


#: How many trials a worker gets at a time, by device: what is lost if it dies.
MOST = {"cpu": 10, "cuda": 256}


def batches(
    trials: Sequence[Trial], device: str = "cpu", *, blind: bool = False, place: Place | None = None
) -> list[Batch]:
    """The trials in batches that can be trained together.

    Those of one model on one graph go together, those without dropout by themselves (their
    training pass serves for validation too), and no worker is left without.
    """
    place = place or _default(device)
    groups: dict[tuple, list[Trial]] = {}
    for t in trials:
        what = t.dataset, t.model, t.protocol, t.hidden, t.channels, t.mix, t.options
        key = *what, t.dropout > 0
        groups.setdefault(key, []).append(t)
    result = []
    threads = max(1, place.size // max(1, len(trials)))  # fewer trials than cores share loops
    for group in groups.values():
        most = min(MOST.get(device.split(":")[0], 10), -(-len(group) // place.size))
        if place.kind == "here":  # the smaller the pieces, the sooner all threads are done
            task, model, graph = _ready(group[0], device)
            setting = _setting(group[0], task.split(group[0]))
            most = min(most, batch_size(model, task.x, graph, setting))
        parts = -(-len(group) // max(1, most))
        result += [Batch(tuple(group[k::parts]), device, threads, blind) for k in range(parts)]
    return result


def run(
    trials: Sequence[Trial],
    store: Store | None = None,
    device: str = "cpu",
    progress: bool = True,
    place: Place | None = None,
) -> list[Record]:
    """Run the trials that the store does not have, and return the records of all.

    Records are stored as soon as their batch is finished, so an interruption (Ctrl-C, a kill)
    loses the batches in flight and nothing else, and the next call goes on from there. What a
    trial gives does not depend on its batch, nor on the place.

    Args:
        trials: What to run, see `cell`.
        store: Where records are kept; without one nothing is written.
        device: `"cpu"`, `"cuda"`, or as PyTorch names them.
        progress: Whether to draw a bar on standard error, if that is a terminal.
        place: Where batches run; by default here, in as many threads as there are cores.

    Raises:
        UsageError: If the data or the device cannot be had, the store cannot be written, or the
            loss of a trial stops being a number; all others are then finished and stored.
    """
    return _run(trials, store, device, progress, place, blind=False)


def validate(
    trials: Sequence[Trial],
    store: Store | None = None,
    device: str = "cpu",
    progress: bool = True,
    place: Place | None = None,
) -> list[Validation | None]:
    """The same without any test label, for a search; `None` where a loss stopped being a number.

    Arguments and errors are those of `run`.
    """
    return _run(trials, store, device, progress, place, blind=True)


def _run(trials, store, device, progress, place, blind) -> list[Row | None]:
    trials = list(trials)
    place = place or _default(device)
    there = store.find(trials) if store else {}
    todo = list(dict.fromkeys(t for t in trials if t not in there))
    if store and todo:
        store.check()
    work = batches(todo, device, blind=blind, place=place)
    stop, failed = threading.Event(), []
    call = functools.partial(run_batch, stop=stop) if place.kind == "here" else run_batch
    bar = tqdm(total=len(todo), unit="trial", file=sys.stderr, disable=not progress or None)
    with bar, _responsive():
        try:
            for batch, rows in compute(call, work, place, stop.set):
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
    protocol: str = "random",
    splits: int | None = None,
    seed: int = 0,
    hyperparameters=None,
    store: str | Path | None = None,
    device: str = "cpu",
    progress: bool = True,
    place: Place | None = None,
    **options,
) -> list[Record]:
    """Run one cell of Table 3 or Table 8: `run(cell(…))`, whose arguments and errors these are.

    Args:
        store: Path of the CSV file with the records, if they are to be kept.
    """
    trials = cell(dataset, model, protocol, splits, seed, hyperparameters, **options)
    return run(trials, Store(store) if store else None, device, progress, place)


def _default(device: str) -> Place:
    return Place(workers=0 if device == "cpu" else 1)


def _record(trial: Trial, fitted: Fit, task: Task, split: Split | None) -> Row:
    seen = asdict(trial) | dict(
        val_accuracy=fitted.val_accuracy,
        val_loss=fitted.val_loss,
        best_epoch=fitted.best_epoch,
        epochs=fitted.epochs,
        seconds=round(fitted.seconds, 3),
        stacked=fitted.stacked,
        **where(task.y.device),
    )
    if split is None:
        return Validation(**seen)
    right = fitted.prediction[split.test] == task.y[split.test]
    return Record(**seen, test_accuracy=right.double().mean().item())


def _name(trial: Trial) -> str:
    return f"{trial.model} on {trial.dataset}, split {trial.split}, lr {trial.lr:g}"


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
