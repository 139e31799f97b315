"""The repository as a project: one place for each fact, and nothing of one machine in it."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def tracked() -> dict[str, str]:
    """The tracked text files."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    texts = {}
    for name in filter(None, listed.stdout.split("\0")):
        try:
            texts[name] = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
    return texts


def test_no_file_names_a_folder_of_one_machine():
    folder = re.compile(r"(?<![\w.:/}])/(?:work|root|home|Users|mnt|opt)/[\w.]+")
    found = {name: folder.findall(text) for name, text in tracked().items()}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_no_file_names_a_package_index():
    # Written so that this file does not name them either.
    hosts = [
        "pypi" + ".org", "python" + "hosted.org", "debian" + ".org", "npm" + "js.org",
        "conda.ana" + "conda.org", "download." + "pytorch.org",
    ]  # fmt: skip
    found = {(name, host) for name, text in tracked().items() for host in hosts if host in text}
    assert found == set()


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_version_is_pinned_once_and_in_one_place():
    extras = project()["optional-dependencies"]
    pins = [r.split("==") for extra in extras.values() for r in extra if "==" in r]
    names = [name for name, _ in pins]
    assert len(names) == len(set(names))

    # Each dependency is pinned; the tools are pinned where they are asked for.
    asked = {re.match(r"[\w-]+", text)[0] for text in project()["dependencies"]}
    assert asked == {pin.split("==")[0] for pin in extras["pinned"]}
    for extra in ("book", "test"):
        assert all("==" in text or text == "acm[pinned]" for text in extras[extra]), extra
        assert "acm[pinned]" in extras[extra]

    elsewhere = {
        name: re.findall(rf"\b(?:{'|'.join(names)})==\d[\w.]*", text)
        for name, text in tracked().items()
        if name != "pyproject.toml"
    }
    assert {name: found for name, found in elsewhere.items() if found} == {}


def test_conda_users_get_the_same_environment():
    given = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert given["dependencies"][-1] == {"pip": ["-e .[book,test]"]}
    (python,) = [text for text in given["dependencies"] if str(text).startswith("python")]
    assert python.startswith("python" + project()["requires-python"])


def test_the_citation_is_valid_and_prefers_the_paper():
    given = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert given["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license"} <= given.keys()
    paper = given["preferred-citation"]
    assert paper["type"] == "article" and paper["year"] == 2021
    surnames = [author["family-names"] for author in paper["authors"]]
    assert surnames == ["Luan", "Hua", "Lu", "Zhu", "Zhao", "Zhang", "Chang", "Precup"]
    # The book's bibliography and the citation file name the same paper.
    entry = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    assert paper["title"] in entry and paper["journal"] in entry


def test_code_and_prose_have_their_licences():
    assert project()["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert "CC-BY-4.0" in (ROOT / "book" / "LICENSE").read_text(encoding="utf-8")


def test_the_code_is_clean():
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "."], cwd=ROOT, capture_output=True
    )
    assert ran.returncode == 0, ran.stdout.decode()


def test_imports_follow_the_contracts():
    code = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    ran = subprocess.run([sys.executable, "-c", code, "--no-cache"], cwd=ROOT, capture_output=True)
    assert ran.returncode == 0, ran.stdout.decode()


def test_the_core_passes_the_type_checker():
    ran = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_ci_is_a_script_that_runs():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


# A stand-in for Python that keeps a diary: `make` is tested without installing anything.
STAND_IN = """\
#!/bin/sh
case "$1 $2" in
  "-c "*) exec {python} "$@" ;;
  "-m venv") shift $(($# - 1)); rm -rf "$1"; mkdir -p "$1/bin"; cp "$0" "$1/bin/python" ;;
esac
echo "$@" >> {diary}
"""


@pytest.fixture
def checkout(tmp_path):
    """A folder with what `make` reads, and a function that runs it and says what it ran."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    folder, diary = tmp_path / 'a "reader\'s" checkout', tmp_path / "diary"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    stand_in = tmp_path / "python"
    stand_in.write_text(STAND_IN.format(python=sys.executable, diary=diary))
    stand_in.chmod(0o755)

    def make(target: str, folder: Path = folder, python: Path = stand_in) -> list[str]:
        diary.write_text("")
        # The outer make's flags are not this one's.
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        ran = subprocess.run(
            ["make", "-s", target, f"PYTHON={python}"],
            cwd=folder, env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (ran.returncode, ran.stderr) == (0, "")
        return [" ".join(line.split()[:3]) for line in diary.read_text().splitlines()]

    return folder, stand_in, make


VENV, PIP, PYTEST = ".venv", "-m pip install", "-m pytest -n"


def test_make_sets_up_once(checkout):
    _, _, make = checkout
    assert make("test") == [VENV, PIP, PYTEST]
    assert make("test") == [PYTEST]
    assert make("book") == ["book/_ext/notebooks.py build", "book/_ext/make_book.py"]


def test_make_installs_again_when_the_project_changed_and_only_then(checkout):
    folder, _, make = checkout
    make("test")
    (folder / "pyproject.toml").touch()
    assert make("test") == [PYTEST]
    with (folder / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert make("test") == [PIP, PYTEST]
    assert make("test") == [PYTEST]


def test_make_starts_anew_in_a_moved_folder(checkout):
    folder, _, make = checkout
    make("test")
    moved = folder.rename(folder.with_name("moved"))
    assert make("test", moved) == [VENV, PIP, PYTEST]


def test_make_starts_anew_with_another_python(checkout, tmp_path):
    _, stand_in, make = checkout
    make("test")
    other = tmp_path / "other-python"
    other.write_text(stand_in.read_text().replace("exec", "echo 1; exit;", 1))
    other.chmod(0o755)
    assert make("test", python=other) == [VENV, PIP, PYTEST]


def test_make_resumes_where_an_installation_was_cut_off(checkout, tmp_path):
    folder, stand_in, make = checkout
    make("test")
    for stamp in (folder / ".venv").glob("made-*-*"):
        stamp.unlink()
    assert make("test") == [PIP, PYTEST]
