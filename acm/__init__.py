"""Adaptive channel mixing for graph neural networks, a companion to Luan et al. (2021).

The core packages are `acm.data`, `acm.filters`, `acm.metrics`, `acm.nn` and `acm.training`. Python
imports each core package on first use, so that `import acm` and `acm --help` do not load PyTorch.
"""

from importlib import import_module

__version__ = "0.1.0"

__all__ = ["data", "filters", "metrics", "nn", "training"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module 'acm' has no attribute {name!r}")
    return import_module(f"acm.{name}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
