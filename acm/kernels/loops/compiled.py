"""How the loops are compiled."""

import numba

# Sums may be regrouped (else no loop that adds up could use the vector unit); what is not a number
# stays so, for the trainer asks.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


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


# Numba's cache on disk looks at the file of a loop alone: who changes this empties `__pycache__`.
@compiled
def cut(t, parts, rows):
    """Of all trials' parts the `t`-th: its trial, which part of it, and the rows from … to."""
    part = t % parts
    return t // parts, part, rows * part // parts, rows * (part + 1) // parts
