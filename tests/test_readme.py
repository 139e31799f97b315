"""What the README tells a newcomer to type works: its blocks are run here, in their order."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(
    r"^```(bash|python)\n(.*?)^```$",
    (ROOT / "README.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE | re.DOTALL,
)
#: Not run here: CI runs the one, and of the other test_build.py runs each step.
ELSEWHERE = {"make test\n", "make book\n"}


def test_the_two_commands_are_targets_that_ci_and_the_build_test_run():
    assert ELSEWHERE < {text for kind, text in BLOCKS if kind == "bash"}
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").endswith("exec make test\n")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    steps = re.search(r"^book:.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE)[1]
    assert steps == "\t@python book/_ext/notebooks.py build\n\t@python book/_ext/make_book.py\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a reader stands: a folder that has the book's notebooks."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "book").symlink_to(ROOT / "book")
    return folder


@pytest.mark.data
@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, text in BLOCKS if text not in ELSEWHERE]
)
def test_a_block_runs(folder, kind, text):
    programs = str(Path(sys.executable).parent)
    env = {
        **os.environ,
        "PATH": os.pathsep.join([programs, os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "TQDM_DISABLE": "1",
    }
    if kind == "python":
        command = [sys.executable, "-c", text]
    else:
        # Where the package is not installed its command is not there either.
        installed = Path(programs, "acm").exists()
        command = f'acm() {{ "{sys.executable}" -m acm "$@"; }}\n' * (not installed) + text
        command = ["bash", "-euo", "pipefail", "-c", command]
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
