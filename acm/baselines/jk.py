"""Two networks with jumping knowledge: the output sees every layer."""

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


class _JK(Baseline):
    """Layers of one width with batch normalization between them, and a linear output.

    A subclass defines the layers `convs` and their nonlinearity `act`.
    """

    def __init__(self, in_channels, out_channels, hidden, dropout, layers, jk, width, **heads):
        super().__init__(in_channels, out_channels, hidden, layers=layers, **heads)
        if jk not in ("max", "cat"):
            raise UsageError(f"jk is {jk!r}: 'max' or 'cat' is needed")
        self.jk = jk
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(layers - 1))
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers - 1))
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
    r"""GCN with jumping knowledge, of Xu et al. (2018), `xu2018representation`.

    .. math::
        Z^{(l)} = \hat A_{sym} H^{(l-1)} W^{(l)}, \quad
        H^{(l)} = \mathrm{ReLU}(\mathrm{BN}(Z^{(l)})), \quad
        Y = \mathrm{JK}(H^{(1)}, \dots, H^{(L-1)}, Z^{(L)})\, W

    JK concatenates the layers, or takes the maximum of each feature. The network is that of Lim et
    al. (2021), `lim2021new`, without biases. The equations of Xu et al. have no normalization, and
    a ReLU in the last layer as well. Dropout acts on the input of every layer except the first.

    Args:
        layers: Number of layers, `L`.
        jk: `"max"` or `"cat"`.
    """

    act = staticmethod(torch.relu)

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, jk="max"):
        super().__init__(in_channels, out_channels, hidden, dropout, layers, jk, hidden)
        widths = [in_channels] + [hidden] * (layers - 1)
        self.linears = nn.ModuleList(Linear(width, hidden) for width in widths)

    def propagate(self, depth: int, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        """Return `Z` of a layer."""
        return graph @ self.linears[depth](x)


class GATJK(_JK):
    r"""GAT (Veličković et al., 2018) with the jumping knowledge of Xu et al. (2018).

    .. math::
        Z^{(l)} = \mathrm{GATConv}(H^{(l-1)}), \quad
        H^{(l)} = \mathrm{ELU}(\mathrm{BN}(Z^{(l)})), \quad
        Y = \mathrm{JK}(H^{(1)}, \dots, H^{(L-1)}, Z^{(L)})\, W

    Every layer concatenates its heads. The network is that of Lim et al. (2021), `lim2021new`,
    without biases. Veličković et al. drop values of `α` and have no normalization; here no `α` is
    dropped. Dropout acts on the input of every layer except the first.

    Args:
        hidden: Features of each head; a layer has `heads · hidden`.
        layers: Number of layers, `L`.
        heads: Heads of every layer.
        jk: `"max"` or `"cat"`.
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
        """Return `Z` of a layer."""
        return self.convs[depth](x, graph)
