"""A perceptron of two layers: on its own, and as what predicts before anything is propagated."""

from __future__ import annotations

import torch
from torch import Tensor

from acm.filters import SparseMatrix
from acm.nn.affine import Affine
from acm.nn.baselines.base import Baseline
from acm.nn.dropout import Dropout


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
