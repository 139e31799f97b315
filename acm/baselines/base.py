"""Define what the models of other papers share: input checks, a linear map, normalization."""

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
    """A model of another paper, for one graph and one trial.

    A subclass defines `logits`, and `operator` if the model does not propagate with `Â_sym`. All
    `whole_numbers` must be whole and positive. A model with `BatchNorm` is not `stackable`.
    """

    stackable = True

    def __init__(self, in_channels: int, out_channels: int, hidden: int, **whole_numbers: int):
        super().__init__()
        sizes(in_channels=in_channels, out_channels=out_channels, hidden=hidden, **whole_numbers)
        self.in_channels = in_channels

    def operator(self, edge_index: Tensor, num_nodes: int):
        """Return what the model propagates with: `Â_sym`, raw self-loops included."""
        return low_pass(edge_index, num_nodes, norm="sym")

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.modules():
            if module is not self and hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(self, x: Tensor | SparseMatrix, graph) -> Tensor:
        """Return the logits, `[N, C]`; the graph is what `operator` returns, or edges, `[2, E]`."""
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
        """Return what the model computes from features and operator."""
        raise NotImplementedError


class Linear(stacked.Linear):
    """Compute `X W` without a bias.

    `W` has `parts` matrices side by side; each has the draw of its own width.
    """

    def __init__(self, in_channels: int, out_channels: int, parts: int = 1):
        self.parts = parts
        super().__init__(in_channels, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draw the weights as Glorot and Bengio do."""
        rows, columns = self.weight.shape
        glorot(self.weight, rows, columns // self.parts)


class BatchNorm(nn.BatchNorm1d):
    """Normalize each feature over all nodes of one trial, then scale and shift it.

    A model with this layer cannot be stacked, since the running mean and variance are those of
    one trial. PyTorch's layer would take the nodes of a batch `[B, N, F]` for features.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized features `[N, F]`, or raise `ValueError` for a batch of trials."""
        if x.dim() != 2:
            raise ValueError(f"batch normalization of {list(x.shape)}: [N, F] is needed")
        return super().forward(x)


def dropouts(p: float, count: int) -> nn.ModuleList:
    """Return the dropout layers of a model, at least one, so that a trial can set its `p`."""
    return nn.ModuleList(Dropout(p) for _ in range(max(1, count)))


def glorot(weight: Tensor, rows: int, columns: int) -> None:
    """Draw a weight uniformly from ±√(6 / (rows + columns)), in place."""
    bound = math.sqrt(6 / (rows + columns))
    nn.init.uniform_(weight, -bound, bound)


def proper_edges(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return the edges without self-loops and repetitions, `[2, E]`."""
    a = adjacency(edge_index, num_nodes)
    edges = torch.stack([a.col, a.row])
    return edges[:, a.row != a.col]
