"""Data sets, splits and the paper's synthetic graphs."""

from importlib import import_module
from typing import Any

# Modules are imported on first use: `names` and `files` work without PyTorch's slow import.
_MODULES = {
    "names": ["DATASETS", "PAPER_DATASETS"],
    "files": ["available", "fetch", "source_problem", "verify"],
    "graphs": ["describe", "load", "row_normalize"],
    "splits": ["Split", "fixed_split", "num_fixed_splits", "random_split"],
    "generator": ["HOMOPHILY_LEVELS", "inter_class_draws", "synthetic"],
}
__all__ = sorted(sum(_MODULES.values(), []))


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"acm.data.{module}"), name)
    raise AttributeError(f"module 'acm.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
