"""Processes that compute, ready before they are needed: light, so that a command can ask for them
before it imports PyTorch."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import connection, forkserver, resource_tracker

#: The pool whose work is done, by what it was started with: what its workers have imported,
#: compiled and loaded serves the next call. It ends with this process.
_KEPT: dict[tuple, _Pool] = {}


def warm_up() -> None:
    """Begin to import, in the background, what workers will need: it takes seconds."""
    _track()
    if sys.platform == "linux":
        _server()


def possible() -> bool:
    """Whether processes can be had: that takes a socket, semaphores and a folder to be in."""
    try:
        _context().Semaphore()
    except OSError:
        return False
    return True


class _Pool(ProcessPoolExecutor):
    """A pool that remembers what it was started with: its size and surroundings."""

    def __init__(self, size: int):
        self.start = size, _surroundings()
        super().__init__(size, _context(), initializer=_begin)


def take(size: int) -> ProcessPoolExecutor:
    """A pool of so many processes, kept or new.

    Raises:
        OSError: If none can be had here.
    """
    return _KEPT.pop((size, _surroundings()), None) or _Pool(size)


def keep(pool: _Pool) -> None:
    """Keep a pool that has done its work for the next call, in place of the one before."""
    release()
    _KEPT[pool.start] = pool


def release() -> None:
    """End the pool that is kept, and free the memory of its workers."""
    while _KEPT:
        _KEPT.popitem()[1].shutdown()


def end_server() -> None:
    """Kill what workers are copies of, where this process is about to end.

    It may have been asked for a worker, which would begin by missing what is no longer there.
    """
    if server := getattr(forkserver.ensure_running.__self__, "_forkserver_pid", None):
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)


def _surroundings() -> tuple:
    """What a worker has from the process that started it, and cannot learn later."""
    told = {k: v for k, v in os.environ.items() if k.startswith(("ACM_", "XDG_", "HOME"))}
    return os.getcwd(), tuple(sorted(told.items()))


def _track() -> None:
    """Begin the process that removes semaphores after a kill, less its remark that it had to."""
    if os.name != "posix":  # there is none elsewhere
        return
    sys.warnoptions.append("ignore:resource_tracker:UserWarning")  # it is given what is in here
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()


@functools.cache
def _server():
    """One process that imports what workers need, of which they are copies; and its surroundings.

    A copy of this process, which may have threads, could hang.
    """
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["acm.ahead"])
    # Ctrl-C is for this process to answer. It does not reach the other before that can ignore it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return server, _surroundings()


def _context():
    """How workers start: as copies of the server where that can be, else from nothing."""
    _track()
    if sys.platform == "linux":
        server, its = _server()
        if its == _surroundings():
            return server
    return multiprocessing.get_context("spawn")


def _begin() -> None:
    """See to it that this process ends as soon as the one that started it, however that ends.

    A worker of a pool would wait for its next batch for ever. Ctrl-C is for the other to answer.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch(parent: int) -> None:
        connection.wait([parent])
        os._exit(1)

    there = multiprocessing.parent_process()
    threading.Thread(target=watch, args=(there.sentinel,), daemon=True).start()
