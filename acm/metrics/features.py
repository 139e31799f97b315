"""Compare similarities of features in float64, with a bound of the rounding errors.

`Σ_{u in c} S(M, X)[v, u]` is entry (v, c) of `M X Xᵀ Mᵀ Z`, evaluated from the right. Each factor
has C columns, so `M X`, which may be dense, is never formed.

The bound is the same product of absolute values, times the number of roundings of one term (Higham,
"Accuracy and stability of numerical algorithms", lemma 3.1). A comparison is undecided if the
difference is at most the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.metrics.graph import Graph

_UNIT = 2.0**-53  # the largest relative error of rounding a real number to float64
_TINY = 2.0**-900  # exceeds any underflow, since features are scaled to order one
_FILTER_ROUNDINGS = 16  # a generous count: square root, reciprocal, products, identity


class Features(NamedTuple):
    """Float64 features and the data of their error bound."""

    matrix: Tensor | SparseMatrix
    magnitude: Tensor | SparseMatrix
    """The absolute values of `matrix`."""
    filled: Tensor
    """Mask `[N]` of the rows with a nonzero entry."""
    roundings: int
    """The largest number of roundings of one term of `X Xᵀ a`."""


class Sums(NamedTuple):
    """Sums of similarities over each class and bounds of their errors, both `[n, C]`."""

    value: Tensor
    error: Tensor


def prepare_features(x: Tensor, num_nodes: int, normalize: bool) -> Features:
    """Check features, convert them to float64 and scale them to order one.

    `normalize` divides each row by the sum of its absolute values.

    Raises:
        UsageError: The shape is not [N, F], or a value is complex, NaN or infinite.
    """
    matrix, value = _finite(x.detach() if isinstance(x, Tensor) else x, num_nodes)
    dense = isinstance(matrix, Tensor)
    if isinstance(matrix, Tensor):
        longest_row, longest_column = x.size(1), num_nodes
        largest = value.abs().amax(1)
    else:
        row = matrix.row
        longest_row = int(matrix.crow.diff().max())
        longest_column = int(torch.bincount(matrix.col, minlength=1).max())
        largest = value.new_zeros(num_nodes).scatter_reduce(0, row, value.abs(), "amax")
    filled = largest > 0
    # Scaling by a power of two is exact. Normalized rows each have their own power of two; other
    # rows share one, so that no comparison changes.
    scale = largest if normalize else largest.max().expand(num_nodes)
    scale = torch.exp2(-scale.clamp(min=2.0**-1000).log2().floor())
    value = value * (scale[:, None] if dense else scale[row])
    roundings = longest_row + longest_column
    if normalize:
        entry = value.abs()
        total = entry.sum(1) if dense else torch.zeros_like(scale).index_add(0, row, entry)
        total = torch.where(filled, total, 1)
        value = value / (total[:, None] if dense else total[row])
        roundings += 2 * (longest_row + 1)
    signed = bool((value < 0).any())
    if isinstance(matrix, Tensor):
        return Features(value, value.abs() if signed else value, filled, roundings)
    matrix = matrix.with_value(value)
    magnitude = matrix.with_value(value.abs()) if signed else matrix
    return Features(matrix, magnitude, filled, roundings)


def dense_features(x: Tensor, num_nodes: int) -> Tensor:
    """Check features as `prepare_features` does and return a dense float64 matrix."""
    matrix, value = _finite(x, num_nodes)
    return value if isinstance(matrix, Tensor) else matrix.with_value(value).to_torch().to_dense()


def _finite(x: Tensor, num_nodes: int) -> tuple[Tensor | SparseMatrix, Tensor]:
    """Check that features are real and finite; return them and their values in float64."""
    if not isinstance(x, Tensor) or x.dim() != 2 or x.size(0) != num_nodes or not x.size(1):
        got = list(x.shape) if isinstance(x, Tensor) else type(x)
        raise UsageError(f"x has shape {got}: [{num_nodes}, F] is needed, one row for each label")
    if x.is_complex() or x.is_quantized or x.is_meta:
        kind = "meta" if x.is_meta else x.dtype
        raise UsageError(f"x is a {kind} tensor: real numbers are needed")
    if x.layout in (torch.sparse_bsr, torch.sparse_bsc):
        x = x.to_dense().to_sparse_csr()
    matrix = x if x.layout == torch.strided else SparseMatrix.from_torch(x)
    value = (matrix if isinstance(matrix, Tensor) else matrix.value).double()
    if not bool(value.isfinite().all()):
        raise UsageError("x holds NaN or infinite values: remove or impute these values first")
    return matrix, value


class Aggregation:
    """Multiply by `Â` as `acm.filters.low_pass` does, without a second copy of the edges.

    Args:
        graph: The graph; its pairs are the ones of `A`.
        norm, renormalize: As in `acm.filters.low_pass`.
    """

    def __init__(self, graph: Graph, norm: str = "rw", renormalize: bool = True):
        crow = torch.cat([graph.degree.new_zeros(1), graph.degree.cumsum(0)])
        ones = torch.ones(graph.node.numel(), dtype=torch.float64, device=crow.device)
        n = graph.num_nodes
        self.graph, self.renormalize = graph, renormalize
        self.adjacency = SparseMatrix(crow, graph.neighbor, ones, (n, n))
        degree = (graph.degree + int(renormalize)).double()
        scale = (degree if norm == "rw" else degree.sqrt()).reciprocal()
        self.left = torch.where(degree > 0, scale, 0)[:, None]
        self.right = 1 if norm == "rw" else self.left

    def __matmul__(self, x: Tensor) -> Tensor:
        """Return `Â x` for a dense `x`, `[N, F]`."""
        x = self.right * x
        return self.left * (self.adjacency @ x + x if self.renormalize else self.adjacency @ x)

    def transposed(self, y: Tensor, classes: int, weight: Tensor) -> Tensor:
        """Return `Âᵀ Z`, `[N, C]`; row v of `Z` holds `weight[v]` at `y[v]`, else zeros."""
        weight = weight * self.left.squeeze(1)
        entry = self.graph.neighbor * classes
        entry += y[self.graph.node]
        total = torch.bincount(entry, weight[self.graph.node], len(y) * classes)
        # bincount of no entries ignores the type of its weights, hence double().
        total = total.double().reshape(len(y), classes)
        if self.renormalize:
            total[torch.arange(len(y), device=y.device), y] += weight
        return self.right * total

    def filled(self, rows: Tensor, high: bool) -> Tensor:
        """Return which rows of `Â X` (`high`: of `X − Â X`) may have nonzeros, given those of X."""
        node, neighbor = self.graph.node, self.graph.neighbor
        nonzero = rows.clone() if self.renormalize or high else torch.zeros_like(rows)
        nonzero[node[rows[neighbor]]] = True
        if high:
            # Row v of X − Â X is zero if v has no neighbor except itself, since then Â_vv = 1.
            has_others = torch.zeros_like(rows)
            has_others[node[node != neighbor]] = True
            alone = ~has_others if self.renormalize else ~has_others & (self.graph.degree > 0)
            nonzero &= ~alone
        return nonzero

    @property
    def roundings(self) -> int:
        """The largest number of roundings of one term of `Â Âᵀ Z`."""
        columns = torch.bincount(self.graph.neighbor, minlength=1)
        return int(self.graph.degree.max()) + int(columns.max()) + _FILTER_ROUNDINGS


def similarity_sums(features: Features, graph: Graph, filter: str, low: Aggregation | None) -> Sums:
    """Sum `S(M, X)[v, u]` over the nodes u of each class, for each node v with a known label.

    Args:
        features: Features of all N nodes.
        graph: The graph with n known labels.
        filter: M: "low_pass" (`Â`), "high_pass" (`I − Â`) or "identity".
        low: `Â`; ignored if `filter` is "identity".

    Returns:
        Sums and bounds, `[n, C]`.
    """
    z = one_hot(graph.y, graph.num_classes).double()
    if graph.known is not None:
        z *= graph.known[:, None]
    x, magnitude = features.matrix, features.magnitude
    roundings, filled = features.roundings, features.filled
    if filter == "identity":
        value = x @ (x.T @ z)
        bound = value if magnitude is x else magnitude @ (magnitude.T @ z)
    else:
        assert low is not None  # only "identity" goes without it
        high = filter == "high_pass"
        low_z = low.transposed(graph.y, graph.num_classes, z.sum(1))
        g = x @ (x.T @ (z - low_z if high else low_z))
        value = g - low @ g if high else low @ g
        bound = value
        if high or magnitude is not x:
            g = magnitude @ (magnitude.T @ (z + low_z if high else low_z))
            bound = g + low @ g if high else low @ g
        roundings, filled = roundings + low.roundings, low.filled(filled, high)
    # A comparison adds at most C + 4 roundings. The factor 2 covers the rounding of the bound. A
    # row of M X that holds only zeros has sums of exactly 0.
    roundings += graph.num_classes + 4
    value = torch.where(filled[:, None], value, 0)
    error = torch.where(filled[:, None], 2 * roundings * _UNIT * bound + _TINY, 0)
    if graph.known is not None:
        value, error = value[graph.known], error[graph.known]
    return Sums(value, error)


def aggregation_signs(sums: Sums, y: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Compare each node's mean over its class with its mean over the other classes.

    Args:
        sums: The result of `similarity_sums`.
        y: Labels of the same n nodes.
        sizes: Number of the n nodes in each class, `[C]`.

    Returns:
        Signs of the differences, `[n]`, int8, and the mask of the undecided nodes.
    """
    (same, other), (same_error, other_error) = _split(sums.value, y), _split(sums.error, y)
    size = sizes[y].double()
    other_size = y.numel() - size
    # The value is N_c (N - N_c) times the difference of the means.
    value = other_size * same - size * other
    return _signs(value, other_size * same_error + size * other_error)


def diversification_signs(sums: Sums, y: Tensor) -> tuple[Tensor, Tensor]:
    """Test both inequalities of definition 2 for each node, given sums of `S(I - Â, X)`.

    The arguments are those of `aggregation_signs`.

    Returns:
        1 if both are strict, 0 if both hold and one is an equality, -1 if one fails, `[n]`, int8;
        and the mask of the undecided nodes.
    """
    (same, other), (same_error, other_error) = _split(sums.value, y), _split(sums.error, y)
    same_sign, same_undecided = _signs(same, same_error)
    other_sign, other_undecided = _signs(-other, other_error)
    sign = torch.minimum(same_sign, other_sign)
    return sign, (same_undecided | other_undecided) & (sign == 0)


def _split(sums: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum over each node's class and the sum over all other classes, both `[n]`."""
    own_class = one_hot(y, sums.size(1)).bool()
    # The total minus the first sum would subtract nearly equal numbers.
    return sums[own_class], torch.where(own_class, 0, sums).sum(1)


def _signs(value: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    undecided = (value.abs() <= error) & (error > 0)
    return torch.where(undecided, 0, value.sign()).to(torch.int8), undecided
