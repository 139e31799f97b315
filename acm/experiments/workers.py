"""Where batches run: in this process, in processes of their own, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from multiprocessing import connection, forkserver, resource_tracker
from typing import Any

from acm.errors import UsageError, unknown

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
    server.set_forkserver_preload(["acm.experiments.ahead"])
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


#: How often a batch may be on a worker when that dies, before the batch is held to be the cause.
ATTEMPTS = 3


@dataclass(frozen=True)
class Workers:
    """Where batches are computed.

    Attributes:
        kind: `"here"`, in threads of this process; `"processes"`, which do not wait for each other
            as Python's threads do: small trainings take half as long (a script must then run what
            it runs under `if __name__ == "__main__":`, for every process imports it); or `"dask"`.
        workers: How many threads or processes; 0 for as many as there are cores. A cluster has as
            many workers as it has.
        address: Of a Dask scheduler, such as `"tcp://10.0.0.1:8786"`.

    Raises:
        UsageError: If the kind is unknown, or the number out of range.
    """

    kind: str = "here"
    workers: int = 0
    address: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise unknown("workers", self.kind, KINDS)
        if not 0 <= self.workers <= 4096:
            raise UsageError(f"{self.workers} workers: 1 to 4096, or 0 for all cores, are needed")

    @property
    def size(self) -> int:
        """How many batches run side by side, as far as it is known."""
        return self.workers or cores()

    def open(self) -> Executor:
        """An executor, ready to take batches.

        Raises:
            UsageError: If the cluster is not there.
        """
        if self.kind == "here":
            return ThreadPoolExecutor(self.size)
        if self.kind == "processes":
            try:
                return take(self.size)
            except OSError as error:
                raise UsageError(
                    f"processes cannot be started here ({error}): threads can, which Place() means"
                    " and --threads asks for"
                ) from error
        return _dask(self.address)

    def close(self, executor: Executor) -> None:
        """Part with an executor that has done its work; a pool of processes is kept."""
        if self.kind == "processes":
            keep(executor)
        else:
            executor.shutdown(wait=self.kind == "here")


KINDS = ("here", "processes", "dask")


def cores() -> int:
    """The cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _dask(address: str) -> Executor:
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError(
            "Dask is not installed: `pip install 'acm[cluster]'` brings what --dask needs"
        ) from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"no Dask scheduler answers at {address!r}: {error}") from error
    return _Cluster(client)


class _Cluster(Executor):
    """Dask's own executor, with a connection that ends when it does."""

    def __init__(self, client):
        self.client, self.executor = client, client.get_executor(pure=False)

    def submit(self, function, /, *args, **kwargs) -> Future:
        return self.executor.submit(function, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.executor.shutdown(wait=wait and not cancel_futures)
        self.client.close()


def compute(
    function: Callable[..., Any],
    batches: Sequence[Any],
    workers: Workers,
    abort: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Any, Any]]:
    """`(batch, function(batch))` for each batch, in the order in which they finish.

    A worker that dies takes its executor with it (a process pool is broken for good) or only its
    own batch (a cluster): what was not finished is computed again, by a new executor if need be.

    Args:
        function: What to do, picklable where workers are processes.
        batches: Its arguments, one a call.
        workers: Where.
        abort: Called where the work ends early, to tell threads of this process to stop.

    Raises:
        UsageError: If workers died `ATTEMPTS` times over the same batch.
        Exception: What `function` raises.
    """
    # A pool gets as many batches as it has workers, so that what breaks it is among them.
    room = len(batches) if workers.kind == "dask" else workers.size
    attempts = dict.fromkeys(range(len(batches)), 0)
    todo, futures = list(attempts), {}
    if not todo:
        return
    executor = workers.open()
    try:
        while todo or futures:
            while todo and len(futures) < room:
                try:
                    futures[executor.submit(function, batches[todo[0]])] = todo[0]
                except BrokenExecutor:  # a worker died while nobody looked
                    if futures:
                        break  # which wait for what they are told
                    executor.shutdown(wait=False, cancel_futures=True)
                    executor = workers.open()
                else:
                    del todo[0]
            done, _ = wait(futures, return_when=FIRST_COMPLETED)
            broken = False
            for future in done:
                number = futures.pop(future)
                error = CancelledError() if future.cancelled() else future.exception()
                if error is None:
                    yield batches[number], future.result()
                elif not _worker_died(error):
                    raise error
                else:
                    broken |= isinstance(error, BrokenExecutor)
                    attempts[number] += 1
                    if attempts[number] == ATTEMPTS:
                        raise UsageError(
                            f"{ATTEMPTS} workers died over the same trials ({error!r}):"
                            " is there enough memory, and does the script that calls run what it"
                            ' runs under `if __name__ == "__main__":`?'
                        ) from error
                    todo.append(number)
            if broken:
                todo += futures.values()
                futures.clear()
                executor.shutdown(wait=False, cancel_futures=True)
                executor = workers.open()
    except BaseException:
        abort()
        # A pool would finish the batches in flight first.
        for process in (getattr(executor, "_processes", None) or {}).values():
            process.terminate()
        # Threads are waited for: they stop soon, and nothing of them is left behind.
        executor.shutdown(wait=workers.kind == "here", cancel_futures=True)
        raise
    workers.close(executor)


def _worker_died(error: BaseException) -> bool:
    died = isinstance(error, (BrokenExecutor, CancelledError))
    return died or type(error).__name__ == "KilledWorker"  # Dask's, which may not be installed
