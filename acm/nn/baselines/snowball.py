"""Snowball networks: every layer sees the features and all layers before."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.affine import Affine
from acm.nn.baselines.base import Baseline
from acm.nn.checks import uniform
from acm.nn.dropout import Dropout
from acm.nn.each import each
from acm.nn.product import joint_product
from acm.nn.propagation import random_walk


class SnowballConv(Affine):
    r"""A snowball's layer: :math:`\hat A\, [X, H_1, \dots]\, W + b`, of all columns together."""

    def reset_parameters(self) -> None:
        """Draw both uniformly from ±1/√out_channels."""
        for parameter in (self.weight, self.bias):
            uniform(parameter, self.weight.shape[-1])

    def forward(self, parts: tuple[Tensor | SparseMatrix, ...], low: SparseMatrix) -> Tensor:
        """Features `[N, out_channels]` from those of all `parts`, side by side."""
        return low @ joint_product(parts, self.weight) + self.bias


class Snowball(Baseline):
    r"""A snowball network of Luan et al. (2019), `luan2019break`.

    .. math::
        H_l = \mathrm{ReLU}(\hat A_{rw}\, [X, H_1, \dots, H_{l-1}]\, W_l + b_l), \quad
        Y = \hat A_{rw}\, [X, H_1, \dots, H_{n-1}]\, W_n + b_n

    The biases and their draws are those of their code, and ReLU is what Luan et al. (2021) have
    everywhere, where their own paper argues for tanh. There `n` counts the hidden layers only. Here
    it counts all, as in GCN: by the times that Luan et al. (2021) print, an epoch of Snowball-2
    takes as long as one of GCN, of Snowball-3 half as long again. Dropout acts on `H`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of a hidden layer.
        dropout: Probability that a value is dropped.
        layers: How many layers, `n`.
        act: `"relu"` or `"tanh"`.

    Raises:
        UsageError: If an argument is out of range.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
        layers: int = 2,
        act: str = "relu",
    ):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        if act not in ("relu", "tanh"):
            raise UsageError(f"act is {act!r}: 'relu' or 'tanh' is needed")
        self.layers, self.act = layers, act
        ends = [hidden] * (layers - 1) + [out_channels]
        self.convs = nn.ModuleList(
            SnowballConv(in_channels + k * hidden, end) for k, end in enumerate(ends)
        )
        # A single layer has the probability all the same, and no use for it.
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(max(1, layers - 1)))

    operator = random_walk

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        seen = (x,)
        *hidden, last = self.convs
        for conv, dropout in zip(hidden, self.dropouts):
            h = conv(seen, graph)
            h = torch.relu(h) if self.act == "relu" else each(torch.tanh, h)
            seen = (*seen, dropout(h))
        return last(seen, graph)
