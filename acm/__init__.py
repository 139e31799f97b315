"""Adaptive Channel Mixing for graph neural networks: the companion to Luan et al. (2021).

`acm.data`, `acm.filters`, `acm.metrics`, `acm.nn` and `acm.training` are the core. They are
imported on first use, so that `import acm` and `acm --help` do not import PyTorch.
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
