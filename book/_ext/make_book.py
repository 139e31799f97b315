"""Build the book and check the built pages. A warning counts as an error."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from check_book import problems

JUPYTER_BOOK = "from jupyter_book.cli.main import main; main(prog_name='jupyter-book')"


def make(root: Path, output: Path) -> list[str]:
    """Build the book of `root` into `output/_build/html`; return one line per fault."""
    build = output / "_build"
    ran = subprocess.run(
        [sys.executable, "-c", JUPYTER_BOOK, "build", root, "--path-output", output]
        + ["-W", "-n", "--keep-going", "--quiet"],
        text=True,
        capture_output=True,
    )
    if ran.returncode:
        lines = re.sub(r"\x1b\[[\d;]*m", "", ran.stderr or ran.stdout).strip().splitlines()
        faults = [line for line in lines if "WARNING" in line or "ERROR" in line] or lines
    else:
        faults = problems(root, build / "html")
    if faults:
        # Without the cache, the next build reads every page again and repeats its warnings.
        shutil.rmtree(build / ".doctrees", ignore_errors=True)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--output", type=Path, help="folder that gets _build (default: the root)")
    options = parser.parse_args()
    root = options.root.resolve()
    output = (options.output or root).resolve()
    if faults := make(root, output):
        print("\n".join(faults), file=sys.stderr)
        return 2
    index = output / "_build" / "html" / "index.html"
    print(f"The book: {index}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
