"""The notebooks' one way: `notebooks/*.md`, executed, becomes the committed `book/nb/*.ipynb`.

Only the text is edited. An executed notebook carries a key: the hash of its source, of the `acm`
modules the source imports (directly or through others), of those rooms' data files and of the
result files it reads. Where the key of today is another one, the notebook is stale.

The front matter of a source says what it lives on, all optional:

    acm:
      needs: [cornell]          # graphs without which it cannot run
      reads: [results/x.csv]    # files, relative to the repository's root
      live: true                # executed at every build, never committed
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jupytext
import nbformat

from closure import closure

# What makes two executions on one kind of machine agree to the byte.
KERNEL_ENV = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "TQDM_DISABLE": "1",
    "MATPLOTLIBRC": str(Path(__file__).with_name("matplotlibrc")),
    # The kernel is this environment's, whatever a user has installed in the home folder.
    "JUPYTER_PREFER_ENV_PATH": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class NotebookError(Exception):
    """One line: which notebook, which cell, and what went wrong there."""


@dataclass(frozen=True)
class Project:
    """The folders of a repository that the notebooks live in."""

    root: Path
    package: str = "acm"

    @property
    def sources(self) -> list[Notebook]:
        return [Notebook(self, path) for path in sorted(self.root.glob("notebooks/*.md"))]


@dataclass(frozen=True)
class Notebook:
    """One source and what is made of it."""

    project: Project
    source: Path

    @property
    def stem(self) -> str:
        return self.source.stem

    @property
    def target(self) -> Path:
        return self.project.root / "book" / "nb" / f"{self.stem}.ipynb"

    @cached_property
    def content(self) -> nbformat.NotebookNode:
        """The source as a notebook without outputs, the same to the byte every time."""
        notebook = jupytext.read(self.source, fmt="md:myst")
        for index, cell in enumerate(notebook.cells):
            cell.id = f"{self.stem}-{index}"
        asked = notebook.metadata.get("acm", {})
        notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "acm": asked})
        notebook.nbformat, notebook.nbformat_minor = 4, 5
        return notebook

    @property
    def asked(self) -> dict:
        return self.content.metadata.acm

    @property
    def live(self) -> bool:
        return bool(self.asked.get("live", False))

    @property
    def key(self) -> str:
        """The hash of everything the outputs follow from."""
        code = "\n".join(
            re.sub(r"^\s*[%!].*$", "pass", cell.source, flags=re.MULTILINE)
            for cell in self.content.cells
            if cell.cell_type == "code"
        )
        root = self.project.root
        reads = [root / name for name in self.asked.get("reads", [])]
        for path in reads:
            if not path.is_file():
                name = path.relative_to(root).as_posix()
                raise NotebookError(f"{self.stem}: reads {name}, which is not there")
        digest = hashlib.sha256()
        depends = closure(root, self.project.package, code)
        for path in [self.source, *depends, *reads]:
            # Line ends are the checkout's, not the content's.
            data = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.relative_to(root).as_posix()}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()[:32]

    def executed(self) -> nbformat.NotebookNode | None:
        """What is committed, or None."""
        return nbformat.read(self.target, as_version=4) if self.target.is_file() else None

    def stale(self) -> bool:
        """Whether the executed notebook is missing or follows from something else than today."""
        executed = self.executed()
        return executed is None or executed.metadata.get("acm", {}).get("key") != self.key

    def execute(self) -> None:
        """Run it in a fresh kernel and put the outcome in place, or leave all as it was."""
        from papermill import PapermillExecutionError, execute_notebook

        key = self.key
        try:
            with _kernel_env():
                notebook = execute_notebook(
                    nbformat.from_dict(self.content),
                    None,
                    progress_bar=False,
                    request_save_on_cell_execute=False,
                    record_timing=False,
                    cwd=self.project.root,
                    # The kernel's own log warns of every port it opens and every shutdown.
                    extra_arguments=["--log-level=CRITICAL"],
                )
        except PapermillExecutionError as error:
            last = f"{error.ename}: {error.evalue}".strip().splitlines()[-1]
            raise NotebookError(f"{self.stem}, cell {error.exec_count}: {last}") from None
        settle(notebook)
        notebook.metadata.acm = {**self.asked} if self.live else {**self.asked, "key": key}
        write(self.target, nbformat.writes(notebook, version=4) + "\n")


@contextmanager
def _kernel_env() -> Iterator[None]:
    """A kernel inherits this process's environment; afterwards it is again what it was."""
    before = dict(os.environ)
    os.environ.update(KERNEL_ENV)
    os.environ.pop("MPLBACKEND", None)  # any but the notebook's own would lose the figures
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def data_fault(needs: list[str]) -> str | None:
    """Why these graphs cannot be had, in one line; None if they can."""
    if not needs:
        return None
    from acm.data import available, source_problem
    from acm.errors import UsageError

    try:
        return None if all(available(name) for name in needs) else source_problem()
    except UsageError as error:
        return str(error)


def settle(notebook: nbformat.NotebookNode) -> None:
    """Take out of an executed notebook what differs from run to run."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        for name in ("papermill", "execution"):
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags", True):
            # Papermill gives every cell a list of tags.
            del cell.metadata["tags"]
        merged: list = []
        for output in cell.get("outputs", []):
            before = merged[-1] if merged else None
            if (
                before is not None
                and output.output_type == before.output_type == "stream"
                and output.name == before.name
            ):
                # How a stream is cut into messages depends on the machine's load.
                before.text += output.text
            else:
                merged.append(output)
        if "outputs" in cell:
            cell.outputs = merged


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all; one that would not change is left alone."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def build(project: Project, which: str = "stale") -> None:
    """Execute what is missing or stale and what is live; `which`: "stale", "all" or "live"."""
    fresh = 0
    for notebook in project.sources:
        if not notebook.live and (which == "live" or (which == "stale" and not notebook.stale())):
            fresh += 1
            continue
        if fault := data_fault(notebook.asked.get("needs", [])):
            if not notebook.target.is_file():
                raise NotebookError(f"{notebook.stem}: never executed, and {fault}")
            print(f"{notebook.stem}: kept as committed, for {fault}")
            continue
        print(f"{notebook.stem}: executing ...", end=" ", flush=True)
        start = time.monotonic()
        try:
            notebook.execute()
        except NotebookError:
            print("failed", flush=True)
            raise
        print(f"{time.monotonic() - start:.0f} s", flush=True)
    if fresh and which == "stale":
        print(f"{fresh} executed notebook{'s' * (fresh > 1)} up to date")


def check(project: Project) -> list[str]:
    """Without executing: each way in which sources and executed notebooks disagree, in a line."""
    found = []
    sources = project.sources
    stems = {notebook.stem for notebook in sources}
    for path in sorted(project.root.glob("book/nb/*.ipynb")):
        if path.stem not in stems:
            found.append(f"{path.stem}: executed, but notebooks/{path.stem}.md is not there")
    for notebook in sources:
        if notebook.live:
            continue
        if (executed := notebook.executed()) is None:
            found.append(f"{notebook.stem}: never executed; `make book` does it")
            continue
        want = [(c.cell_type, c.id, c.source) for c in notebook.content.cells]
        have = [(c.cell_type, c.get("id"), c.source) for c in executed.cells]
        if want != have:
            found.append(f"{notebook.stem}: its cells are not those of its source")
        elif executed.metadata.get("acm", {}).get("key") != notebook.key:
            found.append(f"{notebook.stem}: stale, its source or the code it imports changed")
        for index, cell in enumerate(executed.cells):
            if cell.cell_type != "code":
                continue
            if cell.execution_count is None and cell.source.strip():
                found.append(f"{notebook.stem}: cell {index} was not executed")
            if cell.source.rstrip().endswith(";"):
                found.append(f"{notebook.stem}: cell {index} ends in a semicolon, unknown to nbval")
            if any(output.output_type == "error" for output in cell.outputs):
                found.append(f"{notebook.stem}: cell {index} ended in an error")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "command",
        choices=["build", "all", "live", "check"],
        help="build: what is missing, stale or live; all: everything; live: only that; "
        "check: say without executing whether sources and executed notebooks agree",
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2])
    options = parser.parse_args(arguments)
    project = Project(options.root.resolve())
    try:
        if options.command == "check":
            found = check(project)
            print("\n".join(found) or "sources and executed notebooks agree")
            return 2 if found else 0
        build(project, "stale" if options.command == "build" else options.command)
    except NotebookError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
