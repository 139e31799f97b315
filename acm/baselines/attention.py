"""Two networks with attention: GAT and FAGCN.

Attention acts on the stored pattern of a sparse matrix, whose rows are targets and whose columns
are sources. A number per edge has the shape `[…, nnz]`; trials and heads come in front. No
function here holds the features of every edge, and no gradient does.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from acm.baselines.base import Baseline, glorot, proper_edges
from acm.filters import SparseMatrix, low_pass
from acm.nn.checks import fraction, random_walk
from acm.nn.stacked import Dropout, Linear, per_trial, product


def pair_sum(pattern: SparseMatrix, target: Tensor, source: Tensor) -> Tensor:
    """Return `target_i + source_j` for every stored entry `(i, j)`, `[…, nnz]`.

    Args:
        pattern: The matrix `[N, N]`; its values do not matter.
        target, source: A number for every node, `[…, N]`.
    """
    return _PairSum.apply(target, source, pattern)


def edge_softmax(pattern: SparseMatrix, score: Tensor) -> Tensor:
    r"""Return the softmax over each row, :math:`e^{s_{ij}} / \sum_{k \in N_i} e^{s_{ik}}`.

    Args:
        pattern: The matrix `[N, N]`; its values do not matter.
        score: `s`, a number for every edge, `[…, nnz]`.
    """
    return _Softmax.apply(score, pattern)


def attend(pattern: SparseMatrix, weight: Tensor, h: Tensor) -> Tensor:
    r"""Return the weighted sum over each row, :math:`\sum_{j \in N_i} \alpha_{ij} h_j`.

    The result is `pattern.with_value(weight) @ h`. The gradient in the weights is one sampled
    product `⟨g_i, h_j⟩`; two gathers of `[nnz, F]` take fifty times as long on Squirrel.

    Args:
        pattern: The matrix `[N, N]`; its values do not matter.
        weight: `α`, a number for every edge, `[…, nnz]`.
        h: Features, `[…, N, F]`.
    """
    flat = weight.reshape(-1, weight.shape[-1]), h.reshape(-1, *h.shape[-2:])
    return _Attend.apply(*flat, pattern).view(h.shape)


class _PairSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, target: Tensor, source: Tensor, pattern: SparseMatrix) -> Tensor:
        ctx.pattern = pattern
        return target.index_select(-1, pattern.row) + source.index_select(-1, pattern.col)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        flat = ctx.pattern.with_value(grad.reshape(-1, grad.shape[-1]))
        shape = *grad.shape[:-1], -1
        return _row_sums(flat).view(shape), _row_sums(flat.T).view(shape), None


class _Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, score: Tensor, pattern: SparseMatrix) -> Tensor:
        flat, row = score.reshape(-1, score.shape[-1]), pattern.row
        largest = flat.new_full((len(flat), pattern.shape[0]), -torch.inf)
        largest = largest.scatter_reduce(-1, row.expand_as(flat), flat, "amax")
        alpha = per_trial(torch.exp, flat - largest.index_select(-1, row), 1)
        alpha /= _row_sums(pattern.with_value(alpha)).index_select(-1, row)
        ctx.pattern = pattern
        ctx.save_for_backward(alpha)
        return alpha.view(score.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        (alpha,) = ctx.saved_tensors
        share = alpha * grad.reshape(alpha.shape)
        total = _row_sums(ctx.pattern.with_value(share))
        share -= alpha * total.index_select(-1, ctx.pattern.row)
        return share.view(grad.shape), None


class _Attend(torch.autograd.Function):
    """Attend with weights `[B, nnz]` to `[B, N, F]`, where `B` counts trials times heads."""

    @staticmethod
    def forward(ctx, weight: Tensor, h: Tensor, pattern: SparseMatrix) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(weight, h)
        return pattern.with_value(weight).times(h)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        weight, h = ctx.saved_tensors
        blank = ctx.pattern.with_value(grad.new_zeros(weight.shape[-1])).to_torch()
        sampled = [torch.sparse.sampled_addmm(blank, g, b.t(), beta=0.0) for g, b in zip(grad, h)]
        grad_weight = torch.stack([matrix.values() for matrix in sampled])
        return grad_weight, ctx.pattern.with_value(weight).T.times(grad), None


def _row_sums(matrix: SparseMatrix) -> Tensor:
    """Return the sum of each row's values, `[B, N]`."""
    ones = matrix.value.new_ones(matrix.shape[1], 1)
    return matrix.times(ones).squeeze(-1)


class FAConv(nn.Module):
    r"""A layer of FAGCN: :math:`\epsilon h^0_i + \sum_j \alpha_{ij} \hat A_{ij} h_j`.

    The gate is :math:`\alpha_{ij} = \tanh(g^T [h_i \Vert h_j])`. A positive gate passes the low
    frequencies of an edge, and a negative gate passes the high frequencies.

    Args:
        channels: Features of a node.
        epsilon: `ε`, the share of the start.
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
        """Return the next `h`, `[N, channels]`; `start` is `h⁰`."""
        alpha = per_trial(torch.tanh, pair_sum(graph, *product(h, self.gate).unbind(-1)), 1)
        alpha = self.dropout(graph.with_value(alpha)).value
        return attend(graph, alpha * graph.value, h) + self.epsilon * start


class NormalLinear(Linear):
    """`X W + b` with the draws of FAGCN's release: normal weights, uniform biases."""

    def reset_parameters(self) -> None:
        """Draw `W` normally, and `b` as `Linear` does."""
        super().reset_parameters()
        normal(self.weight, *self.weight.shape)


def normal(weight: Tensor, rows: int, columns: int) -> None:
    """Draw a weight normally with the standard deviation √2 √(2 / (rows + columns)), in place."""
    nn.init.normal_(weight, std=2 / math.sqrt(rows + columns))


class FAGCN(Baseline):
    r"""The frequency-adaptation network of Bo et al. (2021), `bo2021beyond`.

    .. math::
        h^0 = \mathrm{ReLU}(X W_1 + b_1), \quad
        h^l_i = \epsilon h^0_i
            + \sum_{j \in N_i} \frac{\tanh(g_l^T [h_i^{l-1} \Vert h_j^{l-1}])}{\sqrt{d_i d_j}}
              h_j^{l-1}, \quad
        Y = h^L W_2 + b_2

    The neighbors do not include the node itself. Dropout acts on `X`, on :math:`h^0` and on the
    gates. Biases and initial weights are those of the authors' release.

    Args:
        hidden: Width of every `h`.
        layers: Steps, `L`.
        epsilon: `ε`, the share of :math:`h^0` that every step adds.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, epsilon=0.3):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        epsilon = fraction("epsilon", epsilon)
        self.first = NormalLinear(in_channels, hidden)
        self.last = NormalLinear(hidden, out_channels)
        self.convs = nn.ModuleList(FAConv(hidden, epsilon, dropout) for _ in range(layers))
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)

    def operator(self, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
        r"""Return :math:`D^{-1/2} A D^{-1/2}` of the graph without self-loops."""
        edges = proper_edges(edge_index, num_nodes)
        return low_pass(edges, num_nodes, norm="sym", renormalize=False)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        h = start = self.dropout(torch.relu(self.first(self.input_dropout(x))))
        for conv in self.convs:
            h = conv(h, start, graph)
        return self.last(h)


class GATConv(nn.Module):
    r"""A layer of GAT: :math:`h'_i = \Vert_k \sum_j \alpha^k_{ij} W^k h_j`, where `j` may be `i`.

    .. math::
        \alpha^k_{ij} = \mathrm{softmax}_j\, \mathrm{LeakyReLU}_{0.2}(a_k^T [W^k h_i \Vert W^k h_j])

    Args:
        in_channels: Features of a node.
        out_channels: Features that each head gives a node.
        heads: Number of heads.
        mean: Whether heads are averaged (the output layer) instead of concatenated.
        dropout: Probability that an `α` is dropped; `None` if no trial drops any.

    Attributes:
        weight: All `W^k` side by side, `[in_channels, heads · out_channels]`.
        attention: All `a_k`, `[heads, out_channels, 2]`: for the target and for the source.
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
        """Draw the weights of each head as Glorot and Bengio do."""
        glorot(self.weight, self.weight.shape[0], self.out_channels)
        glorot(self.attention, 2 * self.out_channels, 1)

    def forward(self, x: Tensor | SparseMatrix, pattern: SparseMatrix) -> Tensor:
        """Return `[N, heads · out_channels]`, or `[N, out_channels]` for the mean.

        Args:
            x: Features, `[N, in_channels]`.
            pattern: A matrix `[N, N]` that stores the neighbors and the nodes themselves.
        """
        h = product(x, self.weight).unflatten(-1, (self.heads, -1)).transpose(-2, -3)
        target, source = product(h, self.attention).unbind(-1)  # of every head
        score = functional.leaky_relu(pair_sum(pattern, target, source), 0.2)
        h = attend(pattern, self.dropout(edge_softmax(pattern, score)), h)
        return h.mean(-3) if self.mean else h.transpose(-2, -3).flatten(-2)


class GAT(Baseline):
    r"""The graph attention network of Veličković et al. (2018), `velickovic2018graph`.

    .. math::
        Y = \mathrm{mean}_k\, \mathrm{GATConv}(\mathrm{ELU}(\mathrm{GATConv}(X)))

    Dropout acts on the input of every layer and on `α`. There is no bias, as in their equations.

    Args:
        hidden: Features of each head of a hidden layer (8 in their paper).
        layers: Number of layers.
        heads: Heads of every hidden layer.
        out_heads: Heads of the output layer (8 for PubMed in their paper).
    """

    operator = random_walk  # attention needs its pattern: the neighbors and the node itself

    def __init__(
        self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, heads=8, out_heads=1
    ):
        super().__init__(
            in_channels, out_channels, hidden, layers=layers, heads=heads, out_heads=out_heads
        )
        widths = [in_channels] + [heads * hidden] * (layers - 1)
        self.convs = nn.ModuleList(GATConv(w, hidden, heads, False, dropout) for w in widths[:-1])
        self.convs.append(GATConv(widths[-1], out_channels, out_heads, True, dropout))
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in self.convs)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        for depth, (dropout, conv) in enumerate(zip(self.dropouts, self.convs)):
            x = conv(dropout(per_trial(functional.elu, x) if depth else x), graph)
        return x
