"""How a trial is trained, stopped and read off."""

from __future__ import annotations

from dataclasses import dataclass


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
    """

    optimizer: str = "adam"
    max_epochs: int = 5000
    window: int | None = 200
    select: str = "loss"


#: Nine of the ten graphs, as released.
RELEASED = Protocol()

#: Deezer-Europe: as Lim et al. (2021) train.
DEEZER = Protocol("adamw", max_epochs=500, window=None, select="accuracy")


def protocol_for(dataset: str) -> Protocol:
    """The protocol that the paper trains this data set with."""
    return DEEZER if dataset == "deezer-europe" else RELEASED
