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

#: If so many workers die in a row before a batch is finished, the batches are taken as the cause.
ATTEMPTS = 3


@dataclass(frozen=True)
class Workers:
    """Say where batches run.

    Attributes:
        kind: `"here"` for this process, one batch after the other; `"processes"`, which are faster
            for many trainings but take seconds to start (a script must then call them under
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
        """Return how many threads or processes run; a cluster counts as one machine like this."""
        return self.workers or cores()

    @contextmanager
    def open(self) -> Iterator:
        """Give an executor that takes batches, and that ends them if an error ends the work."""
        if self.kind == "dask":
            with _dask_client(self.address) as client:
                yield client.get_executor(pure=False)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.size, context, initializer=_start_worker) as executor:
            try:
                yield executor
            finally:  # without a signal the pool would finish the batches that run
                for process in list((executor._processes or {}).values()):
                    process.terminate()


def cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def compute(function: Callable, batches: Sequence, workers: Workers) -> Iterator[tuple]:
    """Yield `(batch, function(batch))` for every batch as it finishes; raise what a batch raises.

    The batches of a worker that dies are computed again by new workers.
    """
    if workers.kind == "here":
        yield from ((batch, function(batch)) for batch in batches)
        return
    waiting, deaths = dict(enumerate(batches)), 0
    while waiting:
        with workers.open() as executor:
            try:
                with _sigint_blocked():  # workers start here, and must not see Ctrl-C
                    futures = {executor.submit(function, waiting[k]): k for k in waiting}
                for future in as_completed(futures):
                    result = future.result()
                    deaths = 0
                    yield waiting.pop(futures[future]), result
            except Exception as error:
                # Dask tries again by itself. Dask may not be installed, so its error has no class.
                killed = type(error).__name__ == "KilledWorker"
                if not killed and not isinstance(error, BrokenExecutor | CancelledError):
                    raise
                deaths += 1
                if killed or deaths == ATTEMPTS:
                    raise UsageError(
                        f"{ATTEMPTS} workers died over the same trials ({error!r}): is there"
                        ' enough memory, and is the script under `if __name__ == "__main__":`?'
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
