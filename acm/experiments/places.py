"""Where batches run: in this process, in processes of their own, or on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from typing import Any

from acm import workers
from acm.errors import UsageError, unknown

#: How often a batch may be on a worker when that dies, before the batch is held to be the cause.
ATTEMPTS = 3


@dataclass(frozen=True)
class Place:
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
            raise unknown("place", self.kind, KINDS)
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
                return workers.take(self.size)
            except OSError as error:
                raise UsageError(
                    f"processes cannot be started here ({error}): threads can, which Place() means"
                    " and --threads asks for"
                ) from error
        return _dask(self.address)

    def close(self, executor: Executor) -> None:
        """Part with an executor that has done its work; a pool of processes is kept."""
        if self.kind == "processes":
            workers.keep(executor)
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
    place: Place,
    abort: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Any, Any]]:
    """`(batch, function(batch))` for each batch, in the order in which they finish.

    A worker that dies takes its executor with it (a process pool is broken for good) or only its
    own batch (a cluster): what was not finished is computed again, by a new executor if need be.

    Args:
        function: What to do, picklable where workers are processes.
        batches: Its arguments, one a call.
        place: Where.
        abort: Called where the work ends early, to tell threads of this process to stop.

    Raises:
        UsageError: If workers died `ATTEMPTS` times over the same batch.
        Exception: What `function` raises.
    """
    # A pool gets as many batches as it has workers, so that what breaks it is among them.
    room = len(batches) if place.kind == "dask" else place.size
    attempts = dict.fromkeys(range(len(batches)), 0)
    todo, futures = list(attempts), {}
    if not todo:
        return
    executor = place.open()
    try:
        while todo or futures:
            while todo and len(futures) < room:
                try:
                    futures[executor.submit(function, batches[todo[0]])] = todo[0]
                except BrokenExecutor:  # a worker died while nobody looked
                    if futures:
                        break  # which wait for what they are told
                    executor.shutdown(wait=False, cancel_futures=True)
                    executor = place.open()
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
                executor = place.open()
    except BaseException:
        abort()
        # A pool would finish the batches in flight first.
        for process in (getattr(executor, "_processes", None) or {}).values():
            process.terminate()
        # Threads are waited for: they stop soon, and nothing of them is left behind.
        executor.shutdown(wait=place.kind == "here", cancel_futures=True)
        raise
    place.close(executor)


def _worker_died(error: BaseException) -> bool:
    died = isinstance(error, (BrokenExecutor, CancelledError))
    return died or type(error).__name__ == "KilledWorker"  # Dask's, which may not be installed
