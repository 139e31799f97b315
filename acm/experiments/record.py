"""The record of a finished trial: what was asked, what came out, and where it ran."""

from __future__ import annotations

import functools
import platform
import subprocess
from dataclasses import dataclass, fields
from pathlib import Path

import torch

import acm
from acm import kernels
from acm.experiments.trial import Trial


@dataclass(frozen=True)
class Validation(Trial):
    """A finished trial of a search, which reads no test label.

    Attributes:
        val_accuracy: Validation accuracy at the selected epoch, from 0 to 1.
        val_loss: Validation loss at the selected epoch.
        best_epoch: The selected epoch, counted from 0.
        epochs: Number of epochs that were run.
        seconds: The trial's share of the time of its batch.
        stacked: Whether the trial was trained in one loop with others, or could have been.
        device: `cpu` or `cuda`, and the name of the processor.
        threads: Number of CPU threads of its batch.
        versions: Versions of Python, PyTorch, the compiler of the loops, and this package.
        commit: Commit of this package; `+` after it if the code had uncommitted changes.
    """

    val_accuracy: float
    val_loss: float
    best_epoch: int
    epochs: int
    seconds: float
    stacked: bool
    device: str
    threads: int
    versions: str
    commit: str

    @property
    def trial(self) -> Trial:
        """Return what was asked, without the outcome."""
        return Trial(**{f.name: getattr(self, f.name) for f in fields(Trial)})


@dataclass(frozen=True)
class Record(Validation):
    """A finished trial with its test accuracy.

    Attributes:
        test_accuracy: Test accuracy at the selected epoch, from 0 to 1.
    """

    test_accuracy: float

    @property
    def outcome(self) -> tuple:
        """Return what is the same on every machine that rounds alike: no time and no place."""
        names = ("val_accuracy", "test_accuracy", "val_loss", "best_epoch", "epochs")
        return tuple(getattr(self, name) for name in names)


def provenance(device: torch.device, threads: int) -> dict[str, str | int]:
    """Return the fields of a record that say where it was made."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor()
    versions = (
        f"python {platform.python_version()}, torch {torch.__version__.split('+')[0]},"
        f" {kernels.compiler()}, acm {acm.__version__}"
    )
    place = {"device": f"{device.type}: {name}", "threads": threads}
    return place | {"versions": versions, "commit": commit()}


@functools.cache
def processor() -> str:
    """Return the name of the CPU with family and model; equal names can round differently."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    facts: dict[str, str] = {}
    for key, _, value in (line.partition(":") for line in lines):
        facts.setdefault(key.strip(), value.strip())
    name = facts.get("model name") or platform.processor() or platform.machine()
    kind = ", ".join(f"{k.split()[-1]} {facts[k]}" for k in ("cpu family", "model") if k in facts)
    return f"{name} ({kind})" if kind else name


@functools.cache
def commit() -> str:
    """Return the commit of the package, `+` if the code has changed since; empty if unknown."""
    package = Path(acm.__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(package), *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    try:
        # An installed copy may lie inside another checkout, which does not track this file.
        if not git("ls-files", "__init__.py"):
            return ""
        changed = git("status", "--porcelain", "--", ".")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
