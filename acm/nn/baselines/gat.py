"""Graph attention networks."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.filters import SparseMatrix
from acm.nn.baselines.attention import attend, edge_softmax, pair_sum
from acm.nn.baselines.base import Baseline, glorot
from acm.nn.dropout import Dropout
from acm.nn.each import each
from acm.nn.product import product
from acm.nn.propagation import random_walk


class GATConv(nn.Module):
    r"""An attention layer: :math:`h'_i = \Vert_k \sum_j \alpha^k_{ij} W^k h_j`, `i` among its `j`.

    .. math::
        \alpha^k_{ij} = \mathrm{softmax}_j\, \mathrm{LeakyReLU}_{0.2}(a_k^T [W^k h_i \Vert W^k h_j])

    Args:
        in_channels: Features of a node.
        out_channels: Features that each head gives a node.
        heads: How many there are.
        mean: Whether heads are averaged (the output layer) instead of concatenated.
        dropout: Probability that an `α` is dropped; `None` if none ever is, whatever a trial's
            dropout.

    Attributes:
        weight: Every `W^k` side by side, `[in_channels, heads · out_channels]`.
        attention: Every `a_k`, `[heads, out_channels, 2]`: for the target and for the source.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int,
        mean: bool = False,
        dropout: float | None = 0.5,
    ):
        super().__init__()
        self.heads, self.out_channels, self.mean = heads, out_channels, mean
        self.weight = nn.Parameter(torch.empty(in_channels, heads * out_channels))
        self.attention = nn.Parameter(torch.empty(heads, out_channels, 2))
        self.dropout = nn.Identity() if dropout is None else Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights after Glorot and Bengio, those of each head for itself."""
        glorot(self.weight, self.weight.shape[0], self.out_channels)
        glorot(self.attention, 2 * self.out_channels, 1)

    def forward(self, x: Tensor | SparseMatrix, pattern: SparseMatrix) -> Tensor:
        """Attend to the neighbours.

        Args:
            x: Features, `[N, in_channels]`.
            pattern: A matrix `[N, N]` whose stored places are the neighbours and the nodes
                themselves; its values do not matter.

        Returns:
            `[N, heads · out_channels]`, or `[N, out_channels]` for the mean.
        """
        h = (
            product(x, self.weight).unflatten(-1, (self.heads, -1)).transpose(-2, -3)
        )  # [heads, N, F]
        target, source = product(h, self.attention).unbind(-1)
        score = functional.leaky_relu(pair_sum(pattern, target, source), 0.2)
        h = attend(pattern, self.dropout(edge_softmax(pattern, score)), h)
        return h.mean(-3) if self.mean else h.transpose(-2, -3).flatten(-2)


class GAT(Baseline):
    r"""The graph attention network of Veličković et al. (2018), `velickovic2018graph`.

    .. math::
        Y = \mathrm{mean}_k\, \mathrm{GATConv}(\mathrm{ELU}(\mathrm{GATConv}(X)))

    Dropout acts on the input of every layer and on `α`. The paper has no bias in its equations,
    and none is here.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Features of each head of a hidden layer (8 in its paper).
        dropout: Probability that a value is dropped (0.6 in its paper).
        layers: How many layers.
        heads: Heads of every hidden layer.
        out_heads: Heads of the output layer (8 for PubMed in its paper).

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
        out_heads: int = 1,
    ):
        super().__init__(
            in_channels, out_channels, hidden, layers=layers, heads=heads, out_heads=out_heads
        )
        widths = [in_channels] + [heads * hidden] * (layers - 1)
        self.convs = nn.ModuleList(GATConv(w, hidden, heads, False, dropout) for w in widths[:-1])
        self.convs.append(GATConv(widths[-1], out_channels, out_heads, True, dropout))
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in self.convs)

    #: Its pattern: the neighbours and the node itself.
    operator = random_walk

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        for depth, (dropout, conv) in enumerate(zip(self.dropouts, self.convs)):
            x = conv(dropout(each(functional.elu, x) if depth else x), graph)
        return x
