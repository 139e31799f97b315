"""Run batches in this process, in worker processes, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass

from acm.errors import UsageError, unknown
from acm.kernels.memory import keep_freed_memory

KINDS = ("here", "processes", "dask")

#: `compute` raises an error after this many deaths of workers without a finished batch.
ATTEMPTS = 3


@dataclass(frozen=True)
class Workers:
    """The setting of where batches run, and on how many threads or processes.

    Attributes:
        kind: `"here"` (in this process, one batch after another), `"dask"`, or `"processes"`.
            Processes take seconds to start, and are faster for many trials. Each process imports
            the calling script, so the script must use `if __name__ == "__main__":`.
        workers: Number of threads or processes; 0 means the number of cores.
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
        """Return the number of threads or processes, by default the cores of this machine."""
        return self.workers or cores()

    @contextmanager
    def open(self) -> Iterator:
        """Open an executor for batches; after an error, it stops the batches that still run."""
        if self.kind == "dask":
            with _dask_client(self.address) as client:
                yield client.get_executor(pure=False)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.size, context, initializer=_start_worker) as executor:
            try:
                yield executor
            finally:  # otherwise the pool would finish the batches that run
                for process in list((executor._processes or {}).values()):
                    process.terminate()


def cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # exists on Linux
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def compute(function: Callable, batches: Sequence, workers: Workers) -> Iterator[tuple]:
    """Yield `(batch, function(batch))` for every batch, in the order in which batches finish.

    An error of a batch is raised. If a worker dies, new workers compute its batches again.
    """
    if workers.kind == "here":
        yield from ((batch, function(batch)) for batch in batches)
        return
    waiting, deaths = dict(enumerate(batches)), 0
    while waiting:
        with workers.open() as executor:
            try:
                with _sigint_blocked():  # workers start here; Ctrl-C must not reach them
                    futures = {executor.submit(function, waiting[k]): k for k in waiting}
                for future in as_completed(futures):
                    result = future.result()
                    deaths = 0
                    yield waiting.pop(futures[future]), result
            except Exception as error:
                # Dask retries by itself. We compare names, since Dask may not be installed.
                killed = type(error).__name__ == "KilledWorker"
                if not killed and not isinstance(error, BrokenExecutor | CancelledError):
                    raise
                deaths += 1
                if killed or deaths == ATTEMPTS:
                    raise UsageError(
                        f"{ATTEMPTS} workers died in the same trials ({error!r}): is there"
                        ' enough memory, and does the script use `if __name__ == "__main__":`?'
                    ) from error


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
    def end_with_parent() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    keep_freed_memory()
    threading.Thread(target=end_with_parent, daemon=True).start()


def _dask_client(address: str):
    try:
        from distributed import Client

        return Client(address, timeout=10)
    except ImportError as error:
        raise UsageError("Dask is not installed: `pip install 'acm[cluster]'`") from error
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"no Dask scheduler answers at {address!r}: {error}") from error
