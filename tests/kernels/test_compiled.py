"""The cache of machine code: an edited helper is compiled again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

numba = pytest.importorskip("numba", reason="Numba is not installed")


def test_an_edited_helper_of_a_loop_is_compiled_again(tmp_path):
    source = Path(__file__).parents[2] / "acm" / "kernels" / "loops" / "compiled.py"
    shutil.copy(source, tmp_path / "compiled.py")
    (tmp_path / "helper.py").write_text(
        "from compiled import compiled\n@compiled\ndef help(x):\n    return x + 1\n"
    )
    (tmp_path / "loop.py").write_text(
        "from compiled import compiled\nfrom helper import help\n"
        "@compiled\ndef loop(x):\n    return help(x)\n"
    )

    def run() -> str:
        code = "from loop import loop; print(loop(1))"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run() == run() == "2"
    helper = tmp_path / "helper.py"
    helper.write_text(helper.read_text().replace("x + 1", "x + 5"))
    assert run() == "6"
