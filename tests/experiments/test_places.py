"""Batches in processes and on a Dask cluster, whose workers are killed in the middle."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from acm.errors import UsageError
from acm.experiments import Store, run_trials, trials_of
from acm.experiments.run import MOST
from acm.experiments.workers import ATTEMPTS, Workers, compute
from tests.experiments import workers

ROOT = Path(__file__).parents[2]
QUICK = {"lr": 0.05, "weight_decay": 1e-3, "dropout": 0.3, "hidden": 16}
TRIALS = trials_of("synthetic", "GCN", splits=4, hyperparameters=QUICK)


@pytest.fixture(scope="module")
def undisturbed():
    """What the trials give here, without what the machine has to do with it."""
    return plain(run_trials(TRIALS, progress=False))


def plain(records):
    alike = (dataclasses.replace(r, seconds=0.0, threads=1) for r in records)
    return sorted(alike, key=lambda r: r.split)


@pytest.fixture
def one_by_one(monkeypatch):
    """Batches of one trial each."""
    monkeypatch.setitem(MOST, "cpu", 1)


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT)}


def wait_for(condition, process=None):
    for _ in range(6000):
        if condition():
            return
        assert process is None or process.poll() is None
        time.sleep(0.01)
    pytest.fail("nothing happened for a minute")


@contextlib.contextmanager
def beside(act):
    """Run something in a thread meanwhile; what goes wrong there is not lost."""
    wrong = []

    def guarded():
        try:
            act()
        except BaseException as error:
            wrong.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    yield
    thread.join()
    assert not wrong


def workers_of_this_process():
    """Those that compute: not the server they are copies of, nor what tracks shared resources."""
    children = psutil.Process().children(recursive=True)
    return [c for c in children if _line(c).count("spawn_main") or _line(c.parent()).count(SERVER)]


SERVER = "multiprocessing.forkserver"


def _line(process):
    with contextlib.suppress(psutil.NoSuchProcess, AttributeError):
        return " ".join(process.cmdline())
    return ""


@pytest.mark.parametrize("size", [1, 2])
def test_batches_come_back_with_what_they_gave(size):
    place = Workers("processes", size)
    numbers = list(range(5))
    for either in (place, Workers("here", size)):
        assert sorted(compute(workers.double, numbers, either)) == [(n, 2 * n) for n in numbers]
    assert list(compute(workers.double, [], place)) == []


@pytest.mark.parametrize("place", [Workers(), Workers("processes", 1)])
def test_what_a_batch_raises_is_raised(place):
    with pytest.raises(ZeroDivisionError, match="at 1"):
        list(compute(workers.fail, [1, 1, 1], place))


def test_a_batch_whose_worker_died_runs_again_and_the_others_once(tmp_path):
    batches = [str(tmp_path / name) for name in "abc"]
    for path in batches[1:]:
        Path(path).touch()  # only the first kills its worker
    seen = [batch for batch, _ in compute(workers.die_once, batches, Workers("processes", 2))]
    assert sorted(seen) == batches


def test_a_batch_that_kills_every_worker_is_said_in_one_line():
    with pytest.raises(UsageError, match=f"{ATTEMPTS} workers died in the same") as error:
        list(compute(workers.die, [0], Workers("processes", 1)))
    assert "\n" not in str(error.value)


def test_a_worker_that_dies_between_two_batches_is_replaced():
    # While the main process writes records, no one looks at the pool.
    done = compute(workers.pid_slowly, [0.0, 0.01, 0.02, 0.03], Workers("processes", 1))
    seen = []
    for batch, pid in done:
        seen.append(batch)
        if len(seen) == 2:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_for(lambda pid=pid: not psutil.pid_exists(pid) or is_zombie(pid))
            time.sleep(0.3)
    assert seen == [0.0, 0.01, 0.02, 0.03]


def is_zombie(pid):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def test_a_pool_whose_worker_is_killed_gives_to_the_bit_what_is_given_here(
    tmp_path, undisturbed, one_by_one, monkeypatch
):
    store, opened = Store(tmp_path / "runs.csv"), []
    open_place = Workers.open
    monkeypatch.setattr(Workers, "open", lambda place: opened.append(1) or open_place(place))

    def kill_one():
        wait_for(lambda: store.path.exists() and store.records())
        workers_of_this_process()[0].kill()

    with beside(kill_one):
        records = run_trials(TRIALS, store, progress=False, workers=Workers("processes", 2))
    assert len(opened) > 1  # the kill broke the pool
    assert plain(records) == plain(store.records()) == undisturbed


SCRIPT = """
import signal, sys
# A shell that starts the tests in the background has it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
from tests.experiments import workers
if __name__ == "__main__":
    from acm.experiments import Store, run_trials, run as batch, trials_of
    from acm.experiments.workers import Workers, compute
    batch.MOST["cpu"] = 1
    place = Workers(sys.argv[1], 2)
    if sys.argv[2] == "sleep":
        list(compute(workers.touch_and_sleep, sys.argv[3:], place))
    else:
        trials = trials_of("synthetic", "GCN", splits=60, hyperparameters=dict(
            lr=0.05, weight_decay=1e-3, dropout=0.3, hidden=16))
        run_trials(trials, Store(sys.argv[3]), progress=False, workers=place)
"""


def start(tmp_path, *arguments):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, str(script), *map(str, arguments)],
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # whose processes can all be ended
    )


@contextlib.contextmanager
def nothing_left(process):
    """End what is still there of a process and its children."""
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_an_interrupted_run_keeps_what_was_stored_and_runs_no_more(tmp_path):
    store = Store(tmp_path / "runs.csv")
    process = start(tmp_path, "here", "run", store.path)
    with nothing_left(process):
        wait_for(lambda: store.path.exists() and store.path.read_bytes().count(b"\n") > 1, process)
        os.kill(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=60)
        assert process.returncode != 0 and "KeyboardInterrupt" in error
        assert 1 <= len(store.records()) < 60
        trials = [r.trial for r in store.records()]
        assert len(set(trials)) == len(trials)


@pytest.mark.parametrize("to", ["process", "group"])
def test_an_interruption_does_not_wait_for_the_batches_in_flight(tmp_path, to):
    paths = [tmp_path / "a", tmp_path / "b"]
    process = start(tmp_path, "processes", "sleep", *paths)
    with nothing_left(process):
        wait_for(lambda: all(path.exists() for path in paths), process)
        (os.kill if to == "process" else os.killpg)(process.pid, signal.SIGINT)
        process.communicate(timeout=30)  # they would take five minutes
        assert process.returncode != 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_workers_end_with_the_process_that_started_them(tmp_path, how):
    paths = [tmp_path / "a", tmp_path / "b"]
    process = start(tmp_path, "processes", "sleep", *paths)
    with nothing_left(process):
        wait_for(lambda: all(path.exists() for path in paths), process)
        family = psutil.Process(process.pid).children(recursive=True)
        assert len(family) >= 2
        os.kill(process.pid, how)
        process.communicate(timeout=30)  # which waits for all that hold its stderr
        _, alive = psutil.wait_procs(family, timeout=30)
        assert alive == []


@contextlib.contextmanager
def cluster(tmp_path):
    """A Dask scheduler and two workers, each a process of its own: the address, and the workers."""
    file = tmp_path / "scheduler.json"
    options = dict(env=environment(), cwd=tmp_path, stderr=subprocess.DEVNULL)
    shared = ["--scheduler-file", str(file), "--no-dashboard"]
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", *shared, "--port", "0"]
    scheduler = subprocess.Popen([*dask, "--host", "127.0.0.1"], **options)
    dask = [sys.executable, "-m", "distributed.cli.dask_worker", *shared, "--no-nanny"]
    two = [subprocess.Popen([*dask, "--nthreads", "1"], **options) for _ in range(2)]
    try:
        wait_for(file.exists, scheduler)
        from distributed import Client

        with Client(scheduler_file=str(file), timeout=30) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield address, two
    finally:
        for process in (*two, scheduler):
            process.kill()
            process.wait()


def test_a_dask_cluster_of_which_one_worker_is_killed(tmp_path, undisturbed, one_by_one):
    pytest.importorskip("distributed", reason="Dask is not installed (pip install 'acm[cluster]')")
    store = Store(tmp_path / "runs.csv")
    with cluster(tmp_path) as (address, two):

        def kill_one():
            wait_for(lambda: store.path.exists() and store.records())
            two[0].kill()

        with beside(kill_one):
            place = Workers("dask", address=address)
            records = run_trials(TRIALS, store, progress=False, workers=place)
        assert two[0].wait() == -signal.SIGKILL and two[1].poll() is None
    assert plain(records) == plain(store.records()) == undisturbed


def test_no_scheduler_is_said_in_one_line(monkeypatch):
    dask = pytest.importorskip(
        "distributed", reason="Dask is not installed (pip install 'acm[cluster]')"
    )
    client = dask.Client
    monkeypatch.setattr(dask, "Client", lambda address, timeout: client(address, timeout=1))
    for address in ("nonsense://x", "tcp://127.0.0.1:1"):
        with pytest.raises(UsageError, match="no Dask scheduler answers") as error:
            run_trials(TRIALS, progress=False, workers=Workers("dask", address=address))
        assert "\n" not in str(error.value)


def test_an_unknown_kind_of_workers_is_said_in_one_line():
    with pytest.raises(UsageError, match="did you mean processes"):
        Workers("proceses")
