"""Running trials, many at once, and keeping what they find."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

from tqdm import tqdm

from acm.errors import UsageError
from acm.experiments.batch import batches, default_place, run_batch
from acm.experiments.places import Place, compute
from acm.experiments.record import Record, Validation
from acm.experiments.store import Row, Store
from acm.experiments.trial import Trial, cell


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
    place = place or default_place(device)
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
