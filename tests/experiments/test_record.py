"""What a row says, with the test set and without."""

import dataclasses

import pytest

from acm.errors import UsageError
from acm.experiments import Record, Store, Validation, run_trials, trials_of
from acm.experiments.run import batches, train_batch, validate_trials
from acm.experiments.trial import Trial
from tests.records import make_record

QUICK = {"lr": 0.05, "weight_decay": 1e-3, "dropout": 0.3, "hidden": 8}


def make_validation(trial: Trial, **changes) -> Validation:
    values = vars(make_record(trial, **changes)) | changes
    del values["test_accuracy"]
    return Validation(**values)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "search.csv", Validation)


def names(kind):
    return [f.name for f in dataclasses.fields(kind)]


def test_a_validation_has_no_test_accuracy_and_nothing_else_less():
    assert "test_accuracy" not in names(Validation)
    assert set(names(Record)) - set(names(Validation)) == {"test_accuracy"}
    assert names(Record) == [*names(Validation), "test_accuracy"]
    assert names(Record)[: len(names(Trial))] == names(Trial)


def test_validations_come_back_as_they_were(store, trials):
    rows = [make_validation(t, val_loss=0.1 * k) for k, t in enumerate(trials)]
    assert store.extend(rows) == rows
    assert store.records() == rows
    assert store.find(trials[1:3]) == {t: r for t, r in zip(trials[1:3], rows[1:3])}
    assert all(type(r) is Validation and r.trial == t for r, t in zip(store.records(), trials))


def test_a_store_of_the_other_kind_is_refused_in_one_line(store, trials):
    store.extend([make_validation(trials[0])])
    before = store.path.read_bytes()
    other = Store(store.path)
    told = "not a run store of this version with Record rows"
    for call in (other.records, other.check, lambda: other.extend([make_record(trials[1])])):
        with pytest.raises(UsageError, match=told) as error:
            call()
        assert "\n" not in str(error.value)
    assert store.path.read_bytes() == before
    other = Store(store.path.with_name("runs.csv"))
    other.extend([make_record(trials[0])])
    with pytest.raises(UsageError, match="not a run store of this version with Validation rows"):
        Store(other.path, Validation).records()


def test_a_row_of_the_other_kind_is_not_kept(store, trials):
    with pytest.raises(UsageError):
        store.extend([make_record(trials[0])])
    assert not store.path.exists() or not store.path.read_bytes()
    other = Store(store.path.with_name("runs.csv"))
    with pytest.raises(UsageError):
        other.extend([make_validation(trials[0])])
    assert not other.path.exists() or not other.path.read_bytes()


def test_several_rows_are_one_write(store, trials, monkeypatch):
    lines = []
    write = Store._write
    monkeypatch.setattr(
        Store, "_write", lambda s, text: lines.append(text.count(b"\n")) or write(s, text)
    )
    rows = [make_validation(t) for t in trials]
    assert store.extend(rows[:3]) == rows[:3]
    again = [dataclasses.replace(r, val_loss=9.0) for r in rows]
    for _ in range(2):
        assert store.extend(again) == [*rows[:3], again[3]]
    assert store.extend([]) == [] and lines == [3, 1, 0, 0]
    assert store.records() == [*rows[:3], again[3]]


def test_of_several_rows_of_one_trial_the_first_is_kept(store, trials):
    first, second = (make_validation(trials[0], val_loss=loss) for loss in (1.0, 2.0))
    other = make_validation(trials[1])
    assert store.extend([first, other, second]) == [first, other, first]
    assert store.records() == [first, other]


def test_a_write_cut_short_leaves_whole_rows_only(store, trials):
    rows = store.extend([make_validation(t) for t in trials[:3]])
    whole = store.path.read_bytes()
    ends = [k + 1 for k, byte in enumerate(whole) if byte == ord("\n")]
    for end in (ends[1] + 20, ends[2] + 20):
        store.path.write_bytes(whole[:end])
        kept = sum(e <= end for e in ends) - 1
        assert store.records() == rows[:kept]
        assert store.extend(rows) == rows
        assert store.path.read_bytes() == whole


def test_a_search_sees_what_a_run_sees_but_the_test(tmp_path, store):
    trials = trials_of("synthetic", "GCN", splits=2, hyperparameters=QUICK)
    blind = validate_trials(trials, store, progress=False)
    # Stored as they finish, returned as they were asked for.
    assert sorted(store.records(), key=lambda r: r.split) == blind
    assert all(type(row) is Validation for row in blind)
    for row, record in zip(blind, run_trials(trials, progress=False)):
        seen = {n: v for n, v in vars(record).items() if n not in ("test_accuracy", "seconds")}
        assert seen == {n: v for n, v in vars(row).items() if n != "seconds"}
    assert validate_trials(trials, store, progress=False) == blind  # nothing was run again


def test_a_blind_batch_has_no_test_accuracy():
    trial = trials_of("synthetic", "GCN", splits=1, hyperparameters=QUICK)
    for blind, kind in ((True, Validation), (False, Record)):
        assert [type(row) for row in train_batch(trial, blind=blind)] == [kind]


def test_a_trial_that_diverges_is_told_of_and_the_others_are_kept(tmp_path):
    good = trials_of("synthetic", "GCN", splits=2, hyperparameters=QUICK)
    wild = [dataclasses.replace(good[0], lr=1e30), dataclasses.replace(good[1], lr=1e30)]
    trials = [wild[0], good[0], wild[1], good[1]]
    store = Store(tmp_path / "runs.csv")
    words = r"GCN on synthetic, split 0, lr 1e\+30.*2 trials failed"
    with pytest.raises(UsageError, match=words) as e:
        run_trials(trials, store, progress=False)
    assert "\n" not in str(e.value)
    assert {r.trial for r in store.records()} == set(good)
    blind = validate_trials(trials, progress=False)
    assert [row and row.trial for row in blind] == [None, good[0], None, good[1]]


def test_batches_hold_every_trial_once_and_only_what_can_be_stacked():
    trials = [
        dataclasses.replace(t, dropout=dropout, hidden=hidden)
        for model in ("GCN", "ACM-GCN")
        for t in trials_of("synthetic", model, splits=7, hyperparameters=QUICK)
        for dropout in (0.0, 0.5)
        for hidden in (8, 16)
    ]
    for size in (1, 2, 3):
        work = batches(trials, "cpu", size)
        assert sorted(map(str, trials)) == sorted(str(t) for batch in work for t in batch)
        for batch in work:
            assert len({(t.model, t.hidden, t.dropout > 0) for t in batch}) == 1
    few = trials_of("synthetic", "GCN", splits=4, hyperparameters=QUICK)
    assert [len(batch) for batch in batches(few, "cpu", 2)] == [2, 2]
    assert [len(batch) for batch in batches(few, "cuda", 1)] == [4]
    assert batches([], "cpu", 1) == []
