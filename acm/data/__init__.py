"""Graphs, splits and the paper's synthetic generator.

Names are resolved when they are asked for, so that `acm.data.names` and `acm.data.files` can be
imported without PyTorch.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "DATASETS": "names",
    "PAPER_DATASETS": "names",
    "available": "files",
    "fetch": "files",
    "source_problem": "files",
    "verify": "files",
    "load": "graphs",
    "row_normalize": "graphs",
    "Split": "splits",
    "fixed_split": "splits",
    "num_fixed_splits": "splits",
    "random_split": "splits",
    "HOMOPHILY_LEVELS": "generator",
    "inter_class_draws": "generator",
    "synthetic": "generator",
    "Summary": "summary",
    "describe": "summary",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'acm.data' has no attribute {name!r}")
    return getattr(import_module(f"acm.data.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
