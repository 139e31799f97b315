"""How a trial is trained, stopped and read off."""

from __future__ import annotations

from dataclasses import dataclass

from acm.data.names import check_whole
from acm.errors import unknown

OPTIMIZERS = ("adam", "adamw")
SELECTIONS = ("loss", "accuracy")


@dataclass(frozen=True)
class Protocol:
    """Optimiser, length and model selection of a trial.

    Attributes:
        optimizer: `"adam"` (L2 weight decay, in the gradient) or `"adamw"` (decoupled).
        max_epochs: The most epochs there can be.
        window: Training stops at the first epoch (counted from 0) beyond `window` whose
            validation loss exceeds the mean of the `window` losses before it; `None`: never.
        select: The epoch whose predictions count: the first with the lowest validation `"loss"`
            or the highest validation `"accuracy"`.

    Raises:
        UsageError: If a word is unknown, or a number is no whole one from 1.
    """

    optimizer: str = "adam"
    max_epochs: int = 5000
    window: int | None = 200
    select: str = "loss"

    def __post_init__(self):
        if self.optimizer not in OPTIMIZERS:
            raise unknown("optimiser", self.optimizer, OPTIMIZERS)
        if self.select not in SELECTIONS:
            raise unknown("selection", self.select, SELECTIONS)
        check_whole("max_epochs", self.max_epochs, 1)
        if self.window is not None:
            check_whole("window", self.window, 1)


#: Nine of the ten graphs, as released.
RELEASED = Protocol()

#: Deezer-Europe: as Lim et al. (2021) train.
DEEZER = Protocol("adamw", max_epochs=500, window=None, select="accuracy")


def protocol_for(dataset: str) -> Protocol:
    """The protocol that the paper trains this data set with."""
    return DEEZER if dataset == "deezer-europe" else RELEASED
