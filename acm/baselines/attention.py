"""Define two networks with attention: GAT and FAGCN.

Attention gives a weight to each stored entry of a sparse matrix, the `pattern`. The row of an entry
is the target of an edge, and its column is the source. Tensors with one number per edge have the
shape `[…, nnz]`, where `…` are trials and heads. No function builds the features of all edges.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.baselines.base import Baseline, dropouts, glorot, proper_edges
from acm.filters import SparseMatrix, low_pass
from acm.nn.checks import fraction, random_walk
from acm.nn.stacked import Dropout, Linear, per_trial, plain_gradients, product


class PairSum(torch.autograd.Function):
    """Compute `target_i + source_j` for every stored entry `(i, j)`, `[…, nnz]`."""

    @staticmethod
    def forward(ctx, target: Tensor, source: Tensor, pattern: SparseMatrix) -> Tensor:
        ctx.pattern = pattern
        return target.index_select(-1, pattern.row) + source.index_select(-1, pattern.col)

    @staticmethod
    def backward(ctx, grad: Tensor):
        flat = ctx.pattern.with_value(grad.reshape(-1, grad.shape[-1]))
        shape = *grad.shape[:-1], -1
        return _row_sums(flat).view(shape), _row_sums(flat.T).view(shape), None


class EdgeSoftmax(torch.autograd.Function):
    r"""Compute the softmax of scores `[…, nnz]` over each row, `e^{s_ij} / Σ_k e^{s_ik}`."""

    @staticmethod
    def forward(ctx, score: Tensor, pattern: SparseMatrix) -> Tensor:
        flat, row = score.reshape(-1, score.shape[-1]), pattern.row
        largest = flat.new_full((len(flat), pattern.shape[0]), -torch.inf)
        largest = largest.scatter_reduce(-1, row.expand_as(flat), flat, "amax")
        alpha = per_trial(torch.exp, flat - largest.index_select(-1, row), 1)
        alpha /= _row_sums(pattern.with_value(alpha)).index_select(-1, row)
        alpha = alpha.view(score.shape)
        ctx.pattern = pattern
        ctx.save_for_backward(alpha)
        return alpha

    @staticmethod
    def backward(ctx, grad: Tensor):
        (alpha,) = ctx.saved_tensors
        share = alpha * grad
        total = _row_sums(ctx.pattern.with_value(share.reshape(-1, share.shape[-1])))
        total = total.view(*share.shape[:-1], -1).index_select(-1, ctx.pattern.row)
        return share - alpha * total, None


class Attend(torch.autograd.Function):
    """Compute `Σ_j α_ij h_j` for weights `α`, `[…, nnz]`, and features `h`, `[…, N, F]`.

    The result is `pattern.with_value(α) @ h`. The gradient of `α` is a sampled matrix product, with
    `⟨g_i, h_j⟩` per edge. Gathering `[nnz, F]` twice would take fifty times as long on Squirrel.
    """

    @staticmethod
    def forward(ctx, weight: Tensor, h: Tensor, pattern: SparseMatrix) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(weight, h)
        return _attend(weight, h, pattern)

    @staticmethod
    def backward(ctx, grad: Tensor):
        weight, h = ctx.saved_tensors
        if torch.is_grad_enabled():  # the caller differentiates the gradient again
            attend = functools.partial(_attend, pattern=ctx.pattern)
            return *plain_gradients(attend, (weight, h), grad), None
        flat_grad, flat = (x.reshape(-1, *x.shape[-2:]) for x in (grad, h))
        blank = ctx.pattern.with_value(grad.new_zeros(weight.shape[-1])).to_torch()
        pairs = zip(flat_grad, flat)
        sampled = [torch.sparse.sampled_addmm(blank, g, b.t(), beta=0.0) for g, b in pairs]
        grad_weight = torch.stack([matrix.values() for matrix in sampled]).view(weight.shape)
        return grad_weight, _attend(weight, grad, ctx.pattern, transpose=True), None


def _attend(weight: Tensor, h: Tensor, pattern: SparseMatrix, transpose: bool = False) -> Tensor:
    matrix = pattern.with_value(weight.reshape(-1, weight.shape[-1]))
    return ((matrix.T if transpose else matrix) @ h.reshape(-1, *h.shape[-2:])).view(h.shape)


def _full(x: Tensor) -> Tensor:
    """Convert half precision to float32: sparse products have no half precision."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def _row_sums(matrix: SparseMatrix) -> Tensor:
    return (matrix @ matrix.value.new_ones(matrix.shape[1], 1)).squeeze(-1)


class FAConv(nn.Module):
    """A layer of FAGCN: `h_i ← ε h_i^0 + Σ_j α_ij Â_ij h_j`, `α_ij = tanh(g [h_i ∥ h_j])`.

    A positive `α` passes the low frequencies of an edge, and a negative `α` the high frequencies.
    The gate `g`, `[channels, 2]`, has a column for the target and one for the source.
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
        h = _full(h)
        target, source = _full(product(h, self.gate)).unbind(-1)
        alpha = per_trial(torch.tanh, PairSum.apply(target, source, graph), 1)
        alpha = self.dropout(graph.with_value(alpha)).value
        return Attend.apply(alpha * graph.value, h, graph) + self.epsilon * start


class NormalLinear(Linear):
    """Compute `X W + b`; as in FAGCN's release, initial `W` are normal and `b` uniform."""

    def reset_parameters(self) -> None:
        super().reset_parameters()
        normal(self.weight, *self.weight.shape)


def normal(weight: Tensor, rows: int, columns: int) -> None:
    """Fill a weight with normal draws of standard deviation 2 / √(rows + columns)."""
    nn.init.normal_(weight, std=2 / math.sqrt(rows + columns))


class FAGCN(Baseline):
    """The frequency-adaptation network of Bo et al. (2021).

    `h⁰ = ReLU(X W_1 + b_1)`, then `layers` layers `FAConv`, then `Y = h W_2 + b_2`. Each layer
    adds `ε h⁰`. The neighbors of a node do not include the node itself. Dropout acts on `X`,
    on `h⁰` and on the gates. Biases and initial weights are those of the authors' release.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, epsilon=0.3):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        epsilon = fraction("epsilon", epsilon)
        self.first = NormalLinear(in_channels, hidden)
        self.last = NormalLinear(hidden, out_channels)
        self.convs = nn.ModuleList(FAConv(hidden, epsilon, dropout) for _ in range(layers))
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)

    def operator(self, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
        """Return `D^{-1/2} A D^{-1/2}` of the graph without self-loops."""
        edges = proper_edges(edge_index, num_nodes)
        return low_pass(edges, num_nodes, norm="sym", renormalize=False)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        h = start = self.dropout(torch.relu(self.first(self.input_dropout(x))))
        for conv in self.convs:
            h = conv(h, start, graph)
        return self.last(h)


class GATConv(nn.Module):
    """A layer of GAT: `h_i ← ∥_k Σ_j α^k_ij W^k h_j`, where `j` may be `i`.

    `α^k_ij = softmax_j LeakyReLU(a_k [W^k h_i ∥ W^k h_j])` with the slope 0.2. With `mean` the
    heads `k` are averaged instead of concatenated. Dropout acts on `α`; `None` disables it.
    The parameter `weight` concatenates all `W^k`. The parameter `attention`,
    `[heads, out_channels, 2]`, holds all `a_k`: a column for the target and one for the source.
    """

    def __init__(self, in_channels, out_channels, heads, mean=False, dropout=0.5):
        super().__init__()
        self.heads, self.out_channels, self.mean = heads, out_channels, mean
        self.weight = nn.Parameter(torch.empty(in_channels, heads * out_channels))
        self.attention = nn.Parameter(torch.empty(heads, out_channels, 2))
        self.dropout = nn.Identity() if dropout is None else Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights of each head with Glorot initialization."""
        glorot(self.weight, self.weight.shape[0], self.out_channels)
        glorot(self.attention, 2 * self.out_channels, 1)

    def forward(self, x: Tensor | SparseMatrix, pattern: SparseMatrix) -> Tensor:
        """Return `[N, heads · out_channels]`, or `[N, out_channels]` for the mean.

        The `pattern` stores the neighbors of every node and the node itself.
        """
        h = _full(product(x, self.weight)).unflatten(-1, (self.heads, -1)).transpose(-2, -3)
        target, source = _full(product(h, self.attention)).unbind(-1)  # [heads, N] each
        score = functional.leaky_relu(PairSum.apply(target, source, pattern), 0.2)
        h = Attend.apply(self.dropout(EdgeSoftmax.apply(score, pattern)), h, pattern)
        return h.mean(-3) if self.mean else h.transpose(-2, -3).flatten(-2)


class GAT(Baseline):
    """The graph attention network of Veličković et al. (2018).

    `Y = mean_k GATConv(ELU(GATConv(X)))` for two layers. A hidden layer has `heads` heads with
    `hidden` features each (8 and 8 in the GAT paper). The output layer has `out_heads` heads (8 for
    PubMed). Dropout acts on the input of every layer and on `α`. As in the paper, there is no bias.
    """

    operator = random_walk  # its pattern holds the neighbors and the node itself

    def __init__(
        self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, heads=8, out_heads=1
    ):
        super().__init__(
            in_channels, out_channels, hidden, layers=layers, heads=heads, out_heads=out_heads
        )
        widths = [in_channels] + [heads * hidden] * (layers - 1)
        self.convs = nn.ModuleList(GATConv(w, hidden, heads, False, dropout) for w in widths[:-1])
        self.convs.append(GATConv(widths[-1], out_channels, out_heads, True, dropout))
        self.dropouts = dropouts(dropout, layers)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        for depth, (dropout, conv) in enumerate(zip(self.dropouts, self.convs)):
            x = conv(dropout(per_trial(functional.elu, x) if depth else x), graph)
        return x
