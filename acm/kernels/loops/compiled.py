"""How the loops are compiled."""

import contextlib
from pathlib import Path

import numba

# Sums may be regrouped (else no loop that adds up could use the vector unit); what is not a number
# stays so, for the trainer asks.
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
    """The same without regrouping, for sums of numbers that nearly cancel."""
    return compiled(function, set())


def compiled(function, fast=frozenset(_FAST)):
    """The function in machine code, kept on disk, and free of Python's lock."""
    options = dict(nogil=True, fastmath=set(fast), error_model="numpy")
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder can be written to keep the machine code in
        return numba.njit(**options)(function)


@compiled
def cut(t, parts, rows):
    """Of all trials' parts the `t`-th: its trial, which part of it, and the rows from … to."""
    part = t % parts
    return t // parts, part, rows * part // parts, rows * (part + 1) // parts
