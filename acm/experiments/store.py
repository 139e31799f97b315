"""The run store: a CSV file, one finished trial a row, that a killed run cannot spoil."""

from __future__ import annotations

import csv
import functools
import io
import math
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from itertools import zip_longest
from pathlib import Path

import torch
from filelock import FileLock

import acm
from acm import kernels
from acm.data.names import DATASETS
from acm.errors import UsageError, unknown
from acm.experiments.recipes import complete_options, read_options
from acm.experiments.trial import SPLIT_SCHEMES, Trial
from acm.nn import CHANNELS
from acm.registry import MODELS


@dataclass(frozen=True)
class Seen(Trial):
    """What training and validation saw of a trial.

    Attributes:
        val_accuracy: Validation accuracy at the selected epoch, from 0 to 1.
        val_loss: Validation loss there.
        best_epoch: The selected epoch, counted from 0.
        epochs: How many were run.
        seconds: The trial's share of the time that its batch took.
        stacked: Whether its weights were stacked with those of other trials, if there were any;
            a model that does not allow it is trained one trial at a time.
    """

    val_accuracy: float
    val_loss: float
    best_epoch: int
    epochs: int
    seconds: float
    stacked: bool

    @property
    def trial(self) -> Trial:
        """What was asked, without what came out."""
        return Trial(**{f.name: getattr(self, f.name) for f in fields(Trial)})


@dataclass(frozen=True)
class Tested(Seen):
    """The same with what the test set says.

    Attributes:
        test_accuracy: Test accuracy at the selected epoch, from 0 to 1.
    """

    test_accuracy: float


@dataclass(frozen=True)
class Where:
    """Where a trial ran.

    Attributes:
        device: `cpu` or `cuda`, and the processor's name.
        threads: How many CPU threads shared the work of its batch.
        versions: Of Python, PyTorch and this package, and of what compiled the loops, if any.
        commit: Of this package, `+` if its code had uncommitted changes; empty outside a checkout.
    """

    device: str
    threads: int
    versions: str
    commit: str


@dataclass(frozen=True)
class Validation(Where, Seen):
    """A finished trial of a search, which sees no test label."""


@dataclass(frozen=True)
class Record(Where, Tested):
    """A finished trial."""

    @property
    def outcome(self) -> tuple:
        """What came out, without how long it took and where: the same wherever rounding is."""
        names = ("val_accuracy", "test_accuracy", "val_loss", "best_epoch", "epochs")
        return tuple(getattr(self, name) for name in names)


def where(device: torch.device, threads: int) -> dict[str, str | int]:
    """The fields of a record that say where a trial runs, and on how many threads."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor()
    versions = (
        f"python {platform.python_version()}, torch {torch.__version__.split('+')[0]},"
        f" {kernels.compiler()}, acm {acm.__version__}"
    )
    return dict(
        device=f"{device.type}: {name}",
        threads=threads,
        versions=versions,
        commit=commit(),
    )


@functools.cache
def processor() -> str:
    """The CPU, as the system names it, with family and model: by name alone two that round
    otherwise can be one."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    said: dict[str, str] = {}
    for key, _, value in (line.partition(":") for line in lines):
        said.setdefault(key.strip(), value.strip())
    name = said.get("model name") or platform.processor() or platform.machine()
    kind = ", ".join(f"{k.split()[-1]} {said[k]}" for k in ("cpu family", "model") if k in said)
    return f"{name} ({kind})" if kind else name


@functools.cache
def commit() -> str:
    """The commit of the package's code, `+` if it was changed since; empty if there is none."""
    package = Path(acm.__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(package), *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    try:
        # An installed copy may lie inside somebody else's checkout: ask for our own file there.
        if not git("ls-files", "__init__.py"):
            return ""
        changed = git("status", "--porcelain", "--", ".")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


_READ = {"int": int, "float": float, "str": str, "bool": {"True": True, "False": False}.__getitem__}
Row = Record | Validation
#: Columns that older files lack: what a record then has is the field's default.
_ADDED = ("options",)
_BOM = "\ufeff"  # what some editors put before the text
_COMMIT = re.compile(r"[0-9a-f]{12}|.*\+")


class Store:
    """Records in a CSV file.

    Rows are appended in one write and synced before more is run. A row that a kill or a
    full disk cut short has no end of line: reading passes over it and the next append removes it.
    An editor may have taken the end of the last line, too; that row is kept, and its line ended by
    the next append, where all of it is seen to be there: it has every column, and its commit, which
    comes last, is that of the row above, or has twelve digits, or ends in `+`.
    Several processes may append at once; of two records of one trial the first is kept.

    Args:
        path: The file; it and its folder are made when the first record comes.
        kind: What a row is: a `Record`, or the `Validation` of a search.

    Raises:
        UsageError: If there is something else than a file.
    """

    def __init__(self, path: str | Path, kind: type[Row] = Record):
        self.path, self.kind = Path(path), kind
        self.columns = tuple(f.name for f in fields(kind))
        if os.path.lexists(self.path) and not os.path.isfile(self.path):
            raise UsageError(f"{str(path)!r} is no file: records are kept in a CSV file")

    def _layouts(self) -> list[tuple[str, ...]]:
        """The columns that a file may have: this version's, or those before some were added."""
        return [self.columns, tuple(c for c in self.columns if c not in _ADDED)]

    def records(self) -> list[Row]:
        """All records, in the order in which they were finished.

        Raises:
            UsageError: If the file cannot be read, or is not a run store.
        """
        return self._read()[1]

    def find(self, trials: list[Trial]) -> dict[Trial, Row]:
        """The records of those trials that are there; of a trial's several, the first."""
        return _find(self.records(), trials)

    def check(self) -> None:
        """Make sure that records can be added, before anything is trained; changes nothing.

        Raises:
            UsageError: If the file cannot be written, or is not a run store.
        """
        with self._writing("nothing was run"):
            self._read()
            new = not self.path.exists()
            open(self.path, "ab").close()
            if new:
                self.path.unlink()

    def append(self, record: Row) -> Row:
        """Add a record, and return it; or the one that is there of the same trial.

        Raises:
            UsageError: As `extend`.
        """
        return self.extend([record])[0]

    def extend(self, records: Sequence[Row]) -> list[Row]:
        """Add records in one write, and return them; or those that are there of the same trials.

        Raises:
            UsageError: If the file cannot be written (the disk is full, it may not be changed),
                or is not a run store, or a record is none; it then holds what it held before.
        """
        for record in records:
            if type(record) is not self.kind:
                kinds = type(record).__name__, self.kind.__name__
                raise UsageError(f"a {kinds[0]} is no {kinds[1]}: {self.path} is left as it is")
            if fault := _fault(record):
                raise UsageError(f"not a record ({fault}): {self.path} is left as it is")
        with self._writing("what was just run is not kept, all before it is"):
            text, before = self._read()
            there = _find(before, [record.trial for record in records])
            new = {r.trial: r for r in reversed(records) if r.trial not in there}
            if new:
                self._write(self._upgraded(text), [r for r in records if new.get(r.trial) is r])
        return [(there | new)[record.trial] for record in records]

    def upgrade(self) -> None:
        """Give a file of an earlier version the columns that it lacks; its rows stay as they are.

        Raises:
            UsageError: If the file cannot be written, or is not a run store.
        """
        with self._writing("it is left as it is"):
            self._upgraded(self._read()[0])

    @contextmanager
    def _writing(self, otherwise: str) -> Iterator[None]:
        """Alone with the file; `otherwise` says what follows if it cannot be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_name(f".{self.path.name}.lock")
            open(lock, "ab").close()  # a lock that cannot be had is waited for, for ever
            with FileLock(lock):
                yield
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"cannot write {self.path} ({reason}): {otherwise}") from error

    def _upgraded(self, text: str) -> str:
        """The file's text, after columns that it may lack were put there."""
        rows = [row for row in _rows(text.removeprefix(_BOM)) if row]
        if not rows or tuple(rows[0]) == self.columns:
            return text
        for workers, name in enumerate(self.columns):
            if name in _ADDED:
                for row in rows:
                    row.insert(workers, name if row is rows[0] else "")
        new = b"".join(map(_line, rows))
        path = self.path.resolve()
        spare = path.with_name(f".{path.name}.new")
        try:
            with open(spare, "wb") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(path, spare)
            os.replace(spare, path)
        finally:
            spare.unlink(missing_ok=True)
        return new.decode()

    def _write(self, text: str, records: list[Row]) -> None:
        whole = len(text.encode())
        # Without a buffer: what is left in one when the disk is full would be written on closing.
        with open(self.path, "r+b" if self.path.exists() else "xb", buffering=0) as file:
            try:
                file.seek(whole)
                file.truncate()
                start = b"" if text.endswith("\n") else b"\n"
                start = start if whole else _line(self.columns)
                rest = start + b"".join(_line(_cells(record)) for record in records)
                while rest:  # a nearly full disk takes a part
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), whole)
                raise

    def _read(self) -> tuple[str, list[Row]]:
        """The file's text as far as its rows are whole, and their records."""
        try:
            text = self.path.read_bytes().decode()
        except FileNotFoundError:
            text = ""
        except (OSError, ValueError) as error:  # a path may be no path, or text no text
            raise UsageError(f"cannot read {self.path}: {error}") from error
        whole = text[: text.rfind("\n") + 1]
        if not whole:
            start = text.removeprefix(_BOM)
            if not any(_line(c).decode().startswith(start) for c in self._layouts()):
                raise UsageError(f"{self.path} is not a run store: it has no first line of columns")
            return "", []
        records = list(self._parse(whole.removeprefix(_BOM)))
        columns = tuple(next(_rows(whole.removeprefix(_BOM))))
        last = _unended(text[len(whole) :], records, self.kind, columns)
        return (text, [*records, last]) if last else (whole, records)

    def _parse(self, text: str) -> Iterator[Row]:
        rows = _rows(text)
        header = tuple(next(rows))
        if header not in self._layouts():
            pairs = zip_longest(header, self.columns)
            column, (seen, needed) = next((n, p) for n, p in enumerate(pairs, 1) if p[0] != p[1])
            raise UsageError(
                f"{self.path} is not a run store of this version, with {self.kind.__name__} rows:"
                f" its column {column} is {str(seen)[:40]!r}, {str(needed)!r} is needed"
            )
        try:
            yield from (_record(row, self.kind, header) for row in rows if row)
        except (ValueError, KeyError, csv.Error) as error:
            raise UsageError(
                f"{self.path}, line {rows.line_num}: not a record ({error}); delete the"
                " line and its trial will be run again"
            ) from error


def _find(records: list[Row], trials: list[Trial]) -> dict[Trial, Row]:
    asked = set(trials)
    return {r.trial: r for r in reversed(records) if r.trial in asked}


def _rows(text: str):
    return csv.reader(io.StringIO(text), strict=True)


def _record(row: list[str], kind: type[Row], columns: Sequence[str]) -> Row:
    """A row as a record; `ValueError` or `KeyError` if it is none.

    A hyperparameter that its model did not have yet has the default: what ran then ran so.
    """
    types = {f.name: _READ[f.type] for f in fields(kind)}
    record = kind(**{name: types[name](c) for name, c in zip(columns, row, strict=True)})
    if fault := _fault(record):
        raise ValueError(fault)
    return replace(record, options=complete_options(record.model, record.options))


def _unended(line: str, before: list[Row], kind: type[Row], columns: Sequence[str]) -> Row | None:
    """The record of a last line without an end, if nothing can be missing from it.

    All that a cut can hide is an end of the commit. The one end that twelve digits leave open is
    `+`, so they do not count where the row above has them with it; a cut right before a `+` below
    another commit, or none, passes, and costs the record that mark and nothing else.
    """
    try:
        (row,) = _rows(line)
        record = _record(row, kind, columns)
    except (ValueError, KeyError, csv.Error):
        return None
    above = before[-1].commit if before else None
    seen = _COMMIT.fullmatch(record.commit) and f"{record.commit}+" != above
    return record if seen or record.commit == above else None


def _fault(record: Row) -> str | None:
    """What cannot be so in a record, in words."""
    known = {"dataset": DATASETS, "model": MODELS, "split_scheme": SPLIT_SCHEMES}
    for name, valid in known.items():
        if getattr(record, name) not in valid:
            return str(unknown(name, getattr(record, name), valid))
    if record.channels or MODELS[record.model].channels:
        for channel in record.channels.split("+"):
            if channel not in CHANNELS:
                return str(unknown("channel", channel, CHANNELS))
    try:
        read_options(record.model, record.options)
    except UsageError as error:
        return str(error)
    for name in ("val_accuracy", "test_accuracy"):
        if not 0 <= getattr(record, name, 0) <= 1:
            return f"{name} is {getattr(record, name)}: from 0 to 1"
    numbers = ("lr", "weight_decay", "dropout", "val_loss", "seconds")
    for name in numbers:
        if not math.isfinite(getattr(record, name)):
            return f"{name} is {getattr(record, name)}: a number"
    for name in ("split", "seed", "best_epoch"):
        if getattr(record, name) < 0:
            return f"{name} is {getattr(record, name)}: from 0 up"
    return None


def results(table: str, kind: type[Row] = Record) -> Store:
    """The committed records of a table: `results/<table>.csv` of this checkout.

    Args:
        table: The file's name.
        kind: What a row is, see `Store`.

    Raises:
        UsageError: If there are none; the line names what there is.
    """
    folder = Path(__file__).parents[2] / "results"
    there = sorted(path.stem for path in folder.glob("*.csv"))
    if table not in there:
        raise UsageError(
            f"no committed records {table!r}: there are {', '.join(there) or 'none'}"
            " (an installed package has none, a checkout has)"
        )
    return Store(folder / f"{table}.csv", kind)


def _cells(record: Row) -> list[str]:
    # `repr` of a float is the shortest text that reads back to the same float.
    return [repr(value) if isinstance(value, float) else str(value) for value in astuple(record)]


def _line(row) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue().encode()
