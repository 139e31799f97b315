"""Execute the sources `notebooks/*.md` and write the notebooks `book/nb/*.ipynb`.

People edit only the sources. An executed notebook stores a key. The key is a hash of the source, of
all `acm` modules that the source imports (directly or indirectly), of the data files in the folders
of these modules, and of the result files that the source reads. If the key changes, the notebook is
stale. The front matter of a source has three optional entries:

    acm:
      needs: [cornell]          # graphs that the notebook cannot run without
      reads: [results/x.csv]    # files, relative to the root of the repository
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

# With these variables, two executions on similar machines give identical bytes.
KERNEL_ENV = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": "0",
    "TQDM_DISABLE": "1",
    "MATPLOTLIBRC": str(Path(__file__).with_name("matplotlibrc")),
    # Use the kernel of this environment and not a kernel in the user's home folder.
    "JUPYTER_PREFER_ENV_PATH": "1",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


class NotebookError(Exception):
    """Report in one line which notebook and cell failed, and why."""


@dataclass(frozen=True)
class Project:
    """A repository with notebooks, and its package."""

    root: Path
    package: str = "acm"

    @property
    def sources(self) -> list[Notebook]:
        return [Notebook(self, path) for path in sorted(self.root.glob("notebooks/*.md"))]


@dataclass(frozen=True)
class Notebook:
    """A source file and its executed notebook."""

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
        """Convert the source to a notebook without outputs. The result is always the same."""
        notebook = jupytext.read(self.source, fmt="md:myst")
        for index, cell in enumerate(notebook.cells):
            cell.id = f"{self.stem}-{index}"
        entries = notebook.metadata.get("acm", {})
        notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "acm": entries})
        notebook.nbformat, notebook.nbformat_minor = 4, 5
        return notebook

    @property
    def entries(self) -> dict:
        return self.content.metadata.acm

    @property
    def live(self) -> bool:
        return bool(self.entries.get("live", False))

    @property
    def key(self) -> str:
        """Return the hash of all files that the outputs depend on."""
        code = "\n".join(
            re.sub(r"^\s*[%!].*$", "pass", cell.source, flags=re.MULTILINE)
            for cell in self.content.cells
            if cell.cell_type == "code"
        )
        root = self.project.root
        reads = [root / name for name in self.entries.get("reads", [])]
        for path in reads:
            if not path.is_file():
                name = path.relative_to(root).as_posix()
                raise NotebookError(f"{self.stem}: reads {name}, which does not exist")
        digest = hashlib.sha256()
        depends = closure(root, self.project.package, code)
        for path in [self.source, *depends, *reads]:
            # The key must not depend on the line ends that git writes on this machine.
            data = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.relative_to(root).as_posix()}\0{len(data)}\0".encode() + data)
        return digest.hexdigest()[:32]

    def executed(self) -> nbformat.NotebookNode | None:
        """Return the executed notebook, or None if it does not exist."""
        return nbformat.read(self.target, as_version=4) if self.target.is_file() else None

    def stale(self) -> bool:
        """Return whether the executed notebook is missing or has an old key."""
        executed = self.executed()
        return executed is None or executed.metadata.get("acm", {}).get("key") != self.key

    def execute(self) -> None:
        """Execute the notebook in a new kernel and write it. If a cell fails, write nothing."""
        from nbclient.exceptions import DeadKernelError
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
                    # The kernel would log a warning for every port and every shutdown.
                    extra_arguments=["--log-level=CRITICAL"],
                )
        except PapermillExecutionError as error:
            last = f"{error.ename}: {error.evalue}".strip().splitlines()[-1]
            raise NotebookError(f"{self.stem}, cell {error.exec_count}: {last}") from None
        except DeadKernelError:
            fault = "its kernel died, for example for lack of memory: run the build again"
            raise NotebookError(f"{self.stem}: {fault}") from None
        settle(notebook)
        notebook.metadata.acm = {**self.entries} if self.live else {**self.entries, "key": key}
        write(self.target, nbformat.writes(notebook, version=4) + "\n")


@contextmanager
def _kernel_env() -> Iterator[None]:
    """Set the environment variables that a new kernel inherits, and restore them afterwards."""
    before = dict(os.environ)
    os.environ.update(KERNEL_ENV)
    os.environ.pop("MPLBACKEND", None)  # another backend would not show the figures
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def data_fault(needs: list[str]) -> str | None:
    """Return one line that says why the graphs are not available, or None if they are."""
    if not needs:
        return None
    from acm.data import available, source_problem
    from acm.errors import UsageError

    try:
        return None if all(available(name) for name in needs) else source_problem()
    except UsageError as error:
        return str(error)


def settle(notebook: nbformat.NotebookNode) -> None:
    """Remove everything from an executed notebook that differs between executions."""
    notebook.metadata.pop("papermill", None)
    notebook.metadata.get("language_info", {}).pop("version", None)
    for cell in notebook.cells:
        for name in ("papermill", "execution"):
            cell.metadata.pop(name, None)
        if not cell.metadata.get("tags", True):
            # Papermill adds an empty list of tags to every cell.
            del cell.metadata["tags"]
        merged: list = []
        for output in cell.get("outputs", []):
            before = merged[-1] if merged else None
            if (
                before is not None
                and output.output_type == before.output_type == "stream"
                and output.name == before.name
            ):
                # The load of the machine decides how a stream is split into messages.
                before.text += output.text
            else:
                merged.append(output)
        if "outputs" in cell:
            cell.outputs = merged


def write(path: Path, text: str) -> None:
    """Write a file completely or not at all. A file that already has this text is not touched."""
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
    """Execute the notebooks that `which` selects: "stale" (and missing or live), "all", "live"."""
    fresh = 0
    for notebook in project.sources:
        if not notebook.live and (which == "live" or (which == "stale" and not notebook.stale())):
            fresh += 1
            continue
        if fault := data_fault(notebook.entries.get("needs", [])):
            if not notebook.target.is_file():
                raise NotebookError(f"{notebook.stem}: never executed, and {fault}")
            print(f"{notebook.stem}: kept as committed: {fault}")
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
    """Compare sources and executed notebooks without executing; return one line per difference."""
    faults = []
    sources = project.sources
    stems = {notebook.stem for notebook in sources}
    for path in sorted(project.root.glob("book/nb/*.ipynb")):
        if path.stem not in stems:
            faults.append(f"{path.stem}: executed, but notebooks/{path.stem}.md does not exist")
    for notebook in sources:
        if notebook.live:
            continue
        if (executed := notebook.executed()) is None:
            faults.append(f"{notebook.stem}: never executed; run `make book`")
            continue
        want = [(c.cell_type, c.id, c.source) for c in notebook.content.cells]
        have = [(c.cell_type, c.get("id"), c.source) for c in executed.cells]
        if want != have:
            faults.append(f"{notebook.stem}: the cells differ from the cells of the source")
        elif executed.metadata.get("acm", {}).get("key") != notebook.key:
            faults.append(f"{notebook.stem}: stale, the source or a file it depends on changed")
        for index, cell in enumerate(executed.cells):
            if cell.cell_type != "code":
                continue
            if cell.execution_count is None and cell.source.strip():
                faults.append(f"{notebook.stem}: cell {index} was not executed")
            if cell.source.rstrip().endswith(";"):
                faults.append(f"{notebook.stem}: cell {index} ends in a semicolon (not for nbval)")
            if any(output.output_type == "error" for output in cell.outputs):
                faults.append(f"{notebook.stem}: cell {index} ended in an error")
    return faults


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "command",
        choices=["build", "all", "live", "check"],
        help="execute the missing, stale and live notebooks (build), all notebooks (all) or the "
        "live notebooks (live), or compare sources with executed notebooks (check)",
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2])
    options = parser.parse_args(arguments)
    project = Project(options.root.resolve())
    try:
        if options.command == "check":
            faults = check(project)
            print("\n".join(faults) or "sources and executed notebooks agree")
            return 2 if faults else 0
        build(project, "stale" if options.command == "build" else options.command)
    except NotebookError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
