"""FAGCN: low and high frequencies, gated edge by edge."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix, low_pass
from acm.nn.affine import Affine
from acm.nn.baselines.attention import attend, pair_sum
from acm.nn.baselines.base import Baseline, proper_edges
from acm.nn.checks import fraction
from acm.nn.dropout import Dropout
from acm.nn.each import each
from acm.nn.product import product


class FAConv(nn.Module):
    r"""Frequency-adaptive propagation: :math:`\epsilon h^0_i + \sum_j \alpha_{ij} \hat A_{ij} h_j`.

    :math:`\alpha_{ij} = \tanh(g^T [h_i \Vert h_j])`: a positive one passes the low frequencies of
    an edge, a negative one its high frequencies.

    Args:
        channels: Features of a node.
        epsilon: How much of the start is added.
        dropout: Probability that an `α` is dropped.

    Attributes:
        gate: `g`, `[channels, 2]`: for the target and for the source.
    """

    def __init__(self, channels: int, epsilon: float, dropout: float):
        super().__init__()
        self.epsilon = epsilon
        self.gate = nn.Parameter(torch.empty(channels, 2))
        self.dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the gate as the authors' release does."""
        normal(self.gate, self.gate.numel(), 1)

    def forward(self, h: Tensor, start: Tensor, graph: SparseMatrix) -> Tensor:
        """One step from `h`, `[N, F]`; `start` is `h⁰`."""
        alpha = each(torch.tanh, pair_sum(graph, *product(h, self.gate).unbind(-1)), 1)
        alpha = self.dropout(graph.with_value(alpha)).value
        return attend(graph, alpha * graph.value, h) + self.epsilon * start


class NormalAffine(Affine):
    """`X W + b`, drawn as the authors' release does."""

    def reset_parameters(self) -> None:
        """Draw the weights normally, the biases as in any `Affine`."""
        super().reset_parameters()
        normal(self.weight, *self.weight.shape)


def normal(weight: Tensor, rows: int, columns: int) -> None:
    """Draw normally with a standard deviation of √2 √(2 / (rows + columns)), in place."""
    nn.init.normal_(weight, std=2 / math.sqrt(rows + columns))


class FAGCN(Baseline):
    r"""The frequency-adaptation network of Bo et al. (2021), `bo2021beyond`.

    .. math::
        h^0 = \mathrm{ReLU}(X W_1 + b_1), \quad
        h^l_i = \epsilon h^0_i
            + \sum_{j \in N_i} \frac{\tanh(g_l^T [h_i^{l-1} \Vert h_j^{l-1}])}{\sqrt{d_i d_j}}
              h_j^{l-1}, \quad
        Y = h^L W_2 + b_2

    The neighbours do not include the node itself. Dropout acts on `X`, on :math:`h^0` and on the
    gates. Biases and initial weights are those of the authors' release.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of every `h`.
        dropout: Probability that a value is dropped.
        layers: Steps, `L`.
        epsilon: `ε`, how much of :math:`h^0` every step adds.

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
        epsilon: float = 0.3,
    ):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        epsilon = fraction("epsilon", epsilon)
        self.first = NormalAffine(in_channels, hidden)
        self.last = NormalAffine(hidden, out_channels)
        self.convs = nn.ModuleList(FAConv(hidden, epsilon, dropout) for _ in range(layers))
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)

    def operator(self, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
        r""":math:`D^{-1/2} A D^{-1/2}` of the graph without self-loops."""
        edges = proper_edges(edge_index, num_nodes)
        return low_pass(edges, num_nodes, norm="sym", renormalize=False)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        h = start = self.dropout(torch.relu(self.first(self.input_dropout(x))))
        for conv in self.convs:
            h = conv(h, start, graph)
        return self.last(h)
