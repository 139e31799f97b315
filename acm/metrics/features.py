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
_FILTER_ROUNDINGS = 16  # a generous count: reciprocal, products, identity


class Features(NamedTuple):
    """Float64 features and the data of their error bound."""

    matrix: Tensor | SparseMatrix
    magnitude: Tensor | SparseMatrix  # the absolute values of `matrix`
    filled: Tensor  # mask `[N]` of the rows with a nonzero entry
    roundings: int  # the largest number of roundings of one term of `X Xᵀ a`


def prepare_features(x: Tensor, num_nodes: int, normalize: bool = False) -> Features:
    """Check features, convert them to float64 and scale them to order one.

    `normalize` divides each row by the sum of its absolute values.
    """
    if x.dim() != 2 or x.size(0) != num_nodes or not x.size(1) or x.is_complex():
        got = f"shape {list(x.shape)} and type {x.dtype}"
        raise UsageError(f"x has {got}: real numbers of shape [{num_nodes}, F] are needed")
    sparse = None if x.layout == torch.strided else SparseMatrix.from_torch(x.detach())
    if sparse is None:
        value, row = x.detach().double(), torch.arange(num_nodes, device=x.device)[:, None]
        longest_row, longest_column = x.size(1), num_nodes
    else:
        value, row = sparse.value.double(), sparse.row
        longest_row = int(sparse.crow.diff().max())
        longest_column = int(torch.bincount(sparse.col, minlength=1).max())
    if not bool(value.isfinite().all()):
        raise UsageError("x holds NaN or infinite values: remove or impute these values first")

    def over_rows(entries: Tensor, reduction: str) -> Tensor:
        if sparse is None:
            return entries.amax(1) if reduction == "amax" else entries.sum(1)
        return entries.new_zeros(num_nodes).scatter_reduce(0, row, entries, reduction)

    largest, roundings = over_rows(value.abs(), "amax"), longest_row + longest_column
    filled = largest > 0
    # Scaling by a power of two is exact. Normalized rows each have their own power of two; other
    # rows share one, so that no comparison changes.
    scale = largest if normalize else largest.max().expand(num_nodes)
    value = value * torch.exp2(-scale.clamp(min=2.0**-1000).log2().floor())[row]
    if normalize:
        value = value / torch.where(filled, over_rows(value.abs(), "sum"), 1)[row]
        roundings += 2 * (longest_row + 1)
    matrix = value if sparse is None else sparse.with_value(value)
    magnitude = matrix
    if bool((value < 0).any()):
        magnitude = value.abs() if sparse is None else sparse.with_value(value.abs())
    return Features(matrix, magnitude, filled, roundings)


class Aggregation:
    """Multiply by `Â` as `acm.filters.low_pass` does, without a second copy of the edges.

    Each pair (v, u) of the graph is an entry `A[v, u] = 1`.
    """

    def __init__(self, graph: Graph):
        crow = torch.cat([graph.degree.new_zeros(1), graph.degree.cumsum(0)])
        ones = torch.ones(graph.node.numel(), dtype=torch.float64, device=crow.device)
        self.graph, self.scale = graph, (graph.degree + 1).double().reciprocal()
        self.adjacency = SparseMatrix(crow, graph.neighbor, ones, (graph.num_nodes,) * 2)
        # The largest number of roundings of one term of `Â Âᵀ Z`.
        longest_column = int(torch.bincount(graph.neighbor, minlength=1).max())
        self.roundings = int(graph.degree.max()) + longest_column + _FILTER_ROUNDINGS

    def __matmul__(self, x: Tensor) -> Tensor:
        """Return `Â x` for a dense `x`, `[N, F]`."""
        return self.scale[:, None] * (self.adjacency @ x + x)

    def transposed(self, y: Tensor, classes: int, weight: Tensor) -> Tensor:
        """Return `Âᵀ Z`, `[N, C]`; row v of `Z` holds `weight[v]` at `y[v]`, else zeros."""
        weight = weight * self.scale
        entry = (self.graph.neighbor * classes).add_(y[self.graph.node])
        total = torch.bincount(entry, weight[self.graph.node], len(y) * classes)
        # bincount of no entries ignores the type of its weights, hence double().
        total = total.double().reshape(len(y), classes)
        total[torch.arange(len(y), device=y.device), y] += weight
        return total

    def filled(self, rows: Tensor, high: bool) -> Tensor:
        """Return which rows of `Â X` (`high`: of `X − Â X`) may have nonzeros, given those of X."""
        node, neighbor = self.graph.node, self.graph.neighbor
        nonzero = rows.clone()
        nonzero[node[rows[neighbor]]] = True
        if high:
            # Row v of X − Â X is zero if v has no neighbor except itself, since then Â_vv = 1.
            has_others = torch.zeros_like(rows)
            has_others[node[node != neighbor]] = True
            nonzero &= has_others
        return nonzero


def aggregation_signs(
    features: Features, graph: Graph, filter: str, low: Aggregation | None
) -> tuple[Tensor, Tensor]:
    """Compare each node's mean of `S(M, X)` over its class with its mean over the other classes.

    M is "low_pass" (`low`, which is `Â`), "high_pass" (`I − Â`) or "identity" (without `low`). The
    signs of the differences are returned, `[n]`, int8, and the mask of the undecided nodes.
    """
    (same, other), (same_error, other_error) = _sums(features, graph, filter, low)
    size = graph.class_sizes[graph.known_labels].double()
    other_size = size.numel() - size
    # The value is N_c (N - N_c) times the difference of the means.
    value = other_size * same - size * other
    return _signs(value, other_size * same_error + size * other_error)


def diversification_signs(
    features: Features, graph: Graph, low: Aggregation
) -> tuple[Tensor, Tensor]:
    """Test both inequalities of definition 2 on `S(I - Â, X)` for each node.

    The signs are those of `exact.diversification_signs`. They are returned with the mask of the
    undecided nodes.
    """
    (same, other), (same_error, other_error) = _sums(features, graph, "high_pass", low)
    same_sign, same_undecided = _signs(same, same_error)
    other_sign, other_undecided = _signs(-other, other_error)
    sign = torch.minimum(same_sign, other_sign)
    return sign, (same_undecided | other_undecided) & (sign == 0)


def _sums(
    features: Features, graph: Graph, filter: str, low: Aggregation | None
) -> list[tuple[Tensor, Tensor]]:
    """Sum `S(M, X)[v, u]` over the u of v's class and over the other u, for each known node v.

    The two sums are returned, and the bounds of their errors, `[n]` each.
    """
    z = one_hot(graph.y, graph.num_classes).double()
    if graph.known is not None:
        z *= graph.known[:, None]
    x, magnitude, filled, roundings = features
    if low is None:
        value = x @ (x.T @ z)
        bound = value if magnitude is x else magnitude @ (magnitude.T @ z)
    else:
        high = filter == "high_pass"
        low_z = low.transposed(graph.y, graph.num_classes, z.sum(1))
        g = x @ (x.T @ (z - low_z if high else low_z))
        value = bound = g - low @ g if high else low @ g
        if high or magnitude is not x:
            g = magnitude @ (magnitude.T @ (z + low_z if high else low_z))
            bound = g + low @ g if high else low @ g
        roundings, filled = roundings + low.roundings, low.filled(filled, high)
    # A comparison adds at most C + 4 roundings. The factor 2 covers the rounding of the bound. A
    # row of M X that holds only zeros has sums of exactly 0.
    roundings += graph.num_classes + 4
    error = 2 * roundings * _UNIT * bound + _TINY
    known = slice(None) if graph.known is None else graph.known
    own_class = one_hot(graph.known_labels, graph.num_classes).bool()
    sums = []
    for by_class in (value, error):
        by_class = torch.where(filled[:, None], by_class, 0)[known]
        # The total minus the first sum would subtract nearly equal numbers.
        sums.append((by_class[own_class], torch.where(own_class, 0, by_class).sum(1)))
    return sums


def _signs(value: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
    undecided = (value.abs() <= error) & (error > 0)
    return torch.where(undecided, 0, value.sign()).to(torch.int8), undecided
