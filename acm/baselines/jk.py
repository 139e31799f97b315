"""Jumping knowledge: the output sees every layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.baselines.attention import GATConv
from acm.baselines.base import Baseline, BatchNorm, Linear
from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import random_walk
from acm.nn.stacked import Dropout


def jump(layers: list[Tensor], jk: str) -> Tensor:
    """All layers' features `[N, F]` in one: `"cat"` side by side, `"max"` the largest of each."""
    return torch.cat(layers, -1) if jk == "cat" else torch.stack(layers).amax(0)


class _JK(Baseline):
    """Layers of the same width, normalised between, and a linear output that sees all of them."""

    def __init__(self, in_channels, out_channels, hidden, dropout, layers, jk, width, **sizes):
        super().__init__(in_channels, out_channels, hidden, layers=layers, **sizes)
        if jk not in ("max", "cat"):
            raise UsageError(f"jk is {jk!r}: 'max' or 'cat' is needed")
        self.jk = jk
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(layers - 1))
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers - 1))
        self.output = Linear(width * layers if jk == "cat" else width, out_channels)


class GCNJK(_JK):
    r"""GCN with jumping knowledge, of Xu et al. (2018), `xu2018representation`.

    .. math::
        Z^{(l)} = \hat A_{sym} H^{(l-1)} W^{(l)}, \quad
        H^{(l)} = \mathrm{ReLU}(\mathrm{BN}(Z^{(l)})), \quad
        Y = \mathrm{JK}(H^{(1)}, \dots, H^{(L-1)}, Z^{(L)})\, W

    JK concatenates the layers, or takes the largest of each feature. This is the network as Lim et
    al. (2021), `lim2021new`, implement it, but without biases: batch normalisation between layers,
    and the last layer jumps as it is, where the equations of Xu et al. have no normalisation and a
    ReLU in the last layer, too. Dropout acts on the input of every layer but the first.

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
        first, *others = self.linears
        layers = [graph @ first(x)]
        for norm, dropout, linear in zip(self.norms, self.dropouts, others):
            layers[-1] = torch.relu(norm(layers[-1]))
            layers.append(graph @ linear(dropout(layers[-1])))
        return self.output(jump(layers, self.jk))


class GATJK(_JK):
    r"""GAT with jumping knowledge: layers of Veličković et al. (2018), output of Xu et al. (2018).

    .. math::
        Z^{(l)} = \mathrm{GATConv}(H^{(l-1)}), \quad
        H^{(l)} = \mathrm{ELU}(\mathrm{BN}(Z^{(l)})), \quad
        Y = \mathrm{JK}(H^{(1)}, \dots, H^{(L-1)}, Z^{(L)})\, W

    The heads stand side by side in every layer. This is the network as Lim et al. (2021),
    `lim2021new`, implement it, but without biases: batch normalisation between layers, the last
    layer jumps as it is, and no `α` is dropped, where those of Veličković et al. are and there is
    no normalisation. Dropout acts on the input of every layer but the first.

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
        self.convs = nn.ModuleList(GATConv(w, hidden, heads, dropout=None) for w in widths)

    operator = random_walk  # the pattern of it: the neighbours and the node itself

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.convs
        layers = [first(x, graph)]
        for norm, dropout, conv in zip(self.norms, self.dropouts, others):
            layers[-1] = functional.elu(norm(layers[-1]))
            layers.append(conv(dropout(layers[-1]), graph))
        return self.output(jump(layers, self.jk))
