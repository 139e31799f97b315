"""What an executed notebook depends on: its imports, followed to the end."""

from pathlib import Path

import pytest

from closure import closure


@pytest.fixture
def package(tmp_path: Path) -> Path:
    files = {
        "pkg/__init__.py": "",
        "pkg/top.csv": "a\n1\n",
        "pkg/errors.py": "",
        "pkg/data/__init__.py": "HOME = {'load': 'pkg.data.graphs:load'}\n",
        "pkg/data/graphs.py": "def load():\n    from .files import fetch\n",
        "pkg/data/files.py": "from ..errors import Fault\n",
        "pkg/data/tables/registry.csv": "a\n1\n",
        "pkg/nn/__init__.py": "from pkg.nn.conv import Conv\n",
        "pkg/nn/conv.py": "import numpy\n",
        "pkg/nn/weights.json": "{}",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def names(root: Path, code: str) -> set[str]:
    return {path.relative_to(root).as_posix() for path in closure(root, "pkg", code)}


def test_nothing_of_the_package_is_imported(package):
    assert names(package, "import numpy\nfrom os import path") == set()


def test_an_import_brings_its_packages_and_their_data(package):
    assert names(package, "from pkg.nn import Conv") == {
        "pkg/__init__.py", "pkg/top.csv", "pkg/nn/__init__.py", "pkg/nn/conv.py",
        "pkg/nn/weights.json",
    }  # fmt: skip


def test_lazy_relative_and_inner_imports_are_followed(package):
    assert names(package, "def f():\n    import pkg.data") == {
        "pkg/__init__.py", "pkg/top.csv", "pkg/errors.py", "pkg/data/__init__.py",
        "pkg/data/graphs.py", "pkg/data/files.py", "pkg/data/tables/registry.csv",
    }  # fmt: skip


def test_a_word_that_is_also_the_name_of_a_module_is_no_import(package):
    assert "pkg/nn/conv.py" not in names(package, "import pkg\nkind = 'nn'\nother = 'data.files'")


def test_a_circle_of_imports_ends(package):
    (package / "pkg/nn/conv.py").write_text("import pkg.data.files\n")
    (package / "pkg/data/files.py").write_text("import pkg.nn\n")
    assert "pkg/data/files.py" in names(package, "import pkg.nn")
