"""Parameters that Papermill gives to a notebook, run in IPython without a kernel."""

from pathlib import Path

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell

CHECK = "from acm.report.parameters import check_parameters\n\ncheck_parameters()"
DEFAULTS = 'model = "GCN"\nsplits = 5\nlr: float = None  # learning rate'
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.md"))


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def run(shell, *cells):
    for cell in cells:
        result = shell.run_cell(cell, store_history=True)
    if result.error_in_exec:
        raise result.error_in_exec
    return shell.user_ns


def test_known_parameters_pass(shell):
    variables = run(shell, DEFAULTS, '# Parameters\nmodel = "SGC-1"\nsplits = 3\n', CHECK)
    assert (variables["model"], variables["splits"], variables["lr"]) == ("SGC-1", 3, None)


def test_without_parameters_nothing_happens(shell):
    run(shell, CHECK)
    run(shell, DEFAULTS, CHECK)


def test_an_unknown_parameter_is_answered_with_the_nearest(shell):
    with pytest.raises(ValueError, match=r"unknown parameter 'modle' \(did you mean model\?\)"):
        run(shell, DEFAULTS, '# Parameters\nmodle = "SGC-1"\n', CHECK)


def test_a_notebook_without_parameters_takes_none(shell):
    with pytest.raises(ValueError, match="this notebook has no parameters, so no 'splits'"):
        run(shell, "# Parameters\nsplits = 3\n", CHECK)


@pytest.mark.parametrize(("text", "value"), [("1e-3", 0.001), ("7", 7), ("seven", "seven")])
def test_a_number_as_text_is_read(shell, text, value):
    variables = run(shell, DEFAULTS, f'# Parameters\nlr = "{text}"\nmodel = "{text}"\n', CHECK)
    assert variables["lr"] == value and type(variables["lr"]) is type(value)
    assert variables["model"] == text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_checks_its_parameters_first(path):
    cells = [c for c in jupytext.read(path).cells if c.cell_type == "code"]
    tagged = [k for k, c in enumerate(cells) if "parameters" in c.metadata.get("tags", [])]
    assert len(tagged) < 2
    assert cells[tagged[0] + 1 if tagged else 0].source == CHECK
