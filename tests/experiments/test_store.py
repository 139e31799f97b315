"""The store under kills, torn rows, full disks, rivals and strangers' files."""

import multiprocessing
import os
import resource

import pytest

from acm.errors import UsageError
from acm.experiments import Store, cell, results
from tests.records import make_record


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "new" / "runs.csv")


def test_records_come_back_as_they_were(store, trials):
    records = [make_record(t, 0.1 * k) for k, t in enumerate(trials)]
    assert [store.append(r) for r in records] == records
    assert store.records() == records
    assert store.find(trials[1:3]) == {t: r for t, r in zip(trials[1:3], records[1:3])}
    assert all(r.trial == t for r, t in zip(records, trials))


def test_a_trial_is_kept_once(store, trials):
    first = store.append(make_record(trials[0], 0.5))
    assert store.append(make_record(trials[0], 0.7)) == first
    assert store.records() == [first]


@pytest.mark.parametrize("keep", [1, 30, -1])
def test_a_torn_last_row_is_passed_over_and_removed(store, trials, keep):
    first = store.append(make_record(trials[0]))
    sound = store.path.read_bytes()
    store.append(make_record(trials[1]))
    torn = (
        store.path.read_bytes()[: len(sound) + keep] if keep > 0 else store.path.read_bytes()[:-1]
    )
    store.path.write_bytes(torn)
    assert store.records() == [first]
    second = store.append(make_record(trials[1]))
    assert store.records() == [first, second]


def test_a_torn_header_is_no_store_yet(store, trials):
    store.path.parent.mkdir()
    store.path.write_bytes(b"dataset,mod")
    assert store.records() == []
    record = store.append(make_record(trials[0]))
    assert store.records() == [record]


def _limited_append(path, record, size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        Store(path).append(record)
    except UsageError as error:
        assert "cannot write" in str(error) and "\n" not in str(error)
        os._exit(7)
    os._exit(0)


def test_a_full_disk_loses_nothing_that_was_done(store, trials):
    first = store.append(make_record(trials[0]))
    size = store.path.stat().st_size + 20  # room for a part of the next row only
    process = multiprocessing.get_context("fork").Process(
        target=_limited_append, args=(store.path, make_record(trials[1]), size)
    )
    process.start()
    process.join()
    assert process.exitcode == 7
    assert store.records() == [first]
    assert store.path.stat().st_size == size - 20


def _append_all(path, records):
    for record in records:
        Store(path).append(record)


def test_rivals_lose_and_double_nothing(store):
    trials = cell("synthetic", "MLP-1", splits=30)
    records = [make_record(t) for t in trials]
    context = multiprocessing.get_context("fork")
    rivals = [
        context.Process(target=_append_all, args=(store.path, part))
        for part in (records[:20], records[10:], records[::-1])
    ]
    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join()
        assert rival.exitcode == 0
    assert sorted(r.split for r in store.records()) == list(range(30))


@pytest.mark.parametrize(
    "content, words",
    [
        (b"a,b\n1,2\n", "not a run store of this version"),
        (b"\xff\xfe\n", "cannot read"),
        (b"my precious", "not a run store"),
    ],
)
def test_a_strangers_file_is_refused_and_left_alone(store, trials, content, words):
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        store.append(make_record(trials[0]))
    assert store.path.read_bytes() == content


def test_a_damaged_row_is_named(store, trials):
    store.append(make_record(trials[0]))
    store.path.write_text(store.path.read_text().replace(",203,", ",many,"))
    with pytest.raises(UsageError, match="line 2"):
        store.records()


def test_a_folder_in_the_way_is_one_line(tmp_path, trials):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "runs.csv"):
        with pytest.raises(UsageError):
            Store(path).append(make_record(trials[0]))


def test_committed_records_are_named_where_they_are_missing():
    with pytest.raises(UsageError, match="no committed records 'nonsense'"):
        results("nonsense")


def test_every_committed_record_can_be_read_and_stands_once():
    tables = [path for path in results("sota").path.parent.glob("*.csv")]
    assert tables
    for path in tables:
        trials = [r.trial for r in Store(path).records()]
        assert trials and len(set(trials)) == len(trials), path.name
