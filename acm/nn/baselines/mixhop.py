"""MixHop: several powers of the filter in every layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix
from acm.nn.baselines.base import Baseline, Linear
from acm.nn.dropout import Dropout

#: The powers of every layer.
POWERS = 3


class MixHop(Baseline):
    r"""MixHop of Abu-El-Haija et al. (2019), `abu2019mixhop`, with the powers 0, 1 and 2.

    .. math::
        H^{(l+1)} = \mathrm{ReLU}\big(\Vert_{j=0}^{2} \hat A_{sym}^j H^{(l)} W_j^{(l)}\big), \quad
        Y = \sum_{j=0}^{2} \mathrm{softmax}(q)_j\, \hat A_{sym}^j H^{(L-1)} W_j^{(L-1)}

    Differences of powers are within its reach, and so are high frequencies. Dropout acts on the
    input of every layer.

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
        ends = [hidden] * (layers - 1) + [out_channels]
        starts = [in_channels] + [POWERS * hidden] * (layers - 1)
        self.linears = nn.ModuleList(Linear(i, POWERS * o, POWERS) for i, o in zip(starts, ends))
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in ends)
        self.q = nn.Parameter(torch.zeros(POWERS))

    def reset_parameters(self) -> None:
        """Draw all weights anew; every power counts alike at first."""
        super().reset_parameters()
        nn.init.zeros_(self.q)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        for depth, (dropout, linear) in enumerate(zip(self.dropouts, self.linears)):
            x = dropout(torch.relu(x) if depth else x)
            x = _powers(graph, linear(x))
        return (x.unflatten(-1, (POWERS, -1)) * self.q.softmax(-1)[..., None, :, None]).sum(-2)


def _powers(a: SparseMatrix, h: Tensor) -> Tensor:
    """`[h_0 ‖ A h_1 ‖ A² h_2]` of `[h_0 ‖ h_1 ‖ h_2]`, with two products."""
    width = h.shape[-1] // POWERS
    once = a @ h[..., width:]
    twice = a @ once[..., width:]
    return torch.cat([h[..., :width], once[..., :width], twice], -1)
