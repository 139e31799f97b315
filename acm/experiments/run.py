"""Running trials, one at a time, and keeping what they find."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import torch
from torch import Tensor
from tqdm import tqdm

from acm.data import fixed_split, load, random_split, row_normalize
from acm.data.splits import Split
from acm.errors import UsageError
from acm.experiments.record import Record, where
from acm.experiments.store import Store
from acm.experiments.trial import Trial, cell, uses_random_splits
from acm.filters import SparseMatrix, low_pass, operand
from acm.nn import build
from acm.training import Fit, fit, protocol_for


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


def run_trial(trial: Trial, device: str = "cpu", on_epoch=None) -> tuple[Record, Fit]:
    """Train one trial: its record, and the fitted model with its curves."""
    task = prepare(trial.dataset, device)
    split = task.split(trial)
    model = build(
        trial.model,
        task.x.shape[1],
        task.num_classes,
        trial.hidden,
        trial.dropout,
        trial.channels.split("+"),
        trial.mix,
    ).to(task.y.device)
    fitted = fit(
        model,
        task.x,
        task.low_pass,
        task.y,
        split.train,
        split.val,
        lr=trial.lr,
        weight_decay=trial.weight_decay,
        seed=trial.entropy,
        protocol=protocol_for(trial.dataset),
        on_epoch=on_epoch,
    )
    right = fitted.prediction[split.test] == task.y[split.test]
    record = Record(
        *astuple(trial),
        val_accuracy=fitted.val_accuracy,
        test_accuracy=right.double().mean().item(),
        val_loss=fitted.val_loss,
        best_epoch=fitted.best_epoch,
        epochs=fitted.epochs,
        seconds=round(fitted.seconds, 3),
        **where(task.y.device),
    )
    return record, fitted


def run(
    trials: Sequence[Trial], store: Store | None = None, device: str = "cpu", progress: bool = True
) -> list[Record]:
    """Run the trials that the store does not have, and return the records of all.

    Each record is stored as soon as its trial is finished, so an interruption (Ctrl-C, a kill)
    loses the trial in flight and nothing else, and the next call goes on from there.

    Args:
        trials: What to run, see `cell`.
        store: Where records are kept; without one nothing is written.
        device: `"cpu"`, `"cuda"`, or as PyTorch names them.
        progress: Whether to draw a bar on standard error, if that is a terminal.

    Raises:
        UsageError: If the data or the device cannot be had, or the store cannot be written.
    """
    there = store.find(list(trials)) if store else {}
    for trial in _bar([t for t in trials if t not in there], progress):
        record, _ = run_trial(trial, device)
        there[trial] = store.append(record) if store else record
    return [there[trial] for trial in trials]


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
    **options,
) -> list[Record]:
    """Run one cell of Table 3 or Table 8: `run(cell(…))`, whose arguments and errors these are.

    Args:
        store: Path of the CSV file with the records, if they are to be kept.
    """
    trials = cell(dataset, model, protocol, splits, seed, hyperparameters, **options)
    return run(trials, Store(store) if store else None, device, progress)


def _bar(trials: list[Trial], progress: bool):
    bar = tqdm(trials, unit="trial", file=sys.stderr, disable=not progress or None)
    for trial in bar:
        bar.set_description(f"{trial.model} on {trial.dataset}, split {trial.split}")
        yield trial


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"device {name!r} is not at hand here: 'cpu' always is"
            f"{', cuda too' if torch.cuda.is_available() else ''}"
        ) from error
    return device
