"""The parametrised experiment, as a reader reruns it with Papermill from a folder of their own."""

import os
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from acm.experiments import Workers
from acm.registry import MODELS

NOTEBOOK = Path(__file__).parents[2] / "book" / "nb" / "experiment.ipynb"


def papermill(folder, **parameters):
    given = [text for name, value in parameters.items() for text in ("-p", name, str(value))]
    return subprocess.run(
        [sys.executable, "-m", "papermill", NOTEBOOK, "out.ipynb", "--no-progress-bar", *given],
        cwd=folder,
        # Jupyter's kernels choose their backend where the environment has no other.
        env={name: value for name, value in os.environ.items() if name != "MPLBACKEND"},
        capture_output=True,
        text=True,
    )


def outputs(folder):
    """All text that the notebook shows."""
    cells = nbformat.read(folder / "out.ipynb", as_version=4).cells
    shown = [o for cell in cells if cell.cell_type == "code" for o in cell.outputs]
    return "\n".join(
        o.get("text", "") + "".join(o.get("data", {}).get(kind, "") for kind in KINDS)
        for o in shown
    ), [o for o in shown if "image/png" in o.get("data", {})]


KINDS = ("text/markdown", "text/plain")


@pytest.mark.parametrize(
    ("dataset", "model", "figures", "words"),
    [
        # GCN has no channel weights, and the paper has no result on this graph.
        ("synthetic", "gcn", 1, "GCN has no channel weights."),
        # The channels of ACM-GCN+ cannot be left out, so the trial does not name them.
        ("synthetic", "ACM-GCN+", 2, "structure"),
        pytest.param("texas", "ACMII-GCN", 2, "the paper has 95.08", marks=pytest.mark.data),
    ],
)
def test_another_cell_from_another_folder(tmp_path, dataset, model, figures, words):
    ran = papermill(tmp_path, dataset=dataset, model=model, splits=1)
    assert ran.returncode == 0, ran.stderr[-2000:]
    text, images = outputs(tmp_path)
    assert words in text and len(images) == figures


@pytest.mark.parametrize("threads", [0, 2])
def test_it_runs_on_as_many_threads_as_it_is_told(threads):
    # Up to its first experiment; by default on all cores.
    cells = jupytext.read(NOTEBOOK.parents[2] / "notebooks" / "experiment.md").cells
    first, check, second = [cell.source for cell in cells if cell.cell_type == "code"][:3]
    given = f"threads = {threads}" if threads else ""
    code = "\n".join([first, given, check, second, "print(workers)"])
    ran = subprocess.run(
        [sys.executable, "-c", code.replace('"cornell"', '"synthetic"')],
        capture_output=True,
        text=True,
    )
    assert ran.stdout == f"{Workers('here', threads)}\n", ran.stderr


def test_an_unknown_model_is_answered_with_those_there_are(tmp_path):
    ran = papermill(tmp_path, dataset="synthetic", model="nonsense")
    last = ran.stderr.strip().splitlines()[-1]
    assert ran.returncode != 0
    assert "unknown model 'nonsense'" in last and all(name in last for name in MODELS)
