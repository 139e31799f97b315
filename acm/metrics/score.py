"""The value of a metric that compares two means for each node."""

from __future__ import annotations

import torch
from torch import Tensor


class Score(float):
    """The share of nodes for which a comparison holds: a `float` with its ties as attributes.

    Attributes:
        sign: The comparison of each of the n nodes, `[n]`, int8: 1 if it holds strictly, 0 if the
            sides are equal, -1 if it fails.
        undecided: Mask `[n]` of the nodes that rounding errors leave open; the sign of an undecided
            node is 0. An exact evaluation has none.
        interval: The value without the ties and the value with the ties. The interval encloses
            both exact values if there are undecided nodes.
        ties: The share of nodes with sign 0.
    """

    sign: Tensor
    undecided: Tensor
    interval: tuple[float, float]
    ties: float
    _arguments: tuple

    def __new__(
        cls, sign: Tensor, undecided: Tensor | None = None, ties: str = ">=", modified: bool = False
    ) -> Score:
        shares = [int((sign >= least).sum()) / sign.numel() for least in (1, 0)]
        low, high = (max(2 * share - 1, 0.0) if modified else share for share in shares)
        self = super().__new__(cls, high if ties == ">=" else low)
        none = torch.zeros_like(sign, dtype=torch.bool)
        self.sign, self.undecided = sign, none if undecided is None else undecided
        self.interval, self.ties = (low, high), int((sign == 0).sum()) / sign.numel()
        self._arguments = sign, undecided, ties, modified
        return self

    def __getnewargs__(self) -> tuple:  # for copies and pickles
        return self._arguments
