"""MixHop: several powers of the filter in every layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix
from acm.nn.baselines.base import Baseline, BatchNorm, Linear
from acm.nn.dropout import Dropout

#: The powers of every layer.
POWERS = 3


class MixHop(Baseline):
    r"""MixHop of Abu-El-Haija et al. (2019), `abu2019mixhop`, with the powers 0, 1 and 2.

    .. math::
        Z^{(l)} = \Vert_{j=0}^{2} \hat A_{sym}^j H^{(l-1)} W_j^{(l)}, \quad
        H^{(l)} = \mathrm{ReLU}(\mathrm{BN}(Z^{(l)})), \quad
        Y = Z^{(L)} W

    Differences of powers are within its reach, and so are high frequencies. This is the network as
    Lim et al. (2021), `lim2021new`, implement it, but without biases: batch normalisation between
    layers, dropout on `H` and none on `X`, and a linear map at the end, where the equations of its
    own paper have no normalisation and the output
    :math:`\sum_j \mathrm{softmax}(q)_j\, \hat A_{sym}^j H^{(L-1)} W_j^{(L)}`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width for each power; a hidden layer has three times as much.
        dropout: Probability that a value is dropped.
        layers: How many layers, `L`.

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
    ):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        between = [POWERS * hidden] * (layers - 1)
        starts, ends = [in_channels, *between], [*between, POWERS * out_channels]
        self.linears = nn.ModuleList(Linear(i, o, POWERS) for i, o in zip(starts, ends))
        self.norms = nn.ModuleList(BatchNorm(width) for width in between)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in between)
        self.output = Linear(POWERS * out_channels, out_channels)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.linears
        z = _powers(graph, first(x))
        for norm, dropout, linear in zip(self.norms, self.dropouts, others):
            z = _powers(graph, linear(dropout(torch.relu(norm(z)))))
        return self.output(z)


def _powers(a: SparseMatrix, h: Tensor) -> Tensor:
    """`[h_0 ‖ A h_1 ‖ A² h_2]` of `[h_0 ‖ h_1 ‖ h_2]`, with two products."""
    width = h.shape[-1] // POWERS
    once = a @ h[..., width:]
    twice = a @ once[..., width:]
    return torch.cat([h[..., :width], once[..., :width], twice], -1)
