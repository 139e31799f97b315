"""Similarity sums of features in float64, each with a bound of its rounding error.

`Σ_{u in c} S(M, X)[v, u] = (M X)_v · Σ_{u in c} (M X)_u` is evaluated from the right: first
`Mᵀ 1_c`, then `Xᵀ` of it, then `X` and `M` of that. Every factor has C columns, so that the cost is
that of C products with `M` and `X`, and `M X`, which may be dense, is never formed.

The bound is the same chain in absolute values, times the number of roundings that one of its terms
can suffer (Higham, "Accuracy and stability of numerical algorithms", lemma 3.1): a comparison is
undecided where the difference is not larger than that.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.metrics.graph import Graph

_UNIT = 2.0**-53  # rounding to nearest changes a float64 by at most this share of it
_TINY = 2.0**-900  # features are scaled to order one: what underflow takes away is far below this
_FILTER_ROUNDINGS = 16  # of scaling twice: root, reciprocal, products, own term; with a margin


class Features(NamedTuple):
    """Features in float64, with what the bound needs to know of them."""

    matrix: Tensor | SparseMatrix
    magnitude: Tensor | SparseMatrix
    filled: Tensor
    """Mask `[N]` of the rows that are not all zero."""
    roundings: int
    """Roundings that one term of `X Xᵀ a` can suffer."""


class Sums(NamedTuple):
    """Sums of similarities over each class, `[n, C]`, and how far off each can be."""

    value: Tensor
    error: Tensor


def prepare_features(x: Tensor, num_nodes: int, normalize: bool) -> Features:
    """Check features and bring them to float64, scaled to order one, row-normalised if asked.

    Raises:
        UsageError: The shape is not [N, F], or a value is NaN or infinite.
    """
    matrix, value = _finite(x.detach() if isinstance(x, Tensor) else x, num_nodes)
    dense = isinstance(matrix, Tensor)
    if dense:
        longest_row, longest_column = x.size(1), num_nodes
        largest = value.abs().amax(1)
    else:
        row = matrix.row
        longest_row = int(matrix.crow.diff().max())
        longest_column = int(torch.bincount(matrix.col, minlength=1).max())
        largest = value.new_zeros(num_nodes).scatter_reduce(0, row, value.abs(), "amax")
    filled = largest > 0
    # Powers of two round nothing. One for all nodes changes no comparison, and where rows are
    # normalised each can have its own.
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
    if dense:
        return Features(value, value.abs() if signed else value, filled, roundings)
    matrix = matrix.with_value(value)
    magnitude = matrix.with_value(value.abs()) if signed else matrix
    return Features(matrix, magnitude, filled, roundings)


def dense_features(x: Tensor, num_nodes: int) -> Tensor:
    """Features as a dense float64 matrix; raises what `prepare_features` raises."""
    matrix, value = _finite(x, num_nodes)
    return value if isinstance(matrix, Tensor) else matrix.with_value(value).to_torch().to_dense()


def _finite(x: Tensor, num_nodes: int) -> tuple[Tensor | SparseMatrix, Tensor]:
    """Features that are real and finite, and their values in float64."""
    if not isinstance(x, Tensor) or x.dim() != 2 or x.size(0) != num_nodes or not x.size(1):
        found = list(x.shape) if isinstance(x, Tensor) else type(x)
        raise UsageError(
            f"x has shape {found}: features [{num_nodes}, F], a row for each label, are needed"
        )
    if x.is_complex() or x.is_quantized or x.is_meta:
        form = "meta" if x.is_meta else x.dtype
        raise UsageError(f"x is a {form} tensor: real numbers are needed")
    if x.layout in (torch.sparse_bsr, torch.sparse_bsc):
        x = x.to_dense().to_sparse_csr()
    matrix = x if x.layout == torch.strided else SparseMatrix.from_torch(x)
    value = (matrix if isinstance(matrix, Tensor) else matrix.value).double()
    if not bool(value.isfinite().all()):
        raise UsageError("x holds NaN or infinite values: clean or impute them first")
    return matrix, value


class Aggregation:
    """`Â` as an operator: `acm.filters.low_pass` without a second copy of the edges.

    Args:
        graph: The graph, whose pairs are the ones of `A`, row by row.
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
        """`Â x` for dense `[N, F]`."""
        x = self.right * x
        return self.left * (self.adjacency @ x + x if self.renormalize else self.adjacency @ x)

    def transposed(self, y: Tensor, classes: int, weight: Tensor) -> Tensor:
        """`Âᵀ Z` `[N, C]` for labels `y` and weights of the nodes in `Z`, without the transpose."""
        weight = weight * self.left.squeeze(1)
        place = self.graph.neighbor * classes
        place += y[self.graph.node]
        total = torch.bincount(place, weight[self.graph.node], len(y) * classes)
        # (.double(): without any entry bincount forgets the type of its weights.)
        total = total.double().reshape(len(y), classes)
        if self.renormalize:
            total[torch.arange(len(y), device=y.device), y] += weight
        return self.right * total

    def filled(self, rows: Tensor, high: bool) -> Tensor:
        """Which rows of `Â X`, or of `X − Â X`, can hold anything but zeros, given those of `X`."""
        node, neighbor = self.graph.node, self.graph.neighbor
        found = rows.clone() if self.renormalize or high else torch.zeros_like(rows)
        found[node[rows[neighbor]]] = True
        if high:
            # A node that is its own only neighbour has Â_vv = 1 and differs from nobody.
            other = torch.zeros_like(rows)
            other[node[node != neighbor]] = True
            alone = ~other if self.renormalize else ~other & (self.graph.degree > 0)
            found &= ~alone
        return found

    @property
    def roundings(self) -> int:
        """Roundings that one term of `Â Âᵀ Z` can suffer."""
        columns = torch.bincount(self.graph.neighbor, minlength=1)
        return int(self.graph.degree.max()) + int(columns.max()) + _FILTER_ROUNDINGS


def similarity_sums(features: Features, graph: Graph, filter: str, low: Aggregation | None) -> Sums:
    """`Σ_{u in c} S(M, X)[v, u]` for each node v and class c, over the nodes with known labels.

    Args:
        features: Features of all N nodes.
        graph: The labels, and which of them are known.
        filter: M: "low_pass" (`Â`), "high_pass" (`I − Â`) or "identity".
        low: `Â`, of no account if `filter` is "identity".

    Returns:
        Sums for the nodes with known labels, `[n, C]`, n of them.
    """
    own = one_hot(graph.y, graph.num_classes).double()
    if graph.known is not None:
        own *= graph.known[:, None]
    x, magnitude = features.matrix, features.magnitude
    roundings, filled = features.roundings, features.filled
    if filter == "identity":
        value = x @ (x.T @ own)
        bound = value if magnitude is x else magnitude @ (magnitude.T @ own)
    else:
        high = filter == "high_pass"
        low_own = low.transposed(graph.y, graph.num_classes, own.sum(1))
        g = x @ (x.T @ (own - low_own if high else low_own))
        value = g - low @ g if high else low @ g
        bound = value
        if high or magnitude is not x:
            g = magnitude @ (magnitude.T @ (own + low_own if high else low_own))
            bound = g + low @ g if high else low @ g
        roundings, filled = roundings + low.roundings, low.filled(filled, high)
    # A comparison of these sums adds as many roundings as there are classes, and some. Doubled for
    # the rounding of the bound itself. A row of M X without any entry has sums that are exactly 0.
    roundings += graph.num_classes + 4
    value = torch.where(filled[:, None], value, 0)
    error = torch.where(filled[:, None], 2 * roundings * _UNIT * bound + _TINY, 0)
    if graph.known is not None:
        value, error = value[graph.known], error[graph.known]
    return Sums(value, error)


def aggregation_signs(sums: Sums, y: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """For each node, the sign of its mean over its class less its mean over the other classes.

    Args:
        sums: As `similarity_sums` has them.
        y: Labels of the same nodes, `[n]`.
        sizes: Nodes in each class among them, `[C]`.

    Returns:
        -1, 0 or 1 as int8, `[n]`, and the mask of the nodes that are undecided.
    """
    (same, rest), (same_error, rest_error) = _split(sums.value, y), _split(sums.error, y)
    size = sizes[y].double()
    others = y.numel() - size
    # mean over the class - mean over the rest, times N_c (N - N_c)
    return _signs(others * same - size * rest, others * same_error + size * rest_error)


def diversification_signs(sums: Sums, y: Tensor) -> tuple[Tensor, Tensor]:
    """For each node, whether it is diversification distinguishable.

    Arguments as in `aggregation_signs`.

    Returns:
        1 where both conditions hold strictly, 0 where one holds with equality, -1 where one fails,
        and the mask of the nodes for which it is undecided which.
    """
    (same, rest), (same_error, rest_error) = _split(sums.value, y), _split(sums.error, y)
    (first, open_first), (second, open_second) = _signs(same, same_error), _signs(-rest, rest_error)
    sign = torch.minimum(first, second)
    return sign, (open_first | open_second) & (sign == 0)


def _split(sums: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The sum over a node's own class, and that over all other classes."""
    own = one_hot(y, sums.size(1)).bool()
    # Not total - own: that would subtract nearly equal numbers.
    return sums[own], torch.where(own, 0, sums).sum(1)


def _signs(value: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    undecided = (value.abs() <= error) & (error > 0)
    return torch.where(undecided, 0, value.sign()).to(torch.int8), undecided
