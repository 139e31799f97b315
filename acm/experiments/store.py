"""Store the records of finished trials in a CSV file; a killed process does not damage it."""

from __future__ import annotations

import csv
import functools
import io
import os
import platform
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import torch
from filelock import FileLock

import acm
from acm import kernels
from acm.data.names import DATASETS
from acm.errors import UsageError, unknown
from acm.experiments.recipes import default_options, read_options, write_options
from acm.experiments.trial import NUMERICS, Trial, training_protocol
from acm.registry import MODELS


@dataclass(frozen=True)
class Validation(Trial):
    """The record of a finished trial without the test accuracy, as a search stores it.

    `val_accuracy`, from 0 to 1, and `val_loss` belong to `best_epoch`, counted from 0. `seconds` is
    the trial's fraction of the time of its batch, on `threads` threads. `stacked` says whether the
    model can be trained on many trials in one loop. `commit` is the result of `commit()`.
    """

    val_accuracy: float
    val_loss: float
    best_epoch: int
    epochs: int
    seconds: float
    stacked: bool
    device: str
    threads: int
    versions: str
    commit: str

    @property
    def trial(self) -> Trial:
        """Return the trial without its outcome."""
        return Trial(**{f.name: getattr(self, f.name) for f in fields(Trial)})


@dataclass(frozen=True)
class Record(Validation):
    """The record of a finished trial with the test accuracy at `best_epoch`, from 0 to 1."""

    test_accuracy: float

    @property
    def outcome(self) -> tuple:
        """Return the results that are equal on all machines with the same rounding of floats."""
        names = ("val_accuracy", "test_accuracy", "val_loss", "best_epoch", "epochs")
        return tuple(getattr(self, name) for name in names)


def versions() -> str:
    """Return the versions of Python, PyTorch, the compiler of the loops, and this package."""
    torch_version = torch.__version__.split("+")[0]
    python = f"python {platform.python_version()}, torch {torch_version}"
    return f"{python}, {kernels.compiler()}, acm {acm.__version__}"


@functools.cache
def processor() -> str:
    """Return the name of the CPU, and its family and model, on which rounding can depend."""
    info = Path("/proc/cpuinfo")  # exists on Linux only
    lines = info.read_text().partition("\n\n")[0].splitlines() if info.exists() else []
    facts = dict(map(str.strip, line.split(":", 1)) for line in lines if ":" in line)
    name = facts.get("model name") or platform.processor() or platform.machine()
    kind = ", ".join(f"{k.split()[-1]} {facts[k]}" for k in ("cpu family", "model") if k in facts)
    return f"{name} ({kind})" if kind else name


@functools.cache
def commit() -> str:
    """Return the commit of the package, with `+` for uncommitted changes; empty if unknown."""

    def git(*arguments: str) -> str:
        call = ["git", "-C", str(Path(acm.__file__).parent), *arguments]
        return subprocess.run(call, capture_output=True, text=True).stdout.strip()

    # An installed copy may be inside the checkout of another project, which does not track it.
    if shutil.which("git") is None or not git("ls-files", "__init__.py"):
        return ""
    changed = git("status", "--porcelain", "--", ".")
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


class Store:
    """Read and append the records of a CSV file: `Record`, or `Validation` for a search.

    If a kill or a full disk leaves an incomplete line, the line is not read, and the next append
    removes the line. Several processes may append at once. If a trial has two records, the first is
    used. Every method raises `UsageError` if the file cannot be read or is not a run store.
    """

    def __init__(self, path: str | Path, kind: type = Record, numerics: int = NUMERICS):
        self.path, self.kind, self.numerics = Path(path), kind, numerics
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{str(path)!r} is not a file: records are stored in a CSV file")
        self._fields = fields(kind)
        self._header = _line(f.name for f in self._fields)
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[Trial, Validation] = {}
        self._left_out: Counter[str] = Counter()
        # `_read` starts at the last line that it has read before: the header in the first call.
        self._last_line, self._end, self._lines = self._header, len(self._header), 1

    def records(self) -> list:
        """Return the records of the current training rule and numerics, in file order."""
        self._read()
        return list(self._rows.values())

    def left_out(self) -> dict[str, int]:
        """Return the number of rows that `records` leaves out, by reason."""
        self._read()
        return dict(self._left_out)

    def find(self, trials: Sequence[Trial]) -> dict[Trial, Validation]:
        """Return a dictionary of the trials that have a record in the file, and their records."""
        self._read()
        return {trial: self._rows[trial] for trial in trials if trial in self._rows}

    def check(self) -> None:
        """Raise `UsageError` if records cannot be appended; write the header into a new file."""
        self.extend([])

    def extend(self, records: Sequence[Validation]) -> list:
        """Append records in one write, and return the record that the file has of each trial.

        If the write fails, for example because the disk is full, the file does not change.
        """
        if any(type(record) is not self.kind for record in records):
            raise UsageError(f"{self.path} stores only rows of type {self.kind.__name__}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_name(f".{self.path.name}.lock")
            open(lock, "ab").close()  # FileLock waits forever for a file that it cannot open
            with FileLock(lock):
                self._read()
                new: dict[Trial, Validation] = {}
                for record in records:
                    if record.trial not in self._rows:
                        new.setdefault(record.trial, record)
                self._write(b"".join(_line(astuple(record)) for record in new.values()))
                self._read()
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path} ({error.strerror or error}): the new records are lost,"
                " the earlier records are unchanged"
            ) from error
        return [self._rows.get(r.trial) or new[r.trial] for r in records]

    def _write(self, text: bytes) -> None:
        """Append the text after the last complete line."""
        # Without a buffer, a full disk raises the error in `write` and not in `close`.
        with open(self.path, "ab", buffering=0) as file:
            end, size = self._end, file.tell()
            if size < end:  # the file is new, or a kill left an incomplete header
                end, text = 0, self._header + text
            if size > end:
                os.ftruncate(file.fileno(), end)
            try:
                while text:  # a nearly full disk takes only some of the bytes
                    text = text[file.write(text) :]
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), end)
                raise

    def _read(self) -> None:
        """Read the lines that were appended to the file since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._end - len(self._last_line))
                text = file.read()
        except FileNotFoundError:
            text = b""
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read {self.path}: {error}") from error
        if text.startswith(self._last_line):
            whole = text[len(self._last_line) : text.rfind(b"\n") + 1]
            for line in whole.splitlines(keepends=True):
                self._take(line)
        elif self._end > len(self._header):  # the file was edited: read all lines again
            self._forget()
            self._read()
        elif not self._header.startswith(text):
            raise UsageError(
                f"{self.path} is not a run store of this version with {self.kind.__name__} rows;"
                f" use another file. The first line should be {self._header.decode()[:60]}…"
            )

    def _take(self, line: bytes) -> None:
        """Add the record in the next line, or count the reason why the line is left out."""
        try:
            (texts,) = csv.reader([line.decode()], strict=True)
            values = {f.name: _READ[f.type](c) for f, c in zip(self._fields, texts, strict=True)}
            record = self.kind(**values)
            registered = record.model in MODELS and record.dataset in DATASETS
            if registered:
                record = replace(record, options=_complete_options(record.model, record.options))
        except (ValueError, KeyError, csv.Error) as error:
            raise UsageError(
                f"{self.path}, line {self._lines + 1}: not a record ({error}); delete the line,"
                " and the next run trains the trial again"
            ) from error
        self._last_line, self._end, self._lines = line, self._end + len(line), self._lines + 1
        if not registered:
            self._left_out["an unknown model or data set"] += 1
        elif record.numerics != self.numerics:
            self._left_out["another numerics version"] += 1
        elif record.training_rule != training_protocol(record.dataset).name:
            self._left_out["another training rule"] += 1
        elif self._rows.setdefault(record.trial, record) is not record:
            self._left_out["a trial with an earlier record"] += 1


_READ = {"int": int, "float": float, "str": str, "bool": {"True": True, "False": False}.__getitem__}


@functools.cache
def _complete_options(model: str, text: str) -> str:
    # Older records lack the options that a model got later. These options have their defaults.
    return write_options(default_options(model) | read_options(model, text))


def _line(cells: Iterable) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def results(table: str, kind: type = Record, numerics: int = NUMERICS) -> Store:
    """Return the store of the committed file `results/<table>.csv` in this checkout."""
    folder = Path(__file__).parents[2] / "results"
    tables = sorted(path.stem for path in folder.glob("*.csv"))
    if table not in tables:
        raise unknown("committed table", table, tables, " (an installed package has no tables)")
    return Store(folder / f"{table}.csv", kind, numerics)
