"""A model added by nothing but the book's own page, as a new user adds it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import jupytext
import numpy as np
import pytest
import torch

from acm.filters import low_pass
from acm.registry import MODELS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page():
    return jupytext.read(ROOT / "notebooks" / "models.md", fmt="md:myst")


@pytest.fixture(scope="module")
def folder(page, tmp_path_factory):
    """A folder with the file that the page describes, and nothing else."""
    (cell,) = (c for c in page.cells if "my-model" in c.metadata.get("tags", []))
    folder = tmp_path_factory.mktemp("user")
    (folder / "my_model.py").write_text(cell.source + "\n")
    return folder


def python(folder, *arguments):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path, "ACM_MODELS": "my_model.py"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def acm(folder, *arguments):
    return python(folder, "-m", "acm", *arguments)


def test_it_is_listed_and_stacks(folder):
    lines = [line.split() for line in acm(folder, "models").splitlines()]
    (mine,) = (line for line in lines if line[0] == "Signed")
    assert mine[1:4] == ["yours", "yes", "-"]
    card = acm(folder, "models", "signed")
    assert card.startswith("Signed (User model)") and "scale (1.0)" in card


def test_the_commands_of_the_page_run(folder, page):
    (shell,) = (
        re.search("```bash\n(.*?)```", c.source, re.DOTALL)[1]
        for c in page.cells
        if "export ACM_MODELS" in c.source
    )
    export, *commands = shell.splitlines()
    assert export == "export ACM_MODELS=my_model.py"
    (on_synthetic,) = (c for c in commands if "synthetic" in c)
    program, *arguments = on_synthetic.split()
    assert program == "acm" and arguments[:3] == ["run", "--dataset", "synthetic"]
    splits = arguments.index("--splits") + 1
    said = acm(folder, *arguments[:splits], "1", *arguments[splits + 1 :])
    assert "Signed on synthetic" in said and "split  0: test" in said
    # The others, as far as the command line reads them.
    for command in commands:
        if "synthetic" not in command:
            program, *arguments = command.split()
            assert program == "acm"
            acm(folder, *arguments, "--help")


def test_it_is_the_same_to_the_bit_in_any_batch(folder):
    code = """
from acm.experiments import run_trials, trials_of
given = dict(lr=0.05, weight_decay=5e-4, dropout=0.5, hidden=9)
trials = trials_of("synthetic", "Signed", splits=3, hyperparameters=given)
for together in run_trials(trials, progress=False):
    (alone,) = run_trials([together.trial], progress=False)
    print(together.stacked and alone.outcome == together.outcome)
"""
    assert python(folder, "-c", code).split() == ["True"] * 3


def test_its_equation_is_what_it_computes(folder):
    """Y = (H + s tanh((H − Â H) w) ⊙ Â H) W_1, H = ReLU(X W_0), in dense float64."""
    space: dict = {}
    try:
        exec((folder / "my_model.py").read_text(), space)
        equation = MODELS["Signed"].equation
    finally:
        MODELS.pop("Signed", None)
    assert equation == "Y = (H + s tanh((H − Â H) w) ⊙ Â H) W_1, H = ReLU(X W_0)"
    torch.manual_seed(0)
    model = space["Signed"](5, 3, hidden=4, scale=0.7).double().eval()
    x, edges = torch.rand(6, 5).double(), torch.tensor([[0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 5, 4]])
    graph = low_pass(edges, 6).to(torch.float64)
    first, sign, last = (w.detach().numpy() for w in model.weights)
    h = (x.numpy() @ first).clip(0)
    mean = graph.to_dense().numpy() @ h
    expected = (h + 0.7 * np.tanh((h - mean) @ sign) * mean) @ last
    assert np.allclose(model(x, graph).detach().numpy(), expected, rtol=1e-12, atol=1e-12)
