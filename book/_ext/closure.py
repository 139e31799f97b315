"""List the files of a package that a piece of code depends on. The code is not executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

DATA_FILES = (".csv", ".json", ".npz")


def closure(root: Path, package: str, code: str) -> list[Path]:
    """Return the modules that `code` imports from `root/package`, and the data files near them."""
    modules = _modules(root, package)
    names, waiting = set(), set(_known(_imports(ast.parse(code), ""), modules))
    while waiting:
        name = waiting.pop()
        names.add(name)
        path = modules[name]
        inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        waiting |= set(_known(_imports(tree, inside), modules)) - names
    files = {modules[name] for name in names}
    for folder in {path.parent for path in files}:
        # The package's own folder contains all other folders, so it is not searched recursively.
        inner = folder.glob("*") if folder == root / package else folder.rglob("*")
        files |= {path for path in inner if path.suffix in DATA_FILES}
    return sorted(files)


def _modules(root: Path, package: str) -> dict[str, Path]:
    """Map the dotted name of every module of the package to its file."""
    modules = {}
    for path in sorted(root.glob(f"{package}/**/*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def _known(names: Iterable[str], modules: dict[str, Path]) -> Iterator[str]:
    """Yield every prefix of a name that is a module: `acm.nn.GCN` gives `acm` and `acm.nn`."""
    for name in names:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            if (prefix := ".".join(parts[:end])) in modules:
                yield prefix


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield every dotted name that the code imports, including imports inside functions.

    Strings such as "acm.nn.gcnii:GCNII" or "acm.nn" count too, since the code may import them late.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"[a-z_]\w*(\.[a-z_]\w*)+(:\w+)?", node.value):
                yield node.value.replace(":", ".")
