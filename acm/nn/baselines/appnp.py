"""Predict, then propagate by personalised PageRank."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix
from acm.nn.baselines.base import Baseline, Linear
from acm.nn.checks import fraction
from acm.nn.dropout import Dropout


class MLP(nn.Module):
    """`dropout(ReLU(dropout(X) W_0)) W_1`, what predicts before anything is propagated."""

    def __init__(self, in_channels: int, out_channels: int, hidden: int, dropout: float):
        super().__init__()
        self.first, self.second = Linear(in_channels, hidden), Linear(hidden, out_channels)
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)

    def forward(self, x: Tensor | SparseMatrix) -> Tensor:
        """The predictions, `[N, C]`."""
        return self.second(self.dropout(torch.relu(self.first(self.input_dropout(x)))))


class APPNP(Baseline):
    r"""APPNP of Klicpera et al. (2019), `klicpera2019predict`.

    .. math::
        Z^{(0)} = H = \mathrm{MLP}(X), \quad
        Z^{(k+1)} = (1 - \alpha)\, \hat A_{sym} Z^{(k)} + \alpha H, \quad Y = Z^{(K)}

    Dropout acts on the input of both layers of the MLP and, with a draw for every step, on the
    entries of :math:`\hat A_{sym}`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of the MLP's hidden layer.
        dropout: Probability that a value is dropped.
        K: Steps.
        alpha: Probability to teleport back to the node itself.

    Raises:
        UsageError: If an argument is out of range.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
        K: int = 10,  # noqa: N803  (the paper's symbol)
        alpha: float = 0.1,
    ):
        super().__init__(in_channels, out_channels, hidden, K=K)
        self.alpha = fraction("alpha", alpha)
        self.mlp = MLP(in_channels, out_channels, hidden, dropout)
        self.edge_dropouts = nn.ModuleList(Dropout(dropout) for _ in range(K))

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        z = h = self.mlp(x)
        for dropout in self.edge_dropouts:
            z = (1 - self.alpha) * (dropout(graph) @ z) + self.alpha * h
        return z
