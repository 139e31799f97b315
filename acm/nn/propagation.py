"""What a model propagates with, where it does not say so itself."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType

from torch import Tensor, nn

from acm.filters import SparseMatrix, low_pass


def random_walk(model: nn.Module, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
    r"""The filter :math:`\hat A_{rw}`, raw self-loops kept: the `operator` of most models.

    Args:
        model: Whatever it is: nothing of it changes the filter.
        edge_index: Edges, `[2, E]`, or a sparse adjacency, as in `acm.filters.adjacency`.
        num_nodes: `N`.
    """
    return low_pass(edge_index, num_nodes)


def operator_of(model: nn.Module) -> Callable:
    """The method `(edge_index, num_nodes)` that makes what a model propagates with.

    It is the model's own `operator`, or `random_walk` where it has none.
    """
    return getattr(model, "operator", None) or MethodType(random_walk, model)
