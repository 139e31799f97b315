"""The command line as a user meets it: in a process of its own."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from acm import experiments
from acm.cli import build_parser, main
from acm.cli.options import workers_of
from acm.data.files import raw_files
from acm.data.names import DATASETS
from acm.registry import MODELS

GCN = ["run", "--dataset", "synthetic", "--model", "GCN"]
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
    "arguments",
    [["--help"], *([c, "--help"] for c in ("run", "models", "data")), ["data", "list"], ["models"]],
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
    assert "example:" in text and "the paper's optimum" in text and "`acm models`" in text
    text = acm("--help").stdout
    assert all(f"\n    {command} " in text for command in ("data", "metrics", "models", "run"))


def test_run_says_what_is_split_and_what_was_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = [*GCN, "--splits", "1", *QUICK]
    assert main(command) == 0
    first = capsys.readouterr()
    assert "of the nodes train" in first.out and "classes have test nodes" in first.out
    assert "not trained again" not in first.err
    assert main(command) == 0
    assert "1 of 1 trials are in runs.csv and are not trained again: cpu" in capsys.readouterr().err


def test_search_announces_its_trainings_and_takes_ablations(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    space = "--lr 0.05,0.1 --weight-decay 0,0.001 --dropout 0 --hidden 4 --splits 2".split()
    cell = "search --dataset synthetic --model ACM-GCN --channels low+high".split()
    assert main([*cell, *space, "--strategy", "halving"]) == 0
    out, err = capsys.readouterr()
    assert "4 configurations, 5 trainings, kept in search.csv" in err
    assert out.splitlines()[-2].startswith("4 configurations, 5 trainings")
    assert out.splitlines()[-1].endswith("--channels=low+high")


def test_run_trains_keeps_and_compares(tmp_path, monkeypatch, capsys):
    done = acm(*GCN, "--splits", "2", *QUICK, cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.count(": test ") == 2
    assert done.stdout.splitlines()[-1].startswith("GCN on synthetic: ")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiments.Store, "check", None)  # nothing is left to be written
    assert main([*GCN, "--model", "gcn", "--splits", "2", *QUICK]) == 0
    assert capsys.readouterr().out == done.stdout  # from the store, to the second


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["run", "--dataset", "synthetic", "--model", "nonsense"], list(MODELS)),
        (["run", "--dataset", "nonsense", "--model", "GCN"], list(DATASETS)),
        ([*GCN, "--split-scheme", "mixed"], ["random", "fixed", "sparse"]),
        ([*GCN, "--threads", "0"], ["--threads: invalid choice: 0 (choose from 1"]),
        ([*GCN, "--processes", "999999"], ["--processes: invalid choice: 999999"]),
        ([*GCN, "--lr", "-1"], ["lr=-1.0"]),
        ([*GCN, "--hidden", "99999999999"], ["enough memory"]),
        ([*GCN, "--splits", "99999999999"], ["at most 10,000"]),
        ([*GCN, "--channels", ""], ["low, high, identity"]),
        (["run", "--dataset", "synthetic", "--model", "MLP-2", "--no-mixing"], ["no channels"]),
        ([*GCN, "--device", "cuda:77"], ["not available"]),
        ([*GCN, "--device", "cpu:7"], ["device 'cpu:7' is not available"]),
        ([*GCN, "--device", "meta"], ["device 'meta' is not available"]),
        ([*GCN, "--store", "."], ["is not a file"]),
        (
            ["run", "--dataset", "chameleon_filtered", "--model", "GCN", "--lr", "0.01"],
            ["no hyperparameters for GCN on chameleon_filtered: give lr, weight_decay and dropout"],
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


@pytest.mark.parametrize("place", ["file/runs.csv", "file"])
def test_an_impossible_store_is_noticed_before_anything_is_trained(
    place, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("no store\n")
    monkeypatch.setattr("acm.experiments.run.compute", None)  # a call would fail
    assert main([*GCN, "--splits", "1", *QUICK, "--store", str(tmp_path / place)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_too_little_memory_is_one_line(tmp_path, monkeypatch, capsys):
    def run(*_, **__):
        torch.empty(2**60)

    monkeypatch.setattr(experiments, "run_trials", run)
    assert main([*GCN, "--store", str(tmp_path / "runs.csv")]) == 2
    assert capsys.readouterr().err.startswith("acm: there is not enough memory")


def test_other_faults_of_ours_are_not_hidden(tmp_path, monkeypatch):
    def run(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(experiments, "run_trials", run)
    with pytest.raises(RuntimeError, match="a bug"):
        main([*GCN, "--store", str(tmp_path / "runs.csv")])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_cannot_be_written_is_one_line(unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "acm", "data", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 2
    assert done.stderr == "acm: [Errno 28] No space left on device\n"


def test_an_output_without_accents_gets_question_marks(capsys):
    done = acm("metrics", "synthetic", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert main(["metrics", "synthetic"]) == 0
    spoken = capsys.readouterr().out
    assert "S_agg(S(Â,X))" in spoken
    assert done.stdout == spoken.replace("Â", "?")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_loses_no_record(closed, tmp_path):
    words = [sys.executable, "-m", "acm", *GCN, "--model", "gcn", "--splits", "2", *QUICK[:-1]]
    command = f"{shlex.join(words)} {closed}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    head, *rows = (tmp_path / "runs.csv").read_text().splitlines()
    assert head.startswith("dataset,model") and len(rows) == 2
    assert all(row.startswith("synthetic,GCN,") for row in rows)


def start_many(folder):
    """A run of many trials, and its store once there are two in it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "acm", *GCN, "--splits", "200", *QUICK],
        cwd=folder,
        stderr=subprocess.PIPE,
        # A suite started in the background has SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        text=True,
    )
    store = folder / "runs.csv"
    while not store.exists() or store.read_text().count("\n") < 2:
        assert process.poll() is None
        time.sleep(0.02)
    return process, store


def test_ctrl_c_loses_the_trial_in_flight_only(tmp_path):
    process, store = start_many(tmp_path)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    kept = store.read_text().count("\n") - 1
    assert f"interrupted: {kept} of 200 trials are in runs.csv" in said
    assert said.count("\n") == 1


def test_an_impatient_ctrl_c_is_no_traceback(tmp_path):
    process, _ = start_many(tmp_path)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.001)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said.count("\n") == 1 and said.startswith("acm: interrupted")


@pytest.mark.parametrize("wait", [0, 1, 2, 3])
def test_ctrl_c_to_all_processes_at_any_time_is_no_traceback(wait, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "acm", *GCN, "--splits", "200", *QUICK],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        start_new_session=True,  # a terminal interrupts all of them at once
        text=True,
    )
    assert process.stdout.readline().startswith("GCN on synthetic")  # workers start after this
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.startswith("acm: interrupted") and said.count("\n") == 1


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_what_is_left_of_a_killed_run_says_nothing(end, tmp_path):
    process, _ = start_many(tmp_path)
    process.send_signal(end)
    _, said = process.communicate()  # that is, until every process has let go of it
    assert (process.returncode, said) == (-end, "")


@pytest.mark.data
def test_data_verify_and_fetch(capsys):
    assert main(["data", "fetch", "texas"]) == 0
    assert main(["data", "verify", "texas"]) == 0
    assert "every file agrees with the registry" in capsys.readouterr().out


def test_data_verify_says_what_is_missing(tmp_path):
    done = acm(
        "data",
        "verify",
        "texas",
        env={"ACM_DATA_MIRROR": str(tmp_path), "ACM_DATA_CACHE": str(tmp_path / "cache")},
    )
    assert done.returncode == 1
    assert done.stdout.startswith("missing  texas  ")


def test_one_damaged_file_is_not_many(tmp_path, monkeypatch, capsys):
    (file, *others) = raw_files("tolokers")
    assert not others
    place = tmp_path / file.path
    place.parent.mkdir(parents=True)
    place.write_bytes(b"x")
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path))
    monkeypatch.setenv("ACM_DATA_CACHE", str(tmp_path / "cache"))
    assert main(["data", "verify", "tolokers"]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("damaged  tolokers  ")
    assert said[1] == "missing or damaged files: 1; correct the files in ACM_DATA_MIRROR"


def test_models_lists_every_row(capsys):
    assert main(["models"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["model", "tables", "stacks", "optima"]
    assert [line.split("  ")[0].strip() for line in lines] == list(MODELS)
    there = {line.split("  ")[0].strip(): line for line in lines}
    assert "2, 3, 8" in there["ACM-GCN"] and "later" in there["ACM-GCN+"]
    normalized = ("MixHop", "H2GCN", "GCN+JK", "GAT+JK")  # over the nodes of one graph
    for name, line in there.items():
        assert (" no " if name in normalized else " yes ") in line


def test_a_models_card(capsys):
    assert main(["models", "gcnii*"]) == 0
    card = capsys.readouterr().out
    assert card.startswith("GCNII* (Table 3)") and MODELS["GCNII*"].equation in card
    assert "lambda (0.5)" in card and "chen2020simple" in card
    assert "alpha 0.5, lambda 0.5, layers 8" in card  # Cornell's
    assert main(["models", "GAT", "--split-scheme", "fixed"]) == 0
    assert "not published; chosen because" in capsys.readouterr().out
    for arguments in (["GATT"], ["GAT", "--split-scheme", "both"]):
        assert main(["models", *arguments]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_run_says_where_the_recipe_is_from(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own = ["--options", "layers=1", "lambda=1"]
    arguments = ["run", "--dataset", "synthetic", "--model", "ACM-GCNII", "--splits", "1"]
    assert main([*arguments, *QUICK, *own]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "alpha 0.1, lambda 1, layers 1, channels low+high+identity" in said[0]
    assert "lr, weight_decay, dropout, hidden, layers, lambda as given; alpha: " in said[1]
    # One list after another adds to it, and nothing is given twice.
    assert main([*arguments, *QUICK, "--options", "layers=1", "--options", "lambda=1"]) == 0
    assert "lambda 1" in capsys.readouterr().out
    assert main([*arguments, "--options", "layers=1", "--options", "layers=2"]) == 2
    assert "--options layers=2: layers is given twice" in capsys.readouterr().err
    assert main([*arguments, "--options", "layers"]) == 2
    assert "NAME=X is needed" in capsys.readouterr().err


def test_a_search_over_a_models_own_ends_in_the_command_that_tests_it(tmp_path, capsys):
    asked = ["--lr", "0.05", "--weight-decay", "0", "--dropout", "0", "--options", "alpha=0.1,0.9"]
    where = ["--splits", "1", "--threads", "1", "--quiet", "--store", str(tmp_path / "s.csv")]
    name = ["--dataset", "synthetic", "--model", "APPNP"]
    assert main(["search", *name, *asked, *where]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 4 and sum("alpha 0.1" in line for line in said) == 1
    command = shlex.split(said[-1].removeprefix("to test the choice: acm "))
    assert command[-1] in ("--options=alpha=0.1", "--options=alpha=0.9")
    assert main([*command, *where[2:-1], str(tmp_path / "r.csv")]) == 0
    for wrong, words in (
        ("alpha", "NAME=X is needed"),
        ("alpha=0.1,x", "alpha='x': a number is needed"),
        ("alpha=1_0", "NAME=X is needed"),
        ("beta=1", "unknown hyperparameter 'beta'"),
        ("weight_decay=1", "weight_decay is given twice, or has a separate option"),
    ):
        assert main(["search", *name, *asked[:-1], wrong, *where]) == 2
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*GCN, "--hidden", "1.5"], "--hidden: '1.5': a whole number is needed"),
        ([*GCN, "--splits", "two"], "--splits: 'two': a whole number is needed"),
        ([*GCN, "--seed", ""], "--seed: '': a whole number is needed"),
        ([*GCN, "--threads", "1e3"], "--threads: '1e3': a whole number is needed"),
        ([*GCN, "--processes", "x\ny"], "--processes: 'x\\ny': a whole number is needed"),
        ([*GCN, "--splits", "1_0"], "--splits: '1_0': a whole number is needed"),
        ([*GCN, "--lr", "1_0"], "--lr: '1_0': a number is needed"),
        ([*GCN, "--threads", "1", "--dask", "x"], "--dask: not allowed with argument --threads"),
        (["search", *GCN[1:], "--lr", "0.1,1_0"], "--lr: '1_0': a number is needed"),
        ([*GCN, "--lr", "fast"], "--lr: 'fast': a number is needed"),
        ([*GCN, "--weight-decay", "0,1"], "--weight-decay: '0,1': a number is needed"),
        ([*GCN, "--dropout", "half"], "--dropout: 'half': a number is needed"),
        (["search", *GCN[1:], "--splits", "1.5"], "--splits: '1.5': a whole number is needed"),
        (["search", *GCN[1:], "--seed", "1.5"], "--seed: '1.5': a whole number is needed"),
        (["search", *GCN[1:], "--threads", "x"], "--threads: 'x': a whole number is needed"),
        (["search", *GCN[1:], "--processes", "x"], "--processes: 'x': a whole number is needed"),
        (["run"], "the following arguments are required: --dataset, --model"),
        (["run", "--modle", "x"], "the following arguments are required: --dataset, --model"),
        ([*GCN, "--modle", "x"], "unrecognized arguments: --modle x"),
        (["metrics", "texas", "--ties", "<"], "--ties: invalid choice: '<'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_what_cannot_be_read_is_one_line_without_the_usage(arguments, words, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith(f"acm: {words}") and "--help`)" in said


@pytest.mark.parametrize("form", ["{name}", "./{name}", "{whole}", "{whole}/", "folder.py"])
def test_a_folder_is_no_file_of_models(form, tmp_path):
    for name in ("folder", "folder.py"):
        (tmp_path / name).mkdir()
    asked = form.format(name="folder", whole=tmp_path / "folder")
    done = acm("models", "GCN", cwd=tmp_path, env={"ACM_MODELS": asked})
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"acm: ACM_MODELS lists {asked!r}, ")
    assert "folder" in done.stderr.split("(")[1] and "path of a .py file" in done.stderr


def test_processes_are_the_default_for_more_than_one_training():
    def workers(command, *more):
        words = [command, "--dataset", "cornell", "--model", "GCN", *more]
        return workers_of(build_parser().parse_args(words))

    assert workers("run").kind == workers("search", "--splits", "1").kind == "processes"
    assert workers("run", "--threads", "1").kind == "here"
    assert workers("run", "--splits", "1") is None and workers("run", "--device", "cuda") is None


def test_a_models_file_that_fails_is_one_line_with_workers_too(tmp_path):
    environment = os.environ | {
        "ACM_MODELS": str(tmp_path / "none.py"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-m", "acm", "run", "--dataset", "synthetic", "--model", "SGC-1"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "none.py" in done.stderr
