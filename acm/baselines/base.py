"""What the baselines of other papers share: features, operators, plain weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.filters import SparseMatrix, adjacency, low_pass, moved
from acm.nn.checks import features, sizes
from acm.nn.stacked import product, stacked


class Baseline(nn.Module):
    """A network for one graph and one set of weights, from another paper.

    A subclass says what it propagates with (`operator`) and what it computes (`logits`). Its
    weights and its code count dimensions from the end, so that the trainer can stack trials,
    unless it has a `BatchNorm`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of a hidden layer.
        more: Further numbers of the model that have to be whole and positive.

    Raises:
        UsageError: If a size is not a whole positive number.
    """

    def __init__(self, in_channels: int, out_channels: int, hidden: int, **more: int):
        super().__init__()
        sizes(in_channels=in_channels, out_channels=out_channels, hidden=hidden, **more)
        self.in_channels, self.out_channels, self.hidden = in_channels, out_channels, hidden

    def operator(self, edge_index: Tensor, num_nodes: int):
        r"""What the network propagates with: :math:`\hat A_{sym}`, raw self-loops kept.

        Args:
            edge_index: Edges, `[2, E]`, or a sparse adjacency, as in `acm.filters.adjacency`.
            num_nodes: `N`.
        """
        return low_pass(edge_index, num_nodes, norm="sym")

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.modules():
            if module is not self and hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(self, x: Tensor | SparseMatrix, graph) -> Tensor:
        """The logits of all nodes, `[N, C]`.

        Args:
            x: Node features, `[N, F]`, dense or sparse.
            graph: What `operator` returned, or the edges themselves, `[2, E]`.

        Raises:
            UsageError: If the features or the operator are of another size.
        """
        (x,) = features((x,), self.in_channels, stacked(self))
        if isinstance(graph, Tensor):
            graph = moved(self.operator(graph, x.shape[-2]), next(self.parameters()))
        matrices = graph if isinstance(graph, tuple) else (graph,)
        for matrix in matrices:
            if not isinstance(matrix, SparseMatrix):
                raise UsageError(
                    f"the graph is a {type(matrix).__name__}: edges, [2, E], or what operator()"
                    " returns is needed"
                )
            if matrix.shape != (x.shape[-2], x.shape[-2]):
                raise UsageError(
                    f"the operator is {matrix.shape[0]} x {matrix.shape[1]}:"
                    f" {x.shape[-2]} x {x.shape[-2]} is needed for {x.shape[-2]} nodes"
                )
        return self.logits(x, graph)

    def logits(self, x: Tensor | SparseMatrix, graph) -> Tensor:
        """What the model computes from features and operator."""
        raise NotImplementedError


class Linear(nn.Module):
    """`X W` without a bias, for dense and sparse `X` and for stacked `W`.

    Args:
        in_channels: Rows of `W`.
        out_channels: Columns of `W`.
        parts: Of how many matrices side by side `W` consists, each drawn for itself.

    Attributes:
        weight: `W`, `[in_channels, out_channels]`.
    """

    def __init__(self, in_channels: int, out_channels: int, parts: int = 1):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.parts = parts
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights after Glorot and Bengio."""
        rows, columns = self.weight.shape
        glorot(self.weight, rows, columns // self.parts)

    def forward(self, x: Tensor | SparseMatrix) -> Tensor:
        """`X W`, `[N, out_channels]`."""
        return product(x, self.weight)


class BatchNorm(nn.BatchNorm1d):
    """Each feature with mean 0 and variance 1 over all nodes, then a scale and a shift of its own.

    In evaluation mean and variance are running ones, which every pass in training moves by a tenth.
    They are of one trial: models that have this are trained one at a time. PyTorch's takes the
    nodes of a batch `[B, N, F]` for its features, which goes unnoticed where `N` is `F`.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the features `[N, F]` of one trial.

        Raises:
            ValueError: If they are those of a batch of trials.
        """
        if x.dim() != 2:
            raise ValueError(
                f"batch normalisation of a tensor of shape {list(x.shape)}: [N, F] is needed"
            )
        return super().forward(x)


def glorot(weight: Tensor, rows: int, columns: int) -> None:
    """Draw uniformly from ±√(6 / (rows + columns)), in place."""
    bound = math.sqrt(6 / (rows + columns))
    nn.init.uniform_(weight, -bound, bound)


def proper_edges(edge_index: Tensor, num_nodes: int) -> Tensor:
    """The edges without self-loops and repetitions, `[2, E]`."""
    a = adjacency(edge_index, num_nodes)
    edges = torch.stack([a.col, a.row])
    return edges[:, a.row != a.col]
