"""Compare similarities of labels in exact integers.

A row of `Â_rw Z` is a vector n_v of whole numbers divided by the degree d_v. The mean of
`S(Â, Z)[v, u]` over a class c is a positive multiple of `n_v · Σ_{u in c} n_u / d_u`. Multiplied by
the least common multiple of the degrees, the C sums are vectors of Python integers. The sign of a
comparison is then the sign of a product of two integer vectors. Float64 with an error bound decides
most signs; Python integers decide the others, once for each distinct row.
"""

from __future__ import annotations

from math import lcm

import numpy as np
import torch
from torch import Tensor

from acm.metrics.graph import Graph

_UNIT = 2.0**-53  # the largest relative error of rounding a real number to float64
_TINY = 2.0**-1000  # exceeds any underflow in a sum of products of order one


def neighbor_counts(
    graph: Graph, renormalize: bool, in_z: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return `Ã Z`, the neighbors of each node in each class `[N, C]`, and the degrees `[N]`.

    Args:
        graph: The graph, N nodes and C classes.
        renormalize: Whether `Ã = A + I`, so that each node also counts itself.
        in_z: Mask `[N]` of the nodes whose row of `Z` is not zero; None means all nodes. The other
            nodes still count in the degrees.
    """
    classes, n = graph.num_classes, graph.num_nodes
    entry = graph.node * classes
    entry += graph.y[graph.neighbor]
    if in_z is not None:
        entry = entry[in_z[graph.neighbor]]
    counts = torch.bincount(entry, minlength=n * classes).reshape(n, classes)
    if not renormalize:
        return counts, graph.degree
    nodes = torch.arange(n, device=counts.device)
    counts[nodes, graph.y] += 1 if in_z is None else in_z.long()
    return counts, graph.degree + 1


def class_sums(rows: Tensor, degree: Tensor, y: Tensor, classes: int) -> np.ndarray:
    """Return `L · Σ_{u in c} rows_u / degree_u` for each class c, L the common denominator.

    Args:
        rows: Whole numbers, `[n, K]`.
        degree: The positive denominator of each row, `[n]`.
        y: Classes, `[n]`.

    Returns:
        Python integers, `[C, K]`.
    """
    # There are few pairs of a class and a degree. The int64 sum of the rows of a pair cannot
    # overflow: it is at most the number of edges plus nodes.
    distinct, index = torch.unique(degree, return_inverse=True)
    pair, index = torch.unique(y * distinct.numel() + index, return_inverse=True)
    sums = rows.new_zeros(pair.numel(), rows.size(1)).index_add_(0, index, rows)
    denominator = [int(d) for d in distinct.tolist()]
    common = lcm(*denominator)
    factor = np.array([common // d for d in denominator], dtype=object)
    pair = pair.cpu().numpy()
    weighted = sums.cpu().numpy().astype(object) * factor[pair % len(factor), None]
    first = np.searchsorted(pair // len(factor), np.arange(classes + 1))
    total = np.zeros((classes, rows.size(1)), dtype=object)
    for c in range(classes):
        total[c] = weighted[first[c] : first[c + 1]].sum(0)
    return total


def signs(rows: Tensor, y: Tensor, weights: np.ndarray) -> Tensor:
    """Return the exact sign of `rows_v · weights_{y_v}` for each row v.

    Args:
        rows: Whole numbers below 2**53 in magnitude, `[n, K]`.
        y: The row of `weights` for each row, `[n]`.
        weights: Python integers of any size, `[C, K]`.

    Returns:
        Signs -1, 0 or 1, `[n]`, int8.
    """
    scaled = torch.from_numpy(_scaled(weights)).to(rows.device)
    terms = rows.double() * scaled[y]
    value = terms.sum(1)
    # Each term is rounded at most K + 3 times: weight, product and sums. The factor 2 covers the
    # rounding of the bound.
    bound = 2 * (rows.size(1) + 3) * _UNIT * terms.abs().sum(1) + _TINY * rows.abs().sum(1)
    sign = value.sign().to(torch.int8)
    # A row of zero weights compares 0 with 0, whatever the counts are.
    zero = torch.from_numpy((weights == 0).all(1)).to(rows.device)[y]
    sign[zero] = 0
    undecided = ((value.abs() <= bound) & ~zero).nonzero().squeeze(1)
    if undecided.numel():
        distinct, index = torch.unique(
            torch.cat([y[undecided, None], rows[undecided]], 1), dim=0, return_inverse=True
        )
        case = distinct.cpu().numpy()
        exact = (case[:, 1:].astype(object) * weights[case[:, 0]]).sum(1)
        exact_sign = (exact > 0).astype(np.int8) - (exact < 0).astype(np.int8)
        sign[undecided] = torch.from_numpy(exact_sign).to(rows.device)[index]
    return sign


def _scaled(weights: np.ndarray) -> np.ndarray:
    """Divide each row by its largest magnitude, so that float64 cannot overflow."""
    largest = np.maximum(abs(weights).max(1, keepdims=True), 1)
    return (weights / largest).astype(np.float64)  # Python rounds quotients of integers correctly


def aggregation_signs(counts: Tensor, degree: Tensor, y: Tensor, sizes: Tensor) -> Tensor:
    """Compare each node's mean of `S(Â, Z)` over its class with the mean over the other classes.

    Args:
        counts: Rows of `Ã Z`, `[n, C]`.
        degree: Neighbors of each node, `[n]`; 0 only where the row of counts is zero.
        y: Labels, `[n]`.
        sizes: Number of the n nodes in each class, `[C]`.

    Returns:
        Signs of the differences, `[n]`, int8.
    """
    sums = class_sums(counts, degree.clamp(min=1), y, sizes.numel())
    size = sizes.cpu().numpy().astype(object)[:, None]
    # The sign is that of N_c (N - N_c) times the difference of the means.
    return signs(counts, y, size.sum() * sums - size * sums.sum(0))


def diversification_signs(counts: Tensor, degree: Tensor, y: Tensor, sizes: Tensor) -> Tensor:
    """Test both inequalities of definition 2 on `S(I - Â, Z)` for each node.

    The arguments are those of `aggregation_signs`.

    Returns:
        1 if both are strict, 0 if both hold and one is an equality, -1 if one fails, `[n]`, int8.
    """
    degree = degree.clamp(min=1)
    rows = -counts
    rows[torch.arange(y.numel(), device=y.device), y] += degree
    sums = class_sums(rows, degree, y, sizes.numel())
    return torch.minimum(signs(rows, y, sums), -signs(rows, y, sums.sum(0) - sums))
