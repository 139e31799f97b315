"""A share of nodes that knows its ties."""

from __future__ import annotations

import torch
from torch import Tensor


class Score(float):
    """The share of nodes that fulfil a comparison: a plain `float` that also knows its ties.

    Attributes:
        sign: For each node compared, `[n]` int8: 1 where the comparison holds strictly, 0 where
            both sides are equal, -1 where it fails.
        undecided: Mask `[n]` of the nodes for which rounding errors leave open which of the three
            it is; their sign is given as 0. No node is undecided where evaluation is exact.
        interval: The value if ties count as failures, and the value if they count as successes.
            With undecided nodes it encloses what the two are in exact arithmetic.
        ties: The share of nodes with sign 0.
    """

    sign: Tensor
    undecided: Tensor
    interval: tuple[float, float]
    ties: float
    _arguments: tuple[Tensor, Tensor | None, str, bool]

    def __new__(
        cls,
        sign: Tensor,
        undecided: Tensor | None = None,
        ties: str = ">=",
        modified: bool = False,
    ) -> Score:
        total = sign.numel()
        counts = int((sign > 0).sum()), int((sign >= 0).sum())
        low, high = ((max(2 * k / total - 1, 0.0) if modified else k / total) for k in counts)
        self = super().__new__(cls, high if ties == ">=" else low)
        self.sign, self.interval, self.ties = sign, (low, high), (counts[1] - counts[0]) / total
        self.undecided = sign.new_zeros(total, dtype=torch.bool) if undecided is None else undecided
        self._arguments = sign, undecided, ties, modified
        return self

    def __getnewargs__(self) -> tuple:
        return self._arguments
