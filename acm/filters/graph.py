"""Low-pass, high-pass and identity filters of a graph (section 2.1, section 4.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from acm.data.names import check_whole
from acm.errors import UsageError
from acm.filters.sparse import SparseMatrix


def adjacency(
    edge_index: Tensor, num_nodes: int | None = None, edge_weight: Tensor | None = None
) -> SparseMatrix:
    """The adjacency matrix `A` of a graph (section 2), rows are targets.

    An edge `(j, i)` of `edge_index` sends a message from `j` to `i` (PyG's flow) and so stands at
    `A[i, j]`; for an undirected graph the distinction is void. Repeated edges are summed.

    Args:
        edge_index: Edges, `[2, E]`, or an adjacency as a `torch.sparse` tensor `[N, N]` whose
            rows are targets (PyG's `adj_t`).
        num_nodes: `N`; by default one more than the largest node index.
        edge_weight: Weights, `[E]`; by default one each, in the default floating-point type.

    Raises:
        UsageError: If an argument is of the wrong kind or shape, or a node index lies outside
            `0 … N − 1`.
    """
    if not isinstance(edge_index, Tensor):
        raise UsageError(f"edge_index is a {type(edge_index).__name__}: a tensor is needed")
    if num_nodes is not None:
        check_whole("num_nodes", num_nodes, 0)
    if edge_weight is not None and not isinstance(edge_weight, Tensor):
        raise UsageError(f"edge_weight is a {type(edge_weight).__name__}: a tensor is needed")
    if edge_index.layout != torch.strided:
        if edge_weight is not None:
            raise UsageError(
                "a sparse adjacency carries its weights as its values: leave edge_weight out"
            )
        matrix = SparseMatrix.from_torch(_real(edge_index))
        _check_square(matrix, num_nodes)
        return matrix
    kind = edge_index.dtype
    whole = not (kind.is_floating_point or kind.is_complex or kind == torch.bool)
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or not whole:
        raise UsageError(
            f"edge_index has shape {list(edge_index.shape)} and type"
            f" {edge_index.dtype}: integers of shape [2, E] are needed"
        )
    source, target = edge_index = edge_index.long()
    largest = int(edge_index.max()) if edge_index.numel() else -1
    num_nodes = largest + 1 if num_nodes is None else num_nodes
    if largest >= num_nodes or (edge_index.numel() and int(edge_index.min()) < 0):
        raise UsageError(
            f"edge_index names nodes {int(edge_index.min())} … {largest}:"
            f" a graph of {num_nodes} nodes has 0 … {num_nodes - 1}"
        )
    if edge_weight is None:
        edge_weight = torch.ones(source.numel(), device=edge_index.device)
    edge_weight = _real(edge_weight)
    if edge_weight.shape != source.shape:
        raise UsageError(
            f"edge_weight has shape {list(edge_weight.shape)}:"
            f" one weight for each of the {source.numel()} edges is needed"
        )
    return SparseMatrix.from_coo(target, source, edge_weight, (num_nodes, num_nodes))


def _real(weights: Tensor) -> Tensor:
    """Weights in a floating-point type: their own, or the default one for whole numbers.

    Raises:
        UsageError: If they are complex.
    """
    if weights.is_complex():
        raise UsageError(f"edge weights are of type {weights.dtype}: real numbers are needed")
    return weights if weights.is_floating_point() else weights.to(torch.get_default_dtype())


def _check_square(matrix: SparseMatrix, num_nodes: int | None) -> None:
    rows, columns = matrix.shape
    if rows != columns or (num_nodes is not None and rows != num_nodes):
        raise UsageError(
            f"the sparse adjacency is {rows} x {columns}:"
            f" {num_nodes or rows} x {num_nodes or rows} is needed"
        )


def known_norm(norm: str) -> str:
    """The normalisation, if it is one: `"rw"` or `"sym"`."""
    if norm not in ("rw", "sym"):
        raise UsageError(f"unknown normalisation {norm!r}: 'rw' and 'sym' are known")
    return norm


def low_pass(
    edge_index: Tensor,
    num_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    norm: str = "rw",
    renormalize: bool = True,
) -> SparseMatrix:
    r"""The low-pass filter `H_LP`: an affinity matrix of the graph (section 2.1).

    With the renormalisation trick :math:`\tilde A = A + I`, :math:`\tilde D = D + I`: `"rw"` is
    :math:`\hat A_{rw} = \tilde D^{-1} \tilde A` (the paper's choice) and `"sym"` is
    :math:`\hat A_{sym} = \tilde D^{-1/2} \tilde A \tilde D^{-1/2}`; without it the same of `A` and
    `D`. A self-loop that the graph already has is kept, so that its node has 2 on the diagonal of
    :math:`\tilde A` (PyG's `gcn_norm` would leave it at 1). A node without any edge has a zero row
    where nothing is added.

    Args:
        edge_index: Edges, `[2, E]`, or a sparse adjacency, as in `adjacency`.
        num_nodes: `N`; by default one more than the largest node index.
        edge_weight: Weights, `[E]`; by default one each.
        norm: `"rw"` (rows sum to one) or `"sym"`.
        renormalize: Whether to add the identity first.

    Returns:
        The `[N, N]` filter.

    Raises:
        UsageError: If the normalisation is unknown, a shape is wrong, or a degree is negative or
            infinite.
    """
    known_norm(norm)
    a = adjacency(edge_index, num_nodes, edge_weight)
    a = _plus_identity(a) if renormalize else a
    row, col, value = a.row, a.col, a.value
    degree = value.new_zeros(a.shape[0]).index_add(0, row, value)
    if not bool(((degree >= 0) & degree.isfinite()).all()):  # nor a NaN
        raise UsageError(
            "a node has a negative degree, an infinite one or none:"
            " edge weights must be finite numbers from 0"
        )
    exponent = -1.0 if norm == "rw" else -0.5
    scale = torch.where(degree > 0, degree.clamp(min=torch.finfo(degree.dtype).tiny) ** exponent, 0)
    scaled = scale[row] * value if norm == "rw" else scale[row] * value * scale[col]
    return a.with_value(scaled)


def high_pass(
    edge_index: Tensor,
    num_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    norm: str = "rw",
    renormalize: bool = True,
) -> SparseMatrix:
    """The high-pass filter `H_HP = I − H_LP` (section 4.2): a Laplacian of the graph.

    Arguments and errors are those of `low_pass`. Layers do not build it: they compute
    `H_HP x = x − H_LP x` from the product they have.
    """
    low = low_pass(edge_index, num_nodes, edge_weight, norm, renormalize)
    return _plus_identity(low.with_value(-low.value))


def _plus_identity(a: SparseMatrix) -> SparseMatrix:
    node = torch.arange(a.shape[0], device=a.col.device)
    value = torch.cat([a.value, a.value.new_ones(node.numel())])
    return SparseMatrix.from_coo(torch.cat([a.row, node]), torch.cat([a.col, node]), value, a.shape)


def identity(num_nodes: int) -> SparseMatrix:
    """The identity filter `I` (section 4.2), `[N, N]`: what an MLP filters with."""
    node = torch.arange(num_nodes + 1)
    return SparseMatrix(node, node[:-1], torch.ones(num_nodes), (num_nodes, num_nodes))
