"""List the files of a package that a piece of code depends on, without running the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

DATA_FILES = (".csv", ".json", ".npz")


def closure(root: Path, package: str, code: str) -> list[Path]:
    """Return the modules of `root/package` that `code` imports, and the data files beside them."""
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
    for room in {path.parent for path in files}:
        # The package's folder contains all rooms, so only the files directly in it count.
        inner = room.glob("*") if room == root / package else room.rglob("*")
        files |= {path for path in inner if path.suffix in DATA_FILES}
    return sorted(files)


def _modules(root: Path, package: str) -> dict[str, Path]:
    """Map the dotted name of every module of the package to its file."""
    found = {}
    for path in sorted(root.glob(f"{package}/**/*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _known(names: Iterable[str], modules: dict[str, Path]) -> Iterator[str]:
    """Yield the modules in each name: `acm.nn.gcnii.GCNII` has `acm`, `acm.nn`, `acm.nn.gcnii`."""
    for name in names:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            if (prefix := ".".join(parts[:end])) in modules:
                yield prefix


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield every dotted name that a syntax tree imports, also inside functions.

    A text such as "acm.nn.gcnii:GCNII" or "acm.nn" names a module that is imported when needed.
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
