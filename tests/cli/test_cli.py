"""The command line as a user meets it: in a process of its own."""

import os
import signal
import subprocess
import sys
import time

import pytest

from acm.cli import main
from acm.data.names import DATASETS
from acm.nn import MODELS

QUICK = ["--lr", "0.05", "--weight-decay", "1e-3", "--dropout", "0.3", "--hidden", "16", "--quiet"]


def acm(*arguments, cwd=None, env=None):
    return subprocess.run(
        [sys.executable, "-m", "acm", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=None if env is None else os.environ | env,
    )


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["data", "--help"], ["data", "list"]]
)
def test_help_and_names_need_no_heavy_import(arguments):
    # What makes `acm --help` quick is that none of these is loaded; a clock would test the machine.
    code = (
        "import sys; from acm.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'pandas', 'scipy', 'matplotlib', 'torch_geometric'}\n"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_teaches():
    text = acm("run", "--help").stdout
    assert all(name in text for name in MODELS)
    assert "examples:" in text and "the paper's optimum" in text
    assert "acm run" in acm("--help").stdout


def test_run_trains_keeps_and_compares(tmp_path, monkeypatch, capsys):
    done = acm(
        "run", "--dataset", "synthetic", "--model", "gcn", "--splits", "2", *QUICK, cwd=tmp_path
    )
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.count("split ") == 2
    assert done.stdout.splitlines()[-1].startswith("GCN on synthetic: ")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--dataset", "synthetic", "--model", "GCN", "--splits", "2", *QUICK]) == 0
    assert capsys.readouterr().out == done.stdout  # from the store, to the second


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "--dataset", "synthetic", "--model", "nonsense"], list(MODELS)),
        (["run", "--dataset", "nonsense", "--model", "GCN"], list(DATASETS)),
        (
            ["run", "--dataset", "synthetic", "--model", "GCN", "--protocol", "mixed"],
            ["random, fixed"],
        ),
        (["run", "--dataset", "synthetic", "--model", "GCN", "--threads", "0"], ["--threads is 0"]),
        (["run", "--dataset", "synthetic", "--model", "GCN", "--lr", "-1"], ["lr=-1.0"]),
        (
            ["run", "--dataset", "synthetic", "--model", "GCN", "--device", "cuda:77"],
            ["not at hand"],
        ),
        (["data", "fetch", "nonsense"], ["cornell"]),
        (["data", "verify", "nonsense"], ["cornell"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("acm: ")
    assert all(word in said for word in words)


def test_the_exit_code_reaches_the_shell(tmp_path):
    done = acm("run", "--dataset", "synthetic", "--model", "nonsense", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and all(model in done.stderr for model in MODELS)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run"],
        ["run", "--dataset", "cora", "--modle", "GCN"],
        ["run", "--dataset", "a", "--model", "b", "--splits", "x"],
    ],
)
def test_wrong_options_are_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


def test_a_store_in_an_impossible_place_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert (
        main(
            [
                "run",
                "--dataset",
                "synthetic",
                "--model",
                "GCN",
                "--splits",
                "1",
                *QUICK,
                "--store",
                str(tmp_path / "file" / "runs.csv"),
            ]
        )
        == 2
    )
    assert capsys.readouterr().err.count("\n") == 1


def test_ctrl_c_loses_the_trial_in_flight_only(tmp_path):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "acm",
            "run",
            "--dataset",
            "synthetic",
            "--model",
            "GCN",
            "--splits",
            "200",
            *QUICK,
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        # A suite started in the background has SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        text=True,
    )
    store = tmp_path / "runs.csv"
    while not store.exists() or store.read_text().count("\n") < 2:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    kept = store.read_text().count("\n") - 1
    assert f"interrupted: {kept} of 200 trials are in runs.csv" in said
    assert said.count("\n") == 1


@pytest.mark.data
def test_data_verify_and_fetch(capsys):
    assert main(["data", "fetch", "texas"]) == 0
    assert main(["data", "verify", "texas"]) == 0
    assert "every file is as the registry has it" in capsys.readouterr().out


def test_data_verify_says_what_is_missing(tmp_path):
    done = acm(
        "data",
        "verify",
        "texas",
        env={"ACM_DATA_MIRROR": str(tmp_path), "ACM_DATA_CACHE": str(tmp_path / "cache")},
    )
    assert done.returncode == 1
    assert done.stdout.startswith("missing  texas  ")
