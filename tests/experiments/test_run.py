"""Running trials: determinism, resumption after a kill, and the paper's numbers."""

import dataclasses
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from acm.errors import UsageError
from acm.experiments import Store, cell, prepare, results, run, run_cell, run_trial
from tests.records import make_record

QUICK = {"lr": 0.05, "weight_decay": 1e-3, "dropout": 0.3, "hidden": 16}


def test_a_trial_does_not_depend_on_what_ran_before_it():
    trials = cell("synthetic", "ACM-GCN", splits=2, hyperparameters=QUICK)
    both = run(trials, progress=False)
    torch.manual_seed(5)
    alone, fitted = run_trial(trials[1])
    assert alone.outcome == both[1].outcome
    assert both[0].test_accuracy != both[1].test_accuracy
    assert fitted.epochs == alone.epochs == len(fitted.history.val_loss)


def test_the_record_is_what_the_fit_says():
    (trial,) = cell("synthetic", "GCN", splits=1, hyperparameters=QUICK)
    record, fitted = run_trial(trial)
    task = prepare("synthetic")
    split = task.split(trial)
    right = (fitted.prediction == task.y)[split.test]
    assert record.test_accuracy == right.double().mean().item()
    assert record.trial == trial
    assert record.device.startswith("cpu: ") and record.threads == torch.get_num_threads()
    assert f"torch {torch.__version__.split('+')[0]}" in record.versions


def test_what_is_in_the_store_is_not_run_again(tmp_path):
    trials = cell("synthetic", "GCN", splits=3, hyperparameters=QUICK)
    store = Store(tmp_path / "runs.csv")
    kept = [store.append(make_record(t, 0.123)) for t in trials]
    assert run(trials, store, progress=False) == kept


def test_unknown_devices_are_one_line():
    for device in ("cuda:99", "nonsense"):
        with pytest.raises(UsageError, match="is not at hand"):
            prepare("synthetic", device)


SCRIPT = """
import sys, torch
torch.set_num_threads(1)
from acm.experiments import run_cell
from tests.records import make_record
run_cell("synthetic", "GCN", splits=4, store=sys.argv[1], progress=False,
         hyperparameters=dict(lr=0.05, weight_decay=1e-3, dropout=0.3, hidden=16))
"""


def start(path):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)])


def test_a_killed_run_ends_as_an_undisturbed_one(tmp_path):
    undisturbed, killed = tmp_path / "a.csv", tmp_path / "b.csv"
    assert start(undisturbed).wait() == 0
    for rows in (1, 2):  # killed twice, each time a little after a row was written
        process = start(killed)
        while not killed.exists() or killed.read_text().count("\n") < rows + 1:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(Store(killed).records()) < 4
    assert start(killed).wait() == 0

    def rows(path):
        return [dataclasses.replace(r, seconds=0) for r in Store(path).records()]

    assert rows(killed) == rows(undisturbed) and len(rows(killed)) == 4


def test_the_kept_record_of_the_embedded_graph_is_reproduced():
    # To the bit on a machine of the same kind, and close to it elsewhere.
    kept = next(r for r in results("this-machine").records() if r.dataset == "synthetic")
    record, _ = run_trial(kept.trial)
    assert record.test_accuracy == pytest.approx(kept.test_accuracy, abs=0.03)
    if (record.device, record.versions) == (kept.device, kept.versions):
        assert record.outcome == kept.outcome


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_a_gpu_gives_what_the_cpu_gives_within_the_noise_of_rounding():
    trial = cell("synthetic", "ACM-GCN", splits=1)[0]
    (cpu, _), (gpu, fitted) = run_trial(trial), run_trial(trial, "cuda")
    assert gpu.device.startswith("cuda: ") and fitted.prediction.is_cuda
    assert gpu.test_accuracy == pytest.approx(cpu.test_accuracy, abs=0.05)


@pytest.mark.data
def test_cornell_is_reproduced():
    # Table 3: ACM-GCN on Cornell 94.75 ± 3.8.
    from acm.report import compare

    records = run_cell("cornell", "ACM-GCN", splits=3, progress=False)
    assert compare(records).verdict == "reproduced"
