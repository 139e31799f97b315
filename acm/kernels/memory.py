"""Memory that is freed stays with the process, ready for the next epoch."""

from __future__ import annotations

import ctypes
import functools
import platform

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of glibc's malloc.h


@functools.cache
def keep_freed_memory() -> bool:
    """Ask the C library not to hand freed memory back to the system; whether it will.

    An epoch frees what the next one needs again, and every page that comes back from the system
    costs a fault: 2,400 an epoch on Film, and a quarter of the time.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    asked = ((_MMAP_THRESHOLD, 2**30), (_TRIM_THRESHOLD, 2**31 - 1), (_ARENA_MAX, 1))
    return all([bool(mallopt(option, value)) for option, value in asked])
