"""One row of a results file: what was asked, what came out, and where."""

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
class Seen(Trial):
    """What training and validation saw of a trial.

    Attributes:
        val_accuracy: Validation accuracy at the selected epoch, from 0 to 1.
        val_loss: Validation loss there.
        best_epoch: The selected epoch, counted from 0.
        epochs: How many were run.
        seconds: The trial's share of the time that its batch took.
        stacked: Whether its weights were stacked with those of other trials, if there were any;
            a model that does not allow it is trained one trial at a time.
    """

    val_accuracy: float
    val_loss: float
    best_epoch: int
    epochs: int
    seconds: float
    stacked: bool

    @property
    def trial(self) -> Trial:
        """What was asked, without what came out."""
        return Trial(**{f.name: getattr(self, f.name) for f in fields(Trial)})


@dataclass(frozen=True)
class Tested(Seen):
    """The same with what the test set says.

    Attributes:
        test_accuracy: Test accuracy at the selected epoch, from 0 to 1.
    """

    test_accuracy: float


@dataclass(frozen=True)
class Where:
    """Where a trial ran.

    Attributes:
        device: `cpu` or `cuda`, and the processor's name.
        threads: How many CPU threads shared the work of its batch.
        versions: Of Python, PyTorch and this package, and of what compiled the loops, if any.
        commit: Of this package, `+` if its code had uncommitted changes; empty outside a checkout.
    """

    device: str
    threads: int
    versions: str
    commit: str


@dataclass(frozen=True)
class Validation(Where, Seen):
    """A finished trial of a search, which sees no test label."""


@dataclass(frozen=True)
class Record(Where, Tested):
    """A finished trial."""

    @property
    def outcome(self) -> tuple:
        """What came out, without how long it took and where: the same wherever rounding is."""
        names = ("val_accuracy", "test_accuracy", "val_loss", "best_epoch", "epochs")
        return tuple(getattr(self, name) for name in names)


def where(device: torch.device, threads: int) -> dict[str, str | int]:
    """The fields of a record that say where a trial runs, and on how many threads."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor()
    versions = (
        f"python {platform.python_version()}, torch {torch.__version__.split('+')[0]},"
        f" {kernels.compiler()}, acm {acm.__version__}"
    )
    return dict(
        device=f"{device.type}: {name}",
        threads=threads,
        versions=versions,
        commit=commit(),
    )


@functools.cache
def processor() -> str:
    """The CPU, as the system names it, with family and model: by name alone two that round
    otherwise can be one."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    said: dict[str, str] = {}
    for key, _, value in (line.partition(":") for line in lines):
        said.setdefault(key.strip(), value.strip())
    name = said.get("model name") or platform.processor() or platform.machine()
    kind = ", ".join(f"{k.split()[-1]} {said[k]}" for k in ("cpu family", "model") if k in said)
    return f"{name} ({kind})" if kind else name


@functools.cache
def commit() -> str:
    """The commit of the package's code, `+` if it was changed since; empty if there is none."""
    package = Path(acm.__file__).parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(package), *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    try:
        # An installed copy may lie inside somebody else's checkout: ask for our own file there.
        if not git("ls-files", "__init__.py"):
            return ""
        changed = git("status", "--porcelain", "--", ".")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
