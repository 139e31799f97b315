import re
from pathlib import Path

import nbformat
import pytest

from notebooks import Notebook, NotebookError, Project, build, check, main, settle, write

ROOT = Path(__file__).parents[2]

SOURCE = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
acm:
  reads: [results/table.csv]
---

# A page

Text $x$.

```{code-cell} ipython3
:tags: [parameters]

level = 3
```

```{code-cell} ipython3
import matplotlib.pyplot as plt
from lib.used import VALUE

print(level * VALUE, {"b", "a", "c"})
for step in range(20):
    print(step, flush=True)
axes = plt.figure().add_subplot()
axes.set_title("a figure");axes.plot([0, 1], [level, 0])[0].get_label()
```
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Project:
    files = {
        "notebooks/page.md": SOURCE,
        "lib/__init__.py": "",
        "lib/used.py": "from lib.deep import VALUE\n",
        "lib/deep.py": "VALUE = 7\n",
        "lib/unrelated.py": "OTHER = 1\n",
        "lib/table.csv": "a\n1\n",
        "results/table.csv": "a\n1\n",
        "results/other.csv": "a\n1\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Project(tmp_path, package="lib")


def page(project: Project) -> Notebook:
    return project.sources[0]


@pytest.mark.parametrize(
    "name",
    ["notebooks/page.md", "lib/used.py", "lib/deep.py", "lib/table.csv", "results/table.csv"],
)
def test_the_key_follows_what_the_outputs_follow_from(project, name):
    before = page(project).key
    path = project.root / name
    path.write_text(path.read_text() + "\n")
    assert page(project).key != before


@pytest.mark.parametrize("name", ["lib/unrelated.py", "results/other.csv"])
def test_the_key_does_not_follow_anything_else(project, name):
    before = page(project).key
    path = project.root / name
    path.write_text(path.read_text() + "\n")
    assert page(project).key == before


def test_the_key_is_the_same_elsewhere_and_with_other_line_ends(project, tmp_path_factory):
    other = tmp_path_factory.mktemp("elsewhere")
    for path in project.root.rglob("*"):
        if path.is_file():
            copy = other / path.relative_to(project.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert page(Project(other, package="lib")).key == page(project).key


def test_what_it_reads_must_be_there(project):
    (project.root / "results/table.csv").unlink()
    with pytest.raises(NotebookError, match="page: reads results/table.csv, which does not exist"):
        _ = page(project).key


def test_execution_repeats_to_the_byte_and_only_when_stale(project, capsys):
    assert check(project) == ["page: never executed; run `make book`"]
    build(project)
    first = page(project).target.read_bytes()
    assert check(project) == []
    assert re.fullmatch(r"page: executing \.\.\. \d+ s\n", capsys.readouterr().out)

    build(project)
    assert capsys.readouterr().out == "1 executed notebook up to date\n"

    build(project, "all")
    assert page(project).target.read_bytes() == first

    notebook = nbformat.reads(first.decode(), as_version=4)
    nbformat.validate(notebook)
    printed, _, figure = notebook.cells[2].outputs
    assert printed.text.startswith("21 {") and printed.text.endswith("18\n19\n")
    assert "image/png" in figure.data

    (project.root / "lib/deep.py").write_text("VALUE = 8\n")
    assert check(project) == ["page: stale, the source or a file it depends on changed"]
    build(project)
    assert "24 {" in page(project).target.read_text()


def test_an_error_is_one_line_and_leaves_the_old_notebook(project, capsys):
    write(page(project).target, "the old one\n")
    source = project.root / "notebooks/page.md"
    source.write_text(SOURCE.replace("level * VALUE", "1 / 0"))
    with pytest.raises(NotebookError) as raised:
        build(project, "all")
    assert str(raised.value) == "page, cell 2: ZeroDivisionError: division by zero"
    assert [path.name for path in page(project).target.parent.iterdir()] == ["page.ipynb"]
    assert page(project).target.read_text() == "the old one\n"


def test_a_dead_kernel_is_one_line(project, capsys):
    source = project.root / "notebooks/page.md"
    source.write_text(SOURCE.replace("level * VALUE", "__import__('os')._exit(1)"))
    assert main(["build", "--root", str(project.root)]) == 2
    fault = capsys.readouterr().err.strip().splitlines()[-1]
    assert fault.startswith("page: its kernel died")


def test_the_command_line_ends_with_2_and_one_line(project, capsys, monkeypatch):
    assert main(["check", "--root", str(project.root)]) == 2
    (project.root / "results/table.csv").unlink()
    assert main(["build", "--root", str(project.root)]) == 2
    assert capsys.readouterr().err == "page: reads results/table.csv, which does not exist\n"


def test_without_its_data_the_committed_notebook_is_kept(project, capsys, monkeypatch):
    monkeypatch.setattr("notebooks.data_fault", lambda needs: "no graph here" if needs else None)
    source = project.root / "notebooks/page.md"
    source.write_text(SOURCE.replace("acm:\n", "acm:\n  needs: [cornell]\n"))
    with pytest.raises(NotebookError, match="page: never executed, and no graph here"):
        build(project)
    write(page(project).target, nbformat.writes(page(project).content) + "\n")
    build(project)
    assert capsys.readouterr().out == "page: kept as committed: no graph here\n"


def test_check_sees_hand_edited_orphaned_and_unexecuted_notebooks(project):
    notebook = nbformat.from_dict(page(project).content)
    notebook.metadata.acm = {"key": page(project).key}
    notebook.cells[0].source += " by hand"
    notebook.cells[1].execution_count = 1
    notebook.cells[2].execution_count = 2
    write(page(project).target, nbformat.writes(notebook) + "\n")
    write(project.root / "book/nb/orphan.ipynb", nbformat.writes(notebook) + "\n")
    assert check(project) == [
        "orphan: executed, but notebooks/orphan.md does not exist",
        "page: the cells differ from the cells of the source",
    ]
    notebook.cells[0].source = page(project).content.cells[0].source
    notebook.cells[1].execution_count = None
    write(page(project).target, nbformat.writes(notebook) + "\n")
    assert "page: cell 1 was not executed" in check(project)


def test_settle_merges_what_a_stream_was_cut_into():
    cell = nbformat.v4.new_code_cell("x", execution_count=1)
    cell.outputs = [
        nbformat.v4.new_output("stream", name=name, text=text)
        for name, text in [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")]
    ]
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"papermill": {}})
    settle(notebook)
    assert [(o.name, o.text) for o in cell.outputs] == [
        ("stdout", "ab"), ("stderr", "c"), ("stdout", "d"),
    ]  # fmt: skip
    assert notebook.metadata == {}


def test_sources_and_executed_notebooks_of_this_repository_agree():
    assert check(Project(ROOT)) == []
