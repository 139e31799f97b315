"""Build the book, warnings being errors, and hold the outcome against what a book must be."""

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
    """Build `root`'s book into `output/_build/html`; what is wrong with it, line by line."""
    build = output / "_build"
    ran = subprocess.run(
        [sys.executable, "-c", JUPYTER_BOOK, "build", root, "--path-output", output]
        + ["-W", "-n", "--keep-going", "--quiet"],
        text=True,
        capture_output=True,
    )
    if ran.returncode:
        said = re.sub(r"\x1b\[[\d;]*m", "", ran.stderr or ran.stdout).strip().splitlines()
        found = [line for line in said if "WARNING" in line or "ERROR" in line] or said
    else:
        found = problems(root, build / "html")
    if found:
        # A page that was read would not be read again, and its warning not be repeated.
        shutil.rmtree(build / ".doctrees", ignore_errors=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2])
    parser.add_argument("--output", type=Path, help="the folder of _build (default: the root)")
    options = parser.parse_args()
    root = options.root.resolve()
    output = (options.output or root).resolve()
    if found := make(root, output):
        print("\n".join(found), file=sys.stderr)
        return 2
    index = output / "_build" / "html" / "index.html"
    print(f"The book: {index}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
