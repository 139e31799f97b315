"""An affine map whose weights can be stacked: `torch.nn.Linear` for one trial or many."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix
from acm.nn.checks import uniform
from acm.nn.product import product


class Affine(nn.Module):
    """`X W + b` for dense and sparse `X` and for stacked weights.

    Args:
        in_channels, out_channels: Features of a node, before and after.

    Attributes:
        weight: `W`, `[in_channels, out_channels]`.
        bias: `b`, `[1, out_channels]`.
    """

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(1, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both uniformly from ±1/√in_channels, as `torch.nn.Linear` does."""
        for parameter in (self.weight, self.bias):
            uniform(parameter, self.weight.shape[-2])

    def forward(self, x: Tensor | SparseMatrix) -> Tensor:
        """`X W + b`, `[N, out_channels]`."""
        return product(x, self.weight) + self.bias
