"""Predict, then propagate by personalised PageRank."""

from __future__ import annotations

from torch import Tensor

from acm.filters import SparseMatrix
from acm.nn.baselines.base import Baseline
from acm.nn.baselines.mlp import MLP
from acm.nn.checks import fraction


class APPNP(Baseline):
    r"""APPNP of Klicpera et al. (2019), `klicpera2019predict`.

    .. math::
        Z^{(0)} = H = \mathrm{MLP}(X), \quad
        Z^{(k+1)} = (1 - \alpha)\, \hat A_{sym} Z^{(k)} + \alpha H, \quad Y = Z^{(K)}

    Dropout acts on the input of both layers of the MLP, which has biases. As in the code of Chien
    et al. (2021), whose numbers Table 3 has, it does not act on the entries of
    :math:`\hat A_{sym}`.

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
        self.steps = K

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        z = h = self.mlp.logits(x, graph)
        for _ in range(self.steps):
            z = (1 - self.alpha) * (graph @ z) + self.alpha * h
        return z
