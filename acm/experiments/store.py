"""Records of finished trials, in a CSV file with one record a line that no kill can damage."""

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
    """A finished trial of a search, which reads no test label.

    The accuracy, from 0 to 1, and the loss are those of `best_epoch`, counted from 0. The trial's
    share of the time of its batch is `seconds`; the batch had `threads` threads; `stacked` says
    whether its trials can share one loop. The commit ends in `+` if the code had changed since.
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
        """Return what was asked, without the outcome."""
        return Trial(**{f.name: getattr(self, f.name) for f in fields(Trial)})


@dataclass(frozen=True)
class Record(Validation):
    """A finished trial with its test accuracy at the selected epoch, from 0 to 1."""

    test_accuracy: float

    @property
    def outcome(self) -> tuple:
        """Return the numbers that are equal on all machines that round alike."""
        names = ("val_accuracy", "test_accuracy", "val_loss", "best_epoch", "epochs")
        return tuple(getattr(self, name) for name in names)


def versions() -> str:
    """Return the versions of Python, PyTorch, the compiler of the loops, and this package."""
    torch_version = torch.__version__.split("+")[0]
    python = f"python {platform.python_version()}, torch {torch_version}"
    return f"{python}, {kernels.compiler()}, acm {acm.__version__}"


@functools.cache
def processor() -> str:
    """Return the name of the CPU with family and model; equal names can round differently."""
    info = Path("/proc/cpuinfo")  # of Linux
    lines = info.read_text().partition("\n\n")[0].splitlines() if info.exists() else []
    facts = dict(map(str.strip, line.split(":", 1)) for line in lines if ":" in line)
    name = facts.get("model name") or platform.processor() or platform.machine()
    kind = ", ".join(f"{k.split()[-1]} {facts[k]}" for k in ("cpu family", "model") if k in facts)
    return f"{name} ({kind})" if kind else name


@functools.cache
def commit() -> str:
    """Return the commit of the package, `+` if the code has changed since; empty if unknown."""

    def git(*arguments: str) -> str:
        call = ["git", "-C", str(Path(acm.__file__).parent), *arguments]
        return subprocess.run(call, capture_output=True, text=True).stdout.strip()

    # An installed copy may lie inside another checkout, which does not track this file.
    if shutil.which("git") is None or not git("ls-files", "__init__.py"):
        return ""
    changed = git("status", "--porcelain", "--", ".")
    return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


class Store:
    """Read and append the records of a CSV file; the records of a search are `Validation`s.

    A line that a kill or a full disk has cut short is not read, and the next append removes it.
    Several processes may append at once. Of two records of a trial the first counts. Every method
    raises `UsageError` if the file cannot be read or is not a run store.
    """

    def __init__(self, path: str | Path, kind: type = Record, numerics: int = NUMERICS):
        self.path, self.kind, self.numerics = Path(path), kind, numerics
        if self.path.exists() and not self.path.is_file():
            raise UsageError(f"{str(path)!r} is no file: records are kept in a CSV file")
        self._fields = fields(kind)
        self._header = _line(f.name for f in self._fields)
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[Trial, Validation] = {}
        self._left_out: Counter[str] = Counter()
        # A reading begins with the last line of the reading before it, the first with the header.
        self._last_line, self._end, self._lines = self._header, len(self._header), 1

    def records(self) -> list:
        """Return the records of today's training rule and numerics, in the order of the file."""
        self._read()
        return list(self._rows.values())

    def left_out(self) -> dict[str, int]:
        """Return how many rows `records()` leaves out, by reason."""
        self._read()
        return dict(self._left_out)

    def find(self, trials: Sequence[Trial]) -> dict[Trial, Validation]:
        """Return the records of those trials that the file has."""
        self._read()
        return {trial: self._rows[trial] for trial in trials if trial in self._rows}

    def check(self) -> None:
        """Raise `UsageError` if records cannot be added; at most write the header."""
        self.extend([])

    def extend(self, records: Sequence[Validation]) -> list:
        """Add records in one write, and return the record that each trial has in the file.

        If the file cannot be written (the disk may be full), it holds what it held before.
        """
        if any(type(record) is not self.kind for record in records):
            raise UsageError(f"{self.path} holds rows of {self.kind.__name__} only")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_name(f".{self.path.name}.lock")
            open(lock, "ab").close()  # FileLock would wait forever for a file it cannot open
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
                f"cannot write {self.path} ({error.strerror or error}): no new record is kept, all"
                " earlier ones are"
            ) from error
        return [self._rows.get(r.trial) or new[r.trial] for r in records]

    def _write(self, text: bytes) -> None:
        """Append the text after the last whole line."""
        # Unbuffered: a buffer would be written at closing, when the disk may be full.
        with open(self.path, "ab", buffering=0) as file:
            end, size = self._end, file.tell()
            if size < end:  # the file is new, or a kill has cut its header short
                end, text = 0, self._header + text
            if size > end:
                os.ftruncate(file.fileno(), end)
            try:
                while text:  # a nearly full disk takes a part of the bytes
                    text = text[file.write(text) :]
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), end)
                raise

    def _read(self) -> None:
        """Read what the file has more than at the last reading."""
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
        elif self._end > len(self._header):  # somebody has edited the file
            self._forget()
            self._read()
        elif not self._header.startswith(text):
            raise UsageError(
                f"{self.path} is not a run store of this version with {self.kind.__name__} rows;"
                f" name another file. Its first line should be {self._header.decode()[:60]}…"
            )

    def _take(self, line: bytes) -> None:
        """Take in the next line, or count why it is left out."""
        try:
            (cells,) = csv.reader([line.decode()], strict=True)
            values = {f.name: _READ[f.type](c) for f, c in zip(self._fields, cells, strict=True)}
            record = self.kind(**values)
            known = record.model in MODELS and record.dataset in DATASETS
            if known:
                record = replace(record, options=_complete_options(record.model, record.options))
        except (ValueError, KeyError, csv.Error) as error:
            raise UsageError(
                f"{self.path}, line {self._lines + 1}: not a record ({error}); delete the line,"
                " and its trial is trained again"
            ) from error
        self._last_line, self._end, self._lines = line, self._end + len(line), self._lines + 1
        if not known:
            self._left_out["a model or data set that is unknown here"] += 1
        elif record.numerics != self.numerics:
            self._left_out["another numerics version"] += 1
        elif record.training_rule != training_protocol(record.dataset).name:
            self._left_out["another training rule"] += 1
        elif self._rows.setdefault(record.trial, record) is not record:
            self._left_out["a trial that is there twice"] += 1


_READ = {"int": int, "float": float, "str": str, "bool": {"True": True, "False": False}.__getitem__}


@functools.cache
def _complete_options(model: str, text: str) -> str:
    # A hyperparameter that was added to a model later has its default in older records.
    return write_options(default_options(model) | read_options(model, text))


def _line(cells: Iterable) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def results(table: str, kind: type = Record, numerics: int = NUMERICS) -> Store:
    """Return the store of committed records `results/<table>.csv` of this checkout."""
    folder = Path(__file__).parents[2] / "results"
    tables = sorted(path.stem for path in folder.glob("*.csv"))
    if table not in tables:
        raise unknown("committed table", table, tables, " (an installed package has none)")
    return Store(folder / f"{table}.csv", kind, numerics)
