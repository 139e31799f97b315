"""How the loops are compiled."""

import contextlib
from pathlib import Path

import numba

# Sums may be regrouped, so that the vector unit can compute them. NaN stays NaN, since the trainer
# tests for it.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


def drop_stale_code(folder: Path) -> None:
    """Delete cached machine code that is older than any source file of a folder.

    Numba compares a loop with its own file only, but loops call helpers in other files.
    """
    newest = max(path.stat().st_mtime_ns for path in folder.glob("*.py"))
    with contextlib.suppress(OSError):  # a folder without write access has no cache in it
        for index in (folder / "__pycache__").glob("*.nbi"):
            if index.stat().st_mtime_ns < newest:
                index.unlink(missing_ok=True)


drop_stale_code(Path(__file__).parent)


def exact(function):
    """Compile without regrouping, for sums of numbers that nearly cancel."""
    return compiled(function, set())


def compiled(function, fast=frozenset(_FAST)):
    """Compile a function, keep the code on disk, and release Python's lock in it."""
    options = dict(nogil=True, fastmath=set(fast), error_model="numpy")
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache can be written
        return numba.njit(**options)(function)


@compiled
def cut(t, parts, rows):
    """Return (trial, part, first row, last row) of work item `t`."""
    part = t % parts
    return t // parts, part, rows * part // parts, rows * (part + 1) // parts
