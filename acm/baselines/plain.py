"""A perceptron of two layers: on its own, and as what predicts before anything is propagated."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.baselines.base import Baseline
from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import random_walk, uniform
from acm.nn.stacked import Affine, Dropout, each, joint_product


class MLP(Baseline):
    r"""The perceptron of two layers in the code of Chien et al. (2021), `chien2021adaptive`.

    .. math::
        Y = \mathrm{ReLU}(X W_0 + b_0)\, W_1 + b_1

    Dropout acts on the input of both layers.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of the hidden layer.
        dropout: Probability that a value is dropped.

    Raises:
        UsageError: If a size is not a whole positive number.
    """

    def __init__(self, in_channels: int, out_channels: int, hidden: int = 64, dropout: float = 0.5):
        super().__init__(in_channels, out_channels, hidden)
        self.first, self.second = Affine(in_channels, hidden), Affine(hidden, out_channels)
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        return self.second(self.dropout(torch.relu(self.first(self.input_dropout(x)))))


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
