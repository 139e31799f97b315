"""Run batches in threads of this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass

from acm.errors import UsageError, unknown
from acm.kernels.memory import keep_freed_memory

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
    """

    kind: str = "here"
    workers: int = 0
    address: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise unknown("kind of workers", self.kind, KINDS)

    @property
    def size(self) -> int:
        """Return how many batches run at once; a cluster counts as one machine like this."""
        return self.workers or cores()

    @contextmanager
    def open(self) -> Iterator:
        """Give an executor that takes batches, and that ends them if an error ends the work."""
        if self.kind == "dask":
            with _client(self.address) as client:
                yield client.get_executor(pure=False)
            return
        executor = ThreadPoolExecutor(self.size)
        if self.kind == "processes":
            context = multiprocessing.get_context("spawn")
            executor = ProcessPoolExecutor(self.size, context, initializer=_start_worker)
        try:
            yield executor
        except BaseException:
            # A pool would finish the batches that run; threads end by themselves.
            for process in (getattr(executor, "_processes", None) or {}).values():
                process.terminate()
            executor.shutdown(wait=False, cancel_futures=True)
            raise
        executor.shutdown()


def cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def compute(function: Callable, batches: Sequence, workers: Workers) -> Iterator[tuple]:
    """Yield `(batch, function(batch))` for every batch as it finishes.

    The batches of a worker that dies are computed again by a new one. Where workers are processes,
    the function must be picklable. An error of the function is raised.

    Raises:
        UsageError: If `ATTEMPTS` workers died over the same batch.
    """
    waiting, deaths = list(range(len(batches))), Counter()
    # No more batches are handed out than run at once, so a dead worker had one of them.
    room = len(batches) if workers.kind == "dask" else workers.size
    while waiting:
        futures = {}
        with workers.open() as executor:
            try:
                while waiting or futures:
                    while waiting and len(futures) < room:
                        with _sigint_blocked():  # a worker starts here, and must not see Ctrl-C
                            future = executor.submit(function, batches[waiting[0]])
                        futures[future] = waiting.pop(0)
                    for future in wait(futures, return_when=FIRST_COMPLETED).done:
                        result = future.result()
                        yield batches[futures.pop(future)], result
            except Exception as error:
                # Dask tries again by itself. Dask may not be installed, so its error has no class.
                killed = type(error).__name__ == "KilledWorker"
                if not killed and not isinstance(error, BrokenExecutor | CancelledError):
                    raise
                deaths.update(futures.values())
                if killed or ATTEMPTS in deaths.values():
                    raise UsageError(
                        f"{ATTEMPTS} workers died over the same trials ({error!r}): is there"
                        ' enough memory, and is the script under `if __name__ == "__main__":`?'
                    ) from error
                waiting += futures.values()


@contextmanager
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
    keep_freed_memory()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


def _client(address: str):
    try:
        from distributed import Client

        return Client(address, timeout=10)
    except ImportError as error:
        raise UsageError("Dask is not installed: `pip install 'acm[cluster]'`") from error
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"no Dask scheduler answers at {address!r}: {error}") from error
