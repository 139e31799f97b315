"""Define the training rule: optimizer, number of epochs, stopping and epoch selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acm.errors import check_whole, unknown


@dataclass(frozen=True)
class TrainingProtocol:
    """Describe how every trial is trained and how an epoch is selected.

    Attributes:
        optimizer: `"adam"` (L2 weight decay, in the gradient) or `"adamw"` (decoupled).
        max_epochs: Largest number of epochs.
        window: Training stops if the validation loss exceeds the mean of the previous `window`
            losses, from epoch `window + 1` on (counted from 0). `None` turns this rule off.
        select: The selected epoch is the first with the lowest validation `"loss"` or with the
            highest validation `"accuracy"`.
        name: Name of the rule.

    Raises:
        UsageError: If a name is unknown, or a number is not a whole number of 1 or more.
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
        """Return a score that is largest at the selected epoch."""
        return -val_loss if self.select == "loss" else val_accuracy

    def should_stop(self, val_losses: Sequence[float]) -> bool:
        """Return whether training stops, given the validation losses of all epochs until now."""
        if self.window is None or len(val_losses) <= self.window + 1:
            return False
        return val_losses[-1] > sum(val_losses[-self.window - 1 : -1]) / self.window


#: The rule of the authors' released code.
RELEASED = TrainingProtocol(name="released")
