"""Data sets, splits and the paper's synthetic graphs."""

from importlib import import_module
from typing import Any

# A name's module is imported at the name's first use, since some modules need PyTorch and PyG.
_NAMES = {
    "names": ["DATASETS", "PAPER_DATASETS"],
    "files": ["available", "fetch", "source_problem", "verify"],
    "graphs": ["load", "row_normalize"],
    "splits": ["Split", "fixed_split", "num_fixed_splits", "random_split"],
    "generator": ["HOMOPHILY_LEVELS", "inter_class_draws", "synthetic"],
    "summary": ["Summary", "describe"],
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'acm.data' has no attribute {name!r}")
    return getattr(import_module(f"acm.data.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
