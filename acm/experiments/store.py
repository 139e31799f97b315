"""Keep finished trials in a CSV file, one record a line, that a killed run cannot damage."""

from __future__ import annotations

import csv
import functools
import io
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

from acm.data.names import DATASETS
from acm.errors import UsageError, unknown
from acm.experiments.recipes import complete_options, read_options
from acm.experiments.record import Record, Validation
from acm.experiments.trial import NUMERICS, SPLIT_SCHEMES, Trial, training_rule
from acm.nn import CHANNELS
from acm.registry import MODELS

Row = TypeVar("Row", bound=Validation)

# Why a row of a file is not handed out.
OTHER_NUMERICS = "another numerics version"
OTHER_RULE = "another training rule"
UNREGISTERED = "a model or data set that is unknown here"
REPEATED = "a trial that is there twice"


class Store:
    """Read and append the records of a CSV file.

    A line that a kill or a full disk has cut short is not read, and the next append removes it.
    Several processes may append at once. Of two records of a trial the first counts.

    Args:
        path: The file; it and its folder are made with the first record.
        kind: `Record`, or `Validation` for the file of a search.
        numerics: Version of the numerics whose records are read, by default today's.

    Raises:
        UsageError: If the path is something else than a file.
    """

    def __init__(self, path: str | Path, kind: type[Row] = Record, numerics: int = NUMERICS):
        self.path, self.kind, self.numerics = Path(path), kind, numerics
        self.columns = tuple(f.name for f in fields(kind))
        if os.path.lexists(self.path) and not os.path.isfile(self.path):
            raise UsageError(f"{str(path)!r} is no file: records are kept in a CSV file")
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[Trial, Row] = {}
        self._left_out: Counter[str] = Counter()
        self._end, self._last_line, self._lines, self._time = 0, b"", 0, 0

    def records(self) -> list[Row]:
        """Return the records of today's training rule and numerics, in the order of the file.

        Raises:
            UsageError: If the file cannot be read or is not a run store.
        """
        self._read()
        return list(self._rows.values())

    def left_out(self) -> dict[str, int]:
        """Return how many rows `records()` leaves out, by reason."""
        self._read()
        return dict(self._left_out)

    def find(self, trials: Sequence[Trial]) -> dict[Trial, Row]:
        """Return the records of those trials that the file has."""
        self._read()
        return {trial: self._rows[trial] for trial in trials if trial in self._rows}

    def check(self) -> None:
        """Test that records can be added, before anything is trained; change nothing.

        Raises:
            UsageError: If the file cannot be written or is not a run store.
        """
        with self._lock("nothing was run"):
            self._read()
            new = not self.path.exists()
            open(self.path, "ab").close()
            if new:
                self.path.unlink()

    def append(self, record: Row) -> Row:
        """Add one record; see `extend`."""
        return self.extend([record])[0]

    def extend(self, records: Sequence[Row]) -> list[Row]:
        """Add records in one write, and return the record that each trial has in the file.

        Raises:
            UsageError: If the file cannot be written (the disk may be full), is not a run store, or
                a record is impossible; the file then holds what it held before.
        """
        for record in records:
            if type(record) is not self.kind:
                kinds = type(record).__name__, self.kind.__name__
                raise UsageError(f"a {kinds[0]} is no {kinds[1]}: {self.path} is unchanged")
            if fault := _fault(record):
                raise UsageError(f"not a record ({fault}): {self.path} is unchanged")
        with self._lock("the new records are not kept, all earlier ones are"):
            self._read()
            new = {r.trial: r for r in reversed(records) if r.trial not in self._rows}
            if new:
                self._write([r for r in records if new.get(r.trial) is r])
        return [new.get(r.trial) or self._rows[r.trial] for r in records]

    @contextmanager
    def _lock(self, otherwise: str) -> Iterator[None]:
        """Lock the file; `otherwise` says what an error means for the records."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_name(f".{self.path.name}.lock")
            open(lock, "ab").close()  # FileLock would wait forever for a file it cannot open
            with FileLock(lock):
                yield
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path} ({error.strerror or error}): {otherwise}"
            ) from error

    def _write(self, records: list[Row]) -> None:
        """Append whole lines after the last whole line."""
        end = self._end
        # Unbuffered: a buffer would be written at closing, when the disk may be full.
        with open(self.path, "r+b" if self.path.exists() else "xb", buffering=0) as file:
            try:
                file.seek(end)
                file.truncate()
                rest = (b"" if end else _line(self.columns)) + b"".join(map(_cells, records))
                while rest:  # a nearly full disk takes a part of the bytes
                    rest = rest[file.write(rest) :]
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), end)
                raise
        self._read()

    def _read(self) -> None:
        """Read what the file has more than at the last reading."""
        try:
            state = os.stat(self.path)
            if state.st_size < self._end or state.st_mtime_ns != self._time:
                with open(self.path, "rb") as file:
                    start = max(0, self._end - len(self._last_line))
                    file.seek(start)
                    text = file.read()
                    if not text.startswith(self._last_line) or not self._end:
                        self._forget()  # somebody has edited the file
                        file.seek(0)
                        text, start = file.read(), 0
                    else:
                        text = text[len(self._last_line) :]
                self._parse(text)
                self._time = state.st_mtime_ns
        except FileNotFoundError:
            self._forget()
        except (OSError, ValueError) as error:  # a path may be no path, and text no text
            self._forget()
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"cannot read {self.path}: {error}") from error

    def _parse(self, text: bytes) -> None:
        """Take in new lines; `text` begins where the last reading ended."""
        whole = text[: text.rfind(b"\n") + 1]
        if not self._end:
            first = whole.partition(b"\n")[0] if whole else text
            header = _line(self.columns)[:-1]
            if not (header.startswith(first) if not whole else first.rstrip(b"\r") == header):
                first.decode()
                raise UsageError(
                    f"{self.path} is not a run store of this version with {self.kind.__name__}"
                    f" rows; name another file. Its first line should be {header.decode()[:60]}…"
                )
        if not whole:
            return
        rows = csv.reader(io.StringIO(whole.decode()), strict=True)
        before = self._lines
        if not self._end:
            next(rows)
        try:
            for row in rows:
                if row:
                    self._take(row)
        except (ValueError, KeyError, csv.Error) as error:
            raise UsageError(
                f"{self.path}, line {before + rows.line_num}: not a record ({error}); delete the"
                " line, and its trial is trained again"
            ) from error
        self._lines += rows.line_num
        self._end += len(whole)
        self._last_line = whole[whole.rfind(b"\n", 0, len(whole) - 1) + 1 :]

    def _take(self, cells: list[str]) -> None:
        values = dict(zip(self.columns, cells, strict=True))
        if values["model"] not in MODELS or values["dataset"] not in DATASETS:
            self._left_out[UNREGISTERED] += 1
            return
        record = self.kind(**{name: _READ[name](text) for name, text in values.items()})
        if fault := _fault(record):
            raise ValueError(fault)
        record = replace(record, options=_complete_options(record.model, record.options))
        if record.numerics != self.numerics:
            self._left_out[OTHER_NUMERICS] += 1
        elif record.training_rule != training_rule(record.dataset):
            self._left_out[OTHER_RULE] += 1
        elif record.trial in self._rows:
            self._left_out[REPEATED] += 1
        else:
            self._rows[record.trial] = record


_TYPES = {
    "int": int,
    "float": float,
    "str": str,
    "bool": {"True": True, "False": False}.__getitem__,
}
_READ = {f.name: _TYPES[f.type] for f in fields(Record)}
#: A hyperparameter that was added to a model later has its default in older records.
_complete_options = functools.cache(complete_options)


@functools.cache
def _name_fault(dataset: str, model: str, split_scheme: str, channels: str, options: str) -> str:
    for kind, name, valid in (
        ("dataset", dataset, DATASETS),
        ("model", model, MODELS),
        ("split scheme", split_scheme, SPLIT_SCHEMES),
    ):
        if name not in valid:
            return str(unknown(kind, name, valid))
    for channel in channels.split("+") if channels else ():
        if channel not in CHANNELS:
            return str(unknown("channel", channel, CHANNELS))
    try:
        read_options(model, options)
    except UsageError as error:
        return str(error)
    return ""


def _fault(record: Validation) -> str:
    """Return what is impossible in a record, or nothing."""
    r = record
    if fault := _name_fault(r.dataset, r.model, r.split_scheme, r.channels, r.options):
        return fault
    for name in ("val_accuracy", "test_accuracy"):
        if not 0 <= getattr(record, name, 0) <= 1:
            return f"{name} is {getattr(record, name)}: from 0 to 1"
    for name in ("lr", "weight_decay", "dropout", "val_loss", "seconds"):
        if not math.isfinite(getattr(record, name)):
            return f"{name} is {getattr(record, name)}: a finite number is needed"
    negative = [name for name in ("split", "seed", "best_epoch") if getattr(record, name) < 0]
    return f"{negative[0]} is {getattr(record, negative[0])}: from 0" if negative else ""


def results(table: str, kind: type[Row] = Record, numerics: int = NUMERICS) -> Store:
    """Return the store of committed records `results/<table>.csv` of this checkout.

    Args:
        table: Name of the file.
        kind, numerics: As in `Store`.

    Raises:
        UsageError: If there is no such file.
    """
    folder = Path(__file__).parents[2] / "results"
    tables = sorted(path.stem for path in folder.glob("*.csv"))
    if table not in tables:
        raise UsageError(
            f"no committed records {table!r}: there are {', '.join(tables) or 'none'}"
            " (a checkout has records, an installed package has none)"
        )
    return Store(folder / f"{table}.csv", kind, numerics)


def _cells(record: Validation) -> bytes:
    # `repr` of a float is the shortest text that reads back as the same float.
    return _line([repr(v) if isinstance(v, float) else str(v) for v in astuple(record)])


def _line(row: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue().encode()
