"""Define a base class, layers and functions that the models of other papers share."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.filters import SparseMatrix, adjacency, low_pass, moved
from acm.nn import stacked
from acm.nn.checks import features, sizes
from acm.nn.stacked import Dropout, is_stacked


class Baseline(nn.Module):
    """Base class of the models of other papers.

    A subclass defines `logits`, and `operator` if the model does not propagate with `Â_sym`. The
    `whole_numbers` are options that must be positive integers. A model is `stackable` if it can
    train a batch of trials; a model with `BatchNorm` cannot.
    """

    stackable = True

    def __init__(self, in_channels: int, out_channels: int, hidden: int, **whole_numbers: int):
        super().__init__()
        sizes(in_channels=in_channels, out_channels=out_channels, hidden=hidden, **whole_numbers)
        self.in_channels = in_channels

    def operator(self, edge_index: Tensor, num_nodes: int):
        """Return the propagation matrix `Â_sym`; self-loops of the data are kept."""
        return low_pass(edge_index, num_nodes, norm="sym")

    def reset_parameters(self) -> None:
        """Draw new initial weights for all layers."""
        for module in self.modules():
            if module is not self and hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(self, x: Tensor | SparseMatrix, graph) -> Tensor:
        """Return logits `[N, C]`; `graph` is the result of `operator`, or the edges `[2, E]`."""
        (x,) = features((x,), self.in_channels, is_stacked(self))
        n = x.shape[-2]
        if isinstance(graph, Tensor):
            graph = moved(self.operator(graph, n), next(self.parameters()))
        for matrix in graph if isinstance(graph, tuple) else (graph,):
            if matrix.shape != (n, n):
                shape = " x ".join(map(str, matrix.shape))
                raise UsageError(f"the operator is {shape}: {n} x {n} is needed for {n} nodes")
        return self.logits(x, graph)

    def logits(self, x: Tensor | SparseMatrix, graph) -> Tensor:
        """Compute the logits from the features and the result of `operator`."""
        raise NotImplementedError


class Linear(stacked.Linear):
    """Compute `X W` without a bias.

    `W` concatenates `parts` matrices of equal width, each with Glorot initialization.
    """

    def __init__(self, in_channels: int, out_channels: int, parts: int = 1):
        self.parts = parts
        super().__init__(in_channels, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draw the weights with Glorot initialization."""
        rows, columns = self.weight.shape
        glorot(self.weight, rows, columns // self.parts)


class BatchNorm(nn.BatchNorm1d):
    """Normalize each feature over all nodes of one trial, then scale and shift it.

    A model with this layer cannot train a batch of trials, since the running mean and variance
    belong to one trial. In a batch `[B, N, F]`, PyTorch's layer would normalize over `B` and `F`.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized features `[N, F]`, or raise `ValueError` for a batch of trials."""
        if x.dim() != 2:
            raise ValueError(f"batch normalization of {list(x.shape)}: [N, F] is needed")
        return super().forward(x)


def dropouts(p: float, count: int) -> nn.ModuleList:
    """Return `count` dropout layers, but at least one, so that a trial can set the model's `p`."""
    return nn.ModuleList(Dropout(p) for _ in range(max(1, count)))


def glorot(weight: Tensor, rows: int, columns: int) -> None:
    """Fill a weight with uniform draws between ±√(6 / (rows + columns))."""
    bound = math.sqrt(6 / (rows + columns))
    nn.init.uniform_(weight, -bound, bound)


def proper_edges(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return the edges without self-loops and duplicates, `[2, E]`."""
    a = adjacency(edge_index, num_nodes)
    edges = torch.stack([a.col, a.row])
    return edges[:, a.row != a.col]
