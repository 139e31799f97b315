"""Two networks with jumping knowledge: the output sees every layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.baselines.attention import GATConv
from acm.baselines.base import Baseline, BatchNorm, Linear, dropouts
from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import random_walk


class _JK(Baseline):
    """Jumping knowledge of Xu et al. (2018): `H_l = act(BN(Z_l))`, `Y = JK(H_1, …, Z_L) W`.

    JK concatenates the layers ("cat"), or takes the maximum of each feature ("max"). The networks
    are those of Lim et al. (2021), without biases. The equations of Xu et al. have no
    normalization, and a nonlinearity in the last layer as well. Dropout acts on the input of every
    layer except the first. A subclass defines `act` and the layers, `propagate`.
    """

    def __init__(self, in_channels, out_channels, hidden, dropout, layers, jk, width, **heads):
        super().__init__(in_channels, out_channels, hidden, layers=layers, **heads)
        if jk not in ("max", "cat"):
            raise UsageError(f"jk is {jk!r}: 'max' or 'cat' is needed")
        self.jk = jk
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(layers - 1))
        self.dropouts = dropouts(dropout, layers - 1)
        self.output = Linear(width * layers if jk == "cat" else width, out_channels)
        self.stackable = not self.norms

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        layers = [self.propagate(0, x, graph)]
        for depth, (norm, dropout) in enumerate(zip(self.norms, self.dropouts), start=1):
            layers[-1] = self.act(norm(layers[-1]))
            layers.append(self.propagate(depth, dropout(layers[-1]), graph))
        joined = torch.cat(layers, -1) if self.jk == "cat" else torch.stack(layers).amax(0)
        return self.output(joined)


class GCNJK(_JK):
    """GCN with jumping knowledge: `Z_l = Â_sym H_{l−1} W_l` and ReLU."""

    act = staticmethod(torch.relu)

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, jk="max"):
        super().__init__(in_channels, out_channels, hidden, dropout, layers, jk, hidden)
        widths = [in_channels] + [hidden] * (layers - 1)
        self.linears = nn.ModuleList(Linear(width, hidden) for width in widths)

    def propagate(self, depth: int, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        return graph @ self.linears[depth](x)


class GATJK(_JK):
    """GAT with jumping knowledge: `Z_l = GATConv(H_{l−1})` with concatenated heads, and ELU.

    A layer has `heads · hidden` features. No `α` is dropped.
    """

    act = staticmethod(functional.elu)
    operator = random_walk  # attention needs its pattern: the neighbors and the node itself

    def __init__(
        self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, heads=8, jk="max"
    ):
        width = hidden * heads
        super().__init__(in_channels, out_channels, hidden, dropout, layers, jk, width, heads=heads)
        widths = [in_channels] + [width] * (layers - 1)
        self.convs = nn.ModuleList(GATConv(w, hidden, heads, dropout=None) for w in widths)

    def propagate(self, depth: int, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        return self.convs[depth](x, graph)
