"""Run batches in threads of this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
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
from multiprocessing import connection
from typing import Any

from acm.errors import UsageError, unknown

#: How many workers may die over one batch before the batch is taken as the cause.
ATTEMPTS = 3

KINDS = ("here", "processes", "dask")


@dataclass(frozen=True)
class Workers:
    """Say where batches run.

    Attributes:
        kind: `"here"` for threads of this process; `"processes"`, which are faster for many small
            trainings but take seconds to start (a script must then call them under
            `if __name__ == "__main__":`, because every process imports it); or `"dask"`.
        workers: Number of threads or processes; 0 for the number of cores.
        address: Address of a Dask scheduler, such as `"tcp://10.0.0.1:8786"`.

    Raises:
        UsageError: If the kind is unknown or the number is out of range.
    """

    kind: str = "here"
    workers: int = 0
    address: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise unknown("kind of workers", self.kind, KINDS)
        if not 0 <= self.workers <= 4096:
            raise UsageError(f"{self.workers} workers: 1 to 4096 are needed, or 0 for all cores")

    @property
    def size(self) -> int:
        """Return how many batches run at once; a cluster counts as one machine like this."""
        return self.workers or cores()

    def open(self) -> Executor:
        """Return an executor that takes batches.

        Raises:
            UsageError: If the processes or the cluster are not available.
        """
        if self.kind == "here":
            return ThreadPoolExecutor(self.size)
        if self.kind == "dask":
            return _dask(self.address)
        try:
            context = multiprocessing.get_context("spawn")
            return ProcessPoolExecutor(self.size, context, initializer=_start_worker)
        except OSError as error:
            raise UsageError(
                f"worker processes cannot be started here ({error}): use threads, that is"
                " Workers() or --threads"
            ) from error


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def compute(
    function: Callable[..., Any],
    batches: Sequence[Any],
    workers: Workers,
    abort: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Any, Any]]:
    """Yield `(batch, function(batch))` for every batch as it finishes.

    The batches of a worker that dies are computed again by a new one.

    Args:
        function: What to compute; it must be picklable where workers are processes.
        batches: Arguments, one per call.
        workers: Where to compute.
        abort: Called if the work ends early, to stop threads of this process.

    Raises:
        UsageError: If `ATTEMPTS` workers died over the same batch.
        Exception: Whatever `function` raises.
    """
    attempts, waiting = [0] * len(batches), list(range(len(batches)))
    # No more batches are handed out than run at once, so a dead worker had one of them.
    room = len(batches) if workers.kind == "dask" else workers.size
    futures: dict[Future, int] = {}
    executor = workers.open() if batches else None
    try:
        while waiting or futures:
            broken = False
            while waiting and len(futures) < room and not broken:
                try:
                    with _sigint_blocked():  # a worker starts here, and must not see Ctrl-C
                        future = executor.submit(function, batches[waiting[0]])
                    futures[future] = waiting.pop(0)
                except BrokenExecutor:
                    broken = True
            finished, _ = wait(futures, return_when=FIRST_COMPLETED) if futures else ((), ())
            for future in finished:
                number = futures.pop(future)
                error = CancelledError() if future.cancelled() else future.exception()
                if error is None:
                    yield batches[number], future.result()
                    continue
                # Dask's KilledWorker is known by name, since Dask may not be installed.
                died = isinstance(error, BrokenExecutor | CancelledError)
                if not died and type(error).__name__ != "KilledWorker":
                    raise error
                broken |= isinstance(error, BrokenExecutor)
                attempts[number] += 1
                if attempts[number] == ATTEMPTS:
                    raise UsageError(
                        f"{ATTEMPTS} workers died over the same trials ({error!r}): is there"
                        ' enough memory, and is the script under `if __name__ == "__main__":`?'
                    ) from error
                waiting.append(number)
            if broken:
                waiting += futures.values()
                futures.clear()
                executor.shutdown(wait=False, cancel_futures=True)
                executor = workers.open()
    except BaseException:
        abort()
        # A process pool would finish the batches that run, so its processes are ended.
        for process in (getattr(executor, "_processes", None) or {}).values():
            process.terminate()
        executor.shutdown(wait=workers.kind == "here", cancel_futures=True)
        raise
    if executor is not None:
        executor.shutdown()


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    """Prepare a worker process: it ignores Ctrl-C and ends as soon as its parent has ended."""
    from acm.kernels.memory import keep_freed_memory

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()

    def watch(parent: int) -> None:
        connection.wait([parent])
        os._exit(1)

    parent = multiprocessing.parent_process().sentinel
    threading.Thread(target=watch, args=(parent,), daemon=True).start()


def _dask(address: str) -> Executor:
    try:
        from distributed import Client
    except ImportError as error:
        raise UsageError("Dask is not installed: `pip install 'acm[cluster]'`") from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"no Dask scheduler answers at {address!r}: {error}") from error
    return _Cluster(client)


class _Cluster(Executor):
    """Use Dask's executor, and close the connection with it."""

    def __init__(self, client):
        self.client, self.executor = client, client.get_executor(pure=False)

    def submit(self, function, /, *args, **kwargs) -> Future:
        return self.executor.submit(function, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.executor.shutdown(wait=wait and not cancel_futures)
        self.client.close()
