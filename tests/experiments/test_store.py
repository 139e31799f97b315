"""The store under kills, torn rows, full disks, rivals and strangers' files."""

import csv
import dataclasses
import errno
import multiprocessing
import os
import resource
from pathlib import Path

import pytest

from acm.errors import UsageError
from acm.experiments import Record, Store, Validation, results, trials_of
from acm.experiments.trial import NUMERICS
from tests.records import make_record


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "new" / "runs.csv")


def add(store, record):
    return store.extend([record])[0]


def test_records_come_back_as_they_were(store, trials):
    records = [make_record(t, 0.1 * k) for k, t in enumerate(trials)]
    assert [add(store, r) for r in records] == records
    assert store.records() == records
    assert store.find(trials[1:3]) == {t: r for t, r in zip(trials[1:3], records[1:3])}
    assert all(r.trial == t for r, t in zip(records, trials))


def test_records_of_other_rules_and_models_are_counted_and_not_handed_out(store, trials):
    first = add(store, make_record(trials[0]))
    for changes in ({"numerics": NUMERICS - 1}, {"training_rule": "another"}):
        other = dataclasses.replace(make_record(trials[1]), **changes)
        add(store, other)
        assert store.find([trials[1], other.trial]) == {}
    text = store.path.read_text()
    mine = text.splitlines()[1].replace("MLP-1", "Mine")
    store.path.write_text(f"{text}{mine}\n{mine}\n")
    assert store.records() == [first]
    expected = {
        "another numerics version": 1,
        "another training rule": 1,
        "an unknown model or data set": 2,
    }
    assert store.left_out() == Store(store.path).left_out() == expected
    old = Store(store.path, numerics=NUMERICS - 1)
    assert [r.numerics for r in old.records()] == [NUMERICS - 1]
    second = add(store, make_record(trials[1]))  # today's trial is another one
    assert store.records() == Store(store.path).records() == [first, second]
    assert store.path.read_text().startswith(text)


def test_an_append_reads_only_what_is_new(store, trials, monkeypatch):
    taken = []
    take = Store._take
    monkeypatch.setattr(Store, "_take", lambda s, cells: taken.append(1) or take(s, cells))
    many = trials_of("synthetic", "MLP-1", splits=50)
    for trial in many:
        add(store, make_record(trial))
    assert len(taken) == 50
    add(Store(store.path), make_record(trials_of("synthetic", "GCN", splits=1)[0]))
    assert len(taken) == 101 and len(store.records()) == 51 and len(taken) == 102


def test_a_file_that_somebody_edits_is_read_again(store, trials):
    records = [add(store, make_record(t)) for t in trials[:3]]
    lines = store.path.read_text().splitlines(keepends=True)
    store.path.write_text("".join(lines[:2] + lines[3:]))
    assert store.records() == [records[0], records[2]]
    store.path.write_text(lines[0] + lines[1].replace(",0.5\n", ",0.75\n") + "".join(lines[2:]))
    assert [r.test_accuracy for r in store.records()] == [0.75, 0.5, 0.5]


def test_a_trial_is_kept_once(store, trials):
    first = add(store, make_record(trials[0], 0.5))
    assert add(store, make_record(trials[0], 0.7)) == first
    assert store.records() == [first]


@pytest.mark.parametrize("keep", [1, 30, -2])
def test_a_torn_last_row_is_passed_over_and_removed(store, trials, keep):
    first = add(store, make_record(trials[0]))
    sound = store.path.read_bytes()
    add(store, make_record(trials[1]))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[: len(sound) + keep if keep > 0 else keep])
    assert store.records() == [first]
    second = add(store, make_record(trials[1]))
    assert store.records() == [first, second]
    assert store.path.read_bytes() == whole


def test_of_two_rows_of_one_trial_the_first_is_found(store, trials):
    first = add(store, make_record(trials[0], 0.25))
    text = store.path.read_text()
    store.path.write_text(text + text.splitlines()[1].replace(",0.25,", ",0.75,") + "\n")
    assert store.records() == [first] and store.left_out() == {"a trial with an earlier record": 1}
    assert store.find(trials) == {trials[0]: first}
    assert add(store, make_record(trials[0], 0.5)) == first


@pytest.mark.parametrize(
    "field, value, words",
    [
        ("epochs", "many", "invalid literal"),
        ("mix", "maybe", "maybe"),
        ("options", "depth=3", "unknown hyperparameter 'depth'"),
        ("commit", '"ab', "unexpected end of data"),
        ("commit", "a,b", "could not convert"),
        ("commit", "\xff", "decode"),
    ],
)
def test_a_line_that_is_no_record_is_named(store, trials, field, value, words):
    record = add(store, make_record(trials[0]))
    lines = list(csv.reader(store.path.open(newline="")))
    cells = dict(zip(*lines)) | {field: "@"}
    with store.path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([cells.keys(), cells.values()])
    store.path.write_bytes(store.path.read_bytes().replace(b"@", value.encode("latin-1")))
    with pytest.raises(UsageError, match="line 2: not a record") as error:
        store.records()
    assert words in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(UsageError, match="line 2"):
        add(store, dataclasses.replace(record, split=3))


def test_a_torn_header_is_no_store_yet(store, trials):
    store.path.parent.mkdir()
    store.path.write_bytes(b"dataset,mod")
    assert store.records() == []
    record = add(store, make_record(trials[0]))
    assert store.records() == [record]


def _limited_append(path, record, size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        add(Store(path), record)
    except UsageError as error:
        assert "cannot write" in str(error) and "\n" not in str(error)
        os._exit(7)
    os._exit(0)


def test_a_full_disk_loses_nothing_that_was_done(store, trials):
    first = add(store, make_record(trials[0]))
    size = store.path.stat().st_size + 20  # room for a part of the next row only
    process = multiprocessing.get_context("fork").Process(
        target=_limited_append, args=(store.path, make_record(trials[1]), size)
    )
    process.start()
    process.join()
    assert process.exitcode == 7
    assert store.records() == [first]
    assert store.path.stat().st_size == size - 20


def _extend_until_full(path, records, size):
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    cut = os.ftruncate

    def freeing(descriptor, length):  # what is cut off a full disk is free again
        cut(descriptor, length)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    os.ftruncate = freeing
    try:
        Store(path).extend(records)
    except UsageError:
        os._exit(7)
    os._exit(0)


@pytest.mark.parametrize("room", [1, 5_000, 10_000, 12_000])
def test_a_disk_that_fills_up_within_many_rows_leaves_what_was_there(store, room):
    trials = trials_of("synthetic", "MLP-1", splits=100)
    first = add(store, make_record(trials[0]))
    before = store.path.read_bytes()
    process = multiprocessing.get_context("fork").Process(
        target=_extend_until_full,
        args=(store.path, [make_record(t) for t in trials[1:]], len(before) + room),
    )
    process.start()
    process.join()
    assert process.exitcode == 7
    assert store.path.read_bytes() == before and store.records() == [first]


def _append_all(path, records):
    for record in records:
        add(Store(path), record)


def test_rivals_lose_and_double_nothing(store):
    trials = trials_of("synthetic", "MLP-1", splits=30)
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
        (b"\xff\xfe\n", "not a run store"),
        (b"my precious", "not a run store"),
    ],
)
def test_a_strangers_file_is_refused_and_left_alone(store, trials, content, words):
    store.path.parent.mkdir()
    store.path.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        add(store, make_record(trials[0]))
    assert store.path.read_bytes() == content


def test_what_is_no_file_is_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (".", "", tmp_path, os.devnull):
        with pytest.raises(UsageError, match="is not a file"):
            Store(path)
    with pytest.raises(UsageError, match="cannot read"):
        Store("a\0b").records()


def test_a_file_in_the_way_is_seen_before_anything_is_run(tmp_path, trials):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "runs.csv")
    with pytest.raises(UsageError, match="cannot write"):
        store.check()
    with pytest.raises(UsageError, match="cannot write .*: the new records are lost"):
        add(store, make_record(trials[0]))


@pytest.mark.parametrize("there", [True, False])
def test_what_may_not_be_written_is_seen_before_anything_is_run(store, trials, there, monkeypatch):
    if there:
        add(store, make_record(trials[0]))
    store.check()
    assert len(store.records()) == there
    if os.geteuid() == 0:  # whom no permission stops
        monkeypatch.setattr("builtins.open", deny)
    elif there:
        store.path.chmod(0o444)
    else:
        store.path.parent.chmod(0o555)
    with pytest.raises(UsageError, match="Permission denied"):
        store.check()


def deny(path, *_):
    raise PermissionError(errno.EACCES, "Permission denied", path)


def test_a_strangers_file_is_seen_before_anything_is_run(store):
    store.path.parent.mkdir()
    store.path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match="not a run store"):
        store.check()


def test_committed_records_are_named_where_they_are_missing():
    with pytest.raises(UsageError, match="unknown committed table 'nonsense'"):
        results("nonsense")


def test_every_committed_record_can_be_read_and_stands_once():
    tables = [path for path in results("sota").path.parent.glob("*.csv")]
    assert tables
    for path in tables:
        kind = Validation if "search" in path.stem else Record
        trials = [r.trial for n in (1, NUMERICS) for r in Store(path, kind, n).records()]
        assert trials and len(set(trials)) == len(trials), path.name
        assert "+" not in {r.commit[-1:] for r in Store(path, kind).records()}, path.name
        assert path.read_bytes().endswith(b"\n"), path.name


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_lock_that_cannot_be_had_is_not_waited_for(trials):
    with pytest.raises(UsageError, match="cannot write /proc/x.csv"):
        add(Store("/proc/x.csv"), make_record(trials[0]))


def test_a_hyperparameter_added_since_has_its_default(store):
    trial = trials_of("cora", "GraphSAGE", splits=1, hyperparameters={"aggregator": "mean"})[0]
    assert "aggregator=mean" in trial.options
    add(store, make_record(trial))
    text = store.path.read_text()
    store.path.write_text(text.replace(trial.options, "layers=2"))  # as it was before there was one
    assert store.records()[0].trial == trial and trial in store.find([trial])


def test_options_come_back(store):
    trial = trials_of("cora", "GAT+JK", splits=1)[0]
    record = add(store, make_record(trial))
    assert store.records() == [record] and record.trial == trial
