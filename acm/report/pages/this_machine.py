"""Describe this machine, for the book or a bug report."""

from __future__ import annotations

import importlib.metadata
import os
import platform

import torch

from acm.experiments.store import commit, processor

_PACKAGES = ("torch", "torch-geometric", "numpy", "scipy", "pandas", "matplotlib")


def environment() -> dict[str, str]:
    """Return the versions of Python and the packages, the commit, the CPU and the GPU."""
    facts = {"Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}"}
    facts |= {package: importlib.metadata.version(package) for package in _PACKAGES}
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return facts | {
        "commit": commit() or "not a Git checkout",
        "CPU": f"{processor()}, {os.cpu_count()} cores, {torch.get_num_threads()} in use",
        "GPU": gpu,
    }
