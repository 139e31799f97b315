"""The training rule: optimizer, length, stopping and selection of a training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acm.errors import check_whole, unknown


@dataclass(frozen=True)
class TrainingProtocol:
    """A training rule.

    Attributes:
        optimizer: `"adam"` (L2 weight decay, in the gradient) or `"adamw"` (decoupled).
        max_epochs: Largest number of epochs.
        window: Training stops when the validation loss exceeds the mean of the last `window`
            losses before it, at epoch `window + 1` (counted from 0) or later; `None` for never.
        select: The selected epoch is the first with the lowest validation `"loss"` or with the
            highest validation `"accuracy"`.
        name: Name of the rule.

    Raises:
        UsageError: If a word is unknown, or a number is not a whole number from 1.
    """

    optimizer: str = "adam"
    max_epochs: int = 5000
    window: int | None = 200
    select: str = "loss"
    name: str = ""

    def __post_init__(self):
        if self.optimizer not in ("adam", "adamw"):
            raise unknown("optimizer", self.optimizer, ("adam", "adamw"))
        if self.select not in ("loss", "accuracy"):
            raise unknown("selection", self.select, ("loss", "accuracy"))
        check_whole("max_epochs", self.max_epochs, 1)
        if self.window is not None:
            check_whole("window", self.window, 1)

    def score(self, val_loss: float, val_accuracy: float) -> float:
        """Return what is largest at the selected epoch."""
        return -val_loss if self.select == "loss" else val_accuracy

    def should_stop(self, val_losses: Sequence[float]) -> bool:
        """Return whether training ends after the epoch of the last of all validation losses."""
        if self.window is None or len(val_losses) <= self.window + 1:
            return False
        return val_losses[-1] > sum(val_losses[-self.window - 1 : -1]) / self.window


#: The rule of the authors' released code.
RELEASED = TrainingProtocol(name="released")
