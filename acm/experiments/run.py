"""Train many trials at once, and store their records."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

import torch
from torch import Tensor, nn
from tqdm import tqdm

from acm import kernels
from acm.data import load, row_normalize
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.recipes import arguments
from acm.experiments.store import Record, Store, Validation, commit, processor, versions
from acm.experiments.trial import NUMERICS, Trial, split_of, training_protocol
from acm.experiments.workers import Workers, compute, cores
from acm.filters import SparseMatrix, moved, operand
from acm.nn.checks import operator_of, random_walk
from acm.registry import build
from acm.training import Setting, TrainingResult, train
from acm.training.stack import private_generator

#: The largest number of trials in a batch, by device. A worker that dies loses one batch.
MOST = {"cpu": 10, "cuda": 256}

_OPERATORS = threading.Lock()


@dataclass(frozen=True)
class Task:
    """A graph that is ready for training.

    The features `x`, `[N, F]`, are row-normalized. The graph `edge_index`, `[2, E]`, is undirected,
    keeps the self-loops of the raw data, and stays on the CPU.
    """

    name: str
    x: Tensor | SparseMatrix
    edge_index: Tensor
    y: Tensor
    num_classes: int
    _graphs: dict = field(default_factory=dict, repr=False, compare=False)

    def graph(self, model: nn.Module | None = None, options: str = ""):
        """Return the matrices that the operator of a model makes; without a model, `Â_rw`."""
        make = operator_of(nn.Module() if model is None else model)
        function = getattr(make, "__func__", make)
        key = function, "" if function is random_walk else options
        with _OPERATORS:  # an operator may take minutes, so only one thread makes it
            if key not in self._graphs:
                operator = make(self.edge_index, self.x.shape[0])
                self._graphs[key] = moved(operator, self.y.device)
                if len(self._graphs) > 5:
                    self._graphs.pop(next(iter(self._graphs)))
            return self._graphs[key]

    def split(self, trial: Trial) -> Split:
        """Return the masks of a trial's split, on the device of the classes."""
        masks = split_of(trial.dataset, trial.split_scheme, trial.split, self.y)
        return Split(*(mask.to(self.y.device) for mask in masks))


@functools.lru_cache(maxsize=2)
def prepare(dataset: str, device: str = "cpu") -> Task:
    """Load a graph, normalize its features, and move features and classes to a device."""
    try:
        target = torch.device(device)
        if target.type == "cpu" and target.index:
            raise RuntimeError("there is one CPU device")
        torch.zeros(1, device=target).item()  # fails on a device without values, such as "meta"
    except (RuntimeError, AssertionError, ImportError, TypeError) as error:
        raise UsageError(f"device {device!r} is not available here") from error
    data = load(dataset)
    x = operand(row_normalize(data.x))
    return Task(dataset, x.to(target), data.edge_index, data.y.to(target), data.num_classes)


def train_trials(
    trials: Sequence[Trial], device: str = "cpu", **options
) -> tuple[Task, list[TrainingResult]]:
    """Train trials that differ only in split, seed, lr, weight decay and dropout; see `train`."""
    first = trials[0]
    task = prepare(first.dataset, device)
    with private_generator(task.y.device):
        model = build(
            first.model,
            task.x.shape[1],
            task.num_classes,
            first.hidden,
            first.dropout,
            first.channels.split("+") if first.channels else None,
            first.mix if first.channels else None,
            task.x.shape[0],
            **arguments(first.model, first.options),
        ).to(task.y.device)
    # The trainer gets only masks of training and validation nodes, and only labels of these nodes.
    splits = [task.split(trial) for trial in trials]
    settings = [
        Setting(s.train, s.val, t.lr, t.weight_decay, t.entropy, t.dropout)
        for t, s in zip(trials, splits)
    ]
    visible = functools.reduce(torch.logical_or, (s.train | s.val for s in splits))
    y = torch.where(visible, task.y, -1)
    graph = task.graph(model, first.options)
    options = {"protocol": training_protocol(first.dataset)} | options
    return task, train(model, task.x, graph, y, settings, **options)


@contextmanager
def on_threads(number: int) -> Iterator[None]:
    """Run the loops of `acm.kernels` on `number` threads, and PyTorch on one thread.

    The last digits of a sum in PyTorch depend on the number of threads.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with kernels.threads(number):
            yield
    finally:
        torch.set_num_threads(before)


def run_trial(trial: Trial, device: str = "cpu", on_epoch=None) -> tuple[Record, TrainingResult]:
    """Train one trial, and return its record and its result (the model and the curves)."""
    with on_threads(cores()):
        task, (result,) = train_trials([trial], device, on_epoch=on_epoch)
    return _record(trial, result, task, cores(), blind=False), result


def train_batch(
    trials: Sequence[Trial], device="cpu", threads=1, blind=False, on_epoch=None
) -> list[Record | Validation | UsageError]:
    """Train trials; return a record or an error for each trial. `blind` reads no test label."""
    options = dict(keep_weights=False, keep_going=True, on_epoch=on_epoch)
    with on_threads(threads):
        task, results = train_trials(trials, device, **options)
    return [
        UsageError(f"{t.model} on {t.dataset}, split {t.split}, lr {t.lr:g}: {result.error}")
        if result.error
        else _record(t, result, task, threads, blind)
        for t, result in zip(trials, results)
    ]


def _record(trial, result, task, threads, blind) -> Record | Validation:
    names = ("val_accuracy", "val_loss", "best_epoch", "epochs", "stacked")
    fields = asdict(trial) | {name: getattr(result, name) for name in names}
    device = task.y.device
    chip = torch.cuda.get_device_name(device) if device.type == "cuda" else processor()
    fields |= {"seconds": round(result.seconds, 3), "device": f"{device.type}: {chip}"}
    fields |= {"threads": threads, "versions": versions(), "commit": commit()}
    if blind:
        return Validation(**fields)
    test = task.split(trial).test
    right = result.prediction[test] == task.y[test]
    return Record(**fields, test_accuracy=right.double().mean().item())


def batches(trials: Sequence[Trial], device: str, at_once: int) -> list[list[Trial]]:
    """Group trials that can be trained together; split a group into `at_once` batches or more."""
    groups: dict[tuple, list[Trial]] = {}
    for t in trials:
        cell = t.dataset, t.model, t.split_scheme, t.hidden, t.channels, t.mix, t.options
        # Trials without dropout get separate batches: one pass serves training and validation.
        groups.setdefault((*cell, t.dropout > 0), []).append(t)
    result = []
    for group in groups.values():
        most = min(MOST.get(device.split(":")[0], 10), math.ceil(len(group) / at_once))
        parts = math.ceil(len(group) / most)
        result += [group[k::parts] for k in range(parts)]
    return result


def run_trials(
    trials: Sequence[Trial],
    store: Store | None = None,
    device: str = "cpu",
    progress: bool = True,
    workers: Workers | None = None,
) -> list[Record]:
    """Train the trials that the store does not have, and return the records of all trials.

    The records of a batch are stored as soon as the batch is finished. After an interruption
    (Ctrl-C, a kill), the next call trains only the trials that the store does not have. The outcome
    of a trial does not depend on its batch or on the workers. If a loss becomes NaN or infinite,
    `UsageError` is raised after all other trials have finished.
    """
    records, errors = _run(trials, store, device, progress, workers)
    if errors:
        count = f" ({len(errors)} trials failed)" if len(errors) > 1 else ""
        raise UsageError(f"{errors[0]}{count}")
    return records


def validate_trials(*arguments, **options) -> list[Validation | None]:
    """Train like `run_trials`, without test labels; a trial with a NaN loss gives `None`."""
    return _run(*arguments, **options, blind=True)[0]


def _run(trials, store=None, device="cpu", progress=True, workers=None, blind=False) -> tuple:
    trials, workers = list(trials), workers or Workers()
    rows, errors = store.find(trials) if store else {}, []
    todo = list(dict.fromkeys(t for t in trials if t not in rows))
    if any(t.numerics != NUMERICS for t in todo):
        raise UsageError(f"only numerics version {NUMERICS} can be trained")
    if store and todo:
        store.check()
    at_once = 1 if workers.kind == "here" else workers.size
    work = batches(todo, device, at_once)
    threads = workers.size // max(1, min(at_once, len(work)))  # few batches get more threads each
    function = functools.partial(train_batch, device=device, threads=threads, blind=blind)
    with tqdm(total=len(todo), unit="trial", disable=not progress or None) as bar:
        for batch, outcome in compute(function, work, workers):
            done = [row for row in outcome if not isinstance(row, UsageError)]
            errors += [row for row in outcome if isinstance(row, UsageError)]
            rows |= {row.trial: row for row in (store.extend(done) if store else done)}
            bar.set_description(f"{batch[0].model} on {batch[0].dataset}")
            bar.update(len(outcome))
    return [rows.get(trial) for trial in trials], errors
