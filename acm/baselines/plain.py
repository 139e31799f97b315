"""Two networks that are as plain as can be: MLP-2 and Snowball."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.baselines.base import Baseline, dropouts
from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import random_walk, uniform
from acm.nn.stacked import Dropout, Linear, joint_product, per_trial


class MLP(Baseline):
    """The perceptron of Chien et al. (2021), `Y = ReLU(X W_0 + b_0) W_1 + b_1`.

    Dropout acts on the input of both layers.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5):
        super().__init__(in_channels, out_channels, hidden)
        self.first, self.second = Linear(in_channels, hidden), Linear(hidden, out_channels)
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        return self.second(self.dropout(torch.relu(self.first(self.input_dropout(x)))))


class SnowballConv(Linear):
    """A layer of Snowball: `Â [X, H_1, …] W + b`."""

    def reset_parameters(self) -> None:
        """Draw `W` and `b` uniformly from ±1/√out_channels."""
        for parameter in (self.weight, self.bias):
            uniform(parameter, self.weight.shape[-1])

    def forward(self, parts: tuple[Tensor | SparseMatrix, ...], low: SparseMatrix) -> Tensor:
        """Return features `[N, out_channels]` of all `parts` side by side."""
        return low @ joint_product(parts, self.weight) + self.bias


class Snowball(Baseline):
    """A snowball network of Luan et al. (2019).

    `H_l = ReLU(Â_rw [X, H_1, …, H_{l−1}] W_l + b_l)` and `Y = Â_rw [X, H_1, …, H_{n−1}] W_n + b_n`.
    Dropout acts on `H`. The biases and their draws are those of the code of Luan et al. (2019),
    whose paper argues for tanh (`act`). ReLU is the nonlinearity of Luan et al. (2021).

    In Luan et al. (2019), `n` counts the hidden layers only. Here `layers` counts all, since the
    times of an epoch in Luan et al. (2021) show two layers for Snowball-2, as for GCN.
    """

    operator = random_walk

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, act="relu"):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        if act not in ("relu", "tanh"):
            raise UsageError(f"act is {act!r}: 'relu' or 'tanh' is needed")
        self.layers, self.act = layers, act
        ends = [hidden] * (layers - 1) + [out_channels]
        self.convs = nn.ModuleList(
            SnowballConv(in_channels + k * hidden, end) for k, end in enumerate(ends)
        )
        self.dropouts = dropouts(dropout, layers - 1)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        parts = (x,)
        *hidden, last = self.convs
        for conv, dropout in zip(hidden, self.dropouts):
            h = conv(parts, graph)
            h = torch.relu(h) if self.act == "relu" else per_trial(torch.tanh, h)
            parts = (*parts, dropout(h))
        return last(parts, graph)
