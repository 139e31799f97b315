"""The adjacency matrix of a graph, and its low-pass and high-pass filters.

Every function raises `UsageError` if an argument has a wrong type or shape, a node index is not in
`0 … N − 1`, the normalization is unknown, or a degree is negative, infinite or NaN.
"""

from __future__ import annotations

import torch
from torch import Tensor

from acm.errors import UsageError, check_whole
from acm.filters.sparse import SparseMatrix


def adjacency(
    edge_index: Tensor, num_nodes: int | None = None, edge_weight: Tensor | None = None
) -> SparseMatrix:
    """Return the adjacency matrix `A` of a graph (Section 2); its rows are targets.

    An edge `(j, i)` of `edge_index` sends a message from `j` to `i`, as in PyG, and is stored at
    `A[i, j]`. The weights of repeated edges are summed.

    Args:
        edge_index: Edges, `[2, E]`, or an adjacency as a `torch.sparse` tensor `[N, N]` whose
            rows are targets (PyG's `adj_t`).
        num_nodes: `N`; by default one more than the largest node index.
        edge_weight: Weights, `[E]`; by default ones of the default floating-point type.
    """
    if not isinstance(edge_index, Tensor):
        raise UsageError(f"edge_index is a {type(edge_index).__name__}: a tensor is needed")
    if edge_weight is not None and not isinstance(edge_weight, Tensor):
        raise UsageError(f"edge_weight is a {type(edge_weight).__name__}: a tensor is needed")
    if num_nodes is not None:
        check_whole("num_nodes", num_nodes, 0)
    if edge_index.layout != torch.strided:
        if edge_weight is not None:
            raise UsageError("the values of a sparse adjacency are its weights: omit edge_weight")
        matrix = SparseMatrix.from_torch(_as_real(edge_index))
        n = matrix.shape[0] if num_nodes is None else num_nodes
        if matrix.shape != (n, n):
            size = "{} x {}".format(*matrix.shape)
            raise UsageError(f"the sparse adjacency is {size}: {n} x {n} is needed")
        return matrix
    dtype = edge_index.dtype
    integers = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or not integers:
        got = f"shape {list(edge_index.shape)} and type {dtype}"
        raise UsageError(f"edge_index has {got}: integers of shape [2, E] are needed")
    source, target = edge_index = edge_index.long()
    low, high = map(int, edge_index.aminmax()) if edge_index.numel() else (0, -1)
    n = high + 1 if num_nodes is None else num_nodes
    if low < 0 or high >= n:
        raise UsageError(f"edge_index has nodes {low} … {high}: {n} nodes are 0 … {n - 1}")
    if edge_weight is None:
        edge_weight = torch.ones(source.numel(), device=edge_index.device)
    if edge_weight.shape != source.shape:
        shape = list(edge_weight.shape)
        raise UsageError(
            f"edge_weight has shape {shape}, not one for each of the {len(source)} edges"
        )
    return SparseMatrix.from_coo(target, source, _as_real(edge_weight), (n, n))


def _as_real(weights: Tensor) -> Tensor:
    """Convert integer and Boolean weights to the default floating-point type."""
    if weights.is_complex():
        raise UsageError(f"edge weights are of type {weights.dtype}: real numbers are needed")
    return weights if weights.is_floating_point() else weights.to(torch.get_default_dtype())


def check_norm(norm: str) -> None:
    """Raise `UsageError` unless the normalization is `"rw"` or `"sym"`."""
    if norm not in ("rw", "sym"):
        raise UsageError(f"unknown normalization {norm!r}: 'rw' and 'sym' are valid")


def low_pass(
    edge_index: Tensor,
    num_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    norm: str = "rw",
    renormalize: bool = True,
) -> SparseMatrix:
    r"""Return the low-pass filter `H_LP`, `[N, N]`, an affinity matrix (Section 2.1).

    With the renormalization trick, :math:`\tilde A = A + I` and :math:`\tilde D = D + I`. Then
    `"rw"` is :math:`\hat A_{rw} = \tilde D^{-1} \tilde A`, the paper's choice, and `"sym"` is
    :math:`\hat A_{sym} = \tilde D^{-1/2} \tilde A \tilde D^{-1/2}`. Without the trick, `A` and `D`
    take the place of :math:`\tilde A` and :math:`\tilde D`, and a node without edges has a zero
    row. A self-loop of the graph is kept: its node has 2 on the diagonal of :math:`\tilde A`,
    where PyG's `gcn_norm` has 1.

    Args:
        edge_index, num_nodes, edge_weight: As in `adjacency`.
        norm: `"rw"` (each row sums to one) or `"sym"`.
        renormalize: Whether to add the identity first.
    """
    check_norm(norm)
    a = adjacency(edge_index, num_nodes, edge_weight)
    a = _add_identity(a) if renormalize else a
    row, col, value = a.row, a.col, a.value
    degree = value.new_zeros(a.shape[0]).index_add(0, row, value)
    if not bool(((degree >= 0) & degree.isfinite()).all()):
        raise UsageError("a degree is negative, infinite or NaN: weights are finite numbers from 0")
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
    """Return the high-pass filter `H_HP = I − H_LP`, `[N, N]`, a Laplacian (Section 4.2).

    The arguments are those of `low_pass`. Layers have `H_LP x` already and compute
    `H_HP x = x − H_LP x` from it.
    """
    low = low_pass(edge_index, num_nodes, edge_weight, norm, renormalize)
    return _add_identity(low.with_value(-low.value))


def _add_identity(a: SparseMatrix) -> SparseMatrix:
    node = torch.arange(a.shape[0], device=a.col.device)
    value = torch.cat([a.value, a.value.new_ones(node.numel())])
    return SparseMatrix.from_coo(torch.cat([a.row, node]), torch.cat([a.col, node]), value, a.shape)
