"""Jumping knowledge: the output sees every layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.errors import UsageError
from acm.filters import SparseMatrix, low_pass
from acm.nn.baselines.base import Baseline, Linear
from acm.nn.baselines.gat import GATConv
from acm.nn.dropout import Dropout
from acm.nn.each import each


def jump(layers: list[Tensor], jk: str) -> Tensor:
    """All layers' features `[N, F]` in one: `"cat"` side by side, `"max"` the largest of each."""
    return torch.cat(layers, -1) if jk == "cat" else torch.stack(layers).amax(0)


class _JK(Baseline):
    """Layers `convs` of the same width, and a linear output that sees all of them."""

    def __init__(self, in_channels, out_channels, hidden, dropout, layers, jk, width, **sizes):
        super().__init__(in_channels, out_channels, hidden, layers=layers, **sizes)
        if jk not in ("max", "cat"):
            raise UsageError(f"jk is {jk!r}: 'max' or 'cat' is needed")
        self.jk = jk
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers))
        self.output = Linear(width * layers if jk == "cat" else width, out_channels)


class GCNJK(_JK):
    r"""GCN with jumping knowledge, of Xu et al. (2018), `xu2018representation`.

    .. math::
        H^{(l)} = \mathrm{ReLU}(\hat A_{sym} H^{(l-1)} W^{(l)}), \quad
        Y = \mathrm{JK}(H^{(1)}, \dots, H^{(L)})\, W

    JK concatenates the layers, or takes the largest of each feature. Dropout acts on the input of
    every layer but the first, and before `W`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of every layer.
        dropout: Probability that a value is dropped.
        layers: How many layers, `L`.
        jk: `"max"` or `"cat"`.

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
        jk: str = "max",
    ):
        super().__init__(in_channels, out_channels, hidden, dropout, layers, jk, hidden)
        widths = [in_channels] + [hidden] * (layers - 1)
        self.linears = nn.ModuleList(Linear(width, hidden) for width in widths)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        layers = []
        for depth, linear in enumerate(self.linears):
            x = self.dropouts[depth - 1](x) if depth else x
            x = torch.relu(graph @ linear(x))
            layers.append(x)
        return self.output(self.dropouts[-1](jump(layers, self.jk)))


class GATJK(_JK):
    r"""GAT with jumping knowledge: layers of Veličković et al. (2018), output of Xu et al. (2018).

    .. math::
        H^{(l)} = \mathrm{ELU}(\mathrm{GATConv}(H^{(l-1)})), \quad
        Y = \mathrm{JK}(H^{(1)}, \dots, H^{(L)})\, W

    Dropout acts on `α`, on the input of every layer but the first, and before `W`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Features of each head; a layer has `heads · hidden`.
        dropout: Probability that a value is dropped.
        layers: How many layers, `L`.
        heads: Heads of every layer.
        jk: `"max"` or `"cat"`.

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
        heads: int = 8,
        jk: str = "max",
    ):
        width = hidden * heads
        super().__init__(in_channels, out_channels, hidden, dropout, layers, jk, width, heads=heads)
        widths = [in_channels] + [width] * (layers - 1)
        self.convs = nn.ModuleList(GATConv(w, hidden, heads, False, dropout) for w in widths)

    def operator(self, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
        r"""The neighbours and the node itself: the pattern of :math:`\hat A_{rw}`."""
        return low_pass(edge_index, num_nodes)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        layers = []
        for depth, conv in enumerate(self.convs):
            x = self.dropouts[depth - 1](x) if depth else x
            x = each(functional.elu, conv(x, graph))
            layers.append(x)
        return self.output(self.dropouts[-1](jump(layers, self.jk)))
