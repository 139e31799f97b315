"""The run store: a CSV file, one finished trial a row, that a killed run cannot spoil."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import astuple, fields
from pathlib import Path

from filelock import FileLock

from acm.errors import UsageError
from acm.experiments.record import Record
from acm.experiments.trial import Trial

COLUMNS = tuple(f.name for f in fields(Record))
_READ = {"int": int, "float": float, "str": str, "bool": {"True": True, "False": False}.__getitem__}
_TYPES = tuple(_READ[f.type] for f in fields(Record))


class Store:
    """Records in a CSV file.

    A row is appended in one write and synced before the next trial starts. A row that a kill or a
    full disk cut short has no end of line: reading passes over it and the next append removes it.
    Several processes may append at once; of two records of one trial the first is kept.

    Args:
        path: The file; it and its folder are made when the first record comes.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def records(self) -> list[Record]:
        """All records, in the order in which they were finished.

        Raises:
            UsageError: If the file cannot be read, or is not a run store.
        """
        return list(self._parse(self._read()))

    def find(self, trials: list[Trial]) -> dict[Trial, Record]:
        """The records of those trials that are there."""
        asked = set(trials)
        return {r.trial: r for r in reversed(self.records()) if r.trial in asked}

    def append(self, record: Record) -> Record:
        """Add a record, and return it; or the one that is there of the same trial.

        Raises:
            UsageError: If the file cannot be written (the disk is full, it may not be changed),
                or is not a run store; it then holds what it held before.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path.with_name(f".{self.path.name}.lock")):
                there = self.find([record.trial])
                if there:
                    return there[record.trial]
                self._write(record)
        except OSError as error:
            raise UsageError(
                f"cannot write {self.path} ({error.strerror or error}): the trial that"
                " was just run is not kept, all before it are"
            ) from error
        return record

    def _write(self, record: Record) -> None:
        whole = len(self._read().encode())
        with open(self.path, "r+b" if self.path.exists() else "xb") as file:
            try:
                file.seek(whole)
                file.truncate()
                if not whole:
                    file.write(_line(COLUMNS))
                file.write(_line(_cells(record)))
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.ftruncate(file.fileno(), whole)
                raise

    def _read(self) -> str:
        """The file's text up to its last end of line."""
        try:
            text = self.path.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {self.path}: {error}") from error
        whole = text[: text.rfind("\n") + 1]
        if not whole and not _line(COLUMNS).decode().startswith(text):
            raise UsageError(f"{self.path} is not a run store: it has no first line of columns")
        return whole

    def _parse(self, text: str) -> Iterator[Record]:
        rows = csv.reader(io.StringIO(text))
        header = tuple(next(rows, COLUMNS))
        if header != COLUMNS:
            raise UsageError(
                f"{self.path} is not a run store of this version: its first line is"
                f" {','.join(header)[:60]}…, {','.join(COLUMNS)[:60]}… is needed"
            )
        for number, row in enumerate(rows, start=2):
            try:
                yield Record(*(read(c) for read, c in zip(_TYPES, row, strict=True)))
            except (ValueError, KeyError) as error:
                raise UsageError(
                    f"{self.path}, line {number}: not a record ({error}); delete the"
                    " line and its trial will be run again"
                ) from error


def results(table: str) -> Store:
    """The committed records of a table: `results/<table>.csv` of this checkout.

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
    return Store(folder / f"{table}.csv")


def _cells(record: Record) -> list[str]:
    # `repr` of a float is the shortest text that reads back to the same float.
    return [repr(value) if isinstance(value, float) else str(value) for value in astuple(record)]


def _line(row) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue().encode()
