"""Compare similarities of labels in exact integers.

A row of `Â_rw Z` is a vector n_v of whole numbers divided by the degree d_v. The mean of
`S(Â, Z)[v, u]` over a class c is a positive multiple of `n_v · Σ_{u in c} n_u / d_u`. Multiplied by
the least common multiple of the degrees, the C sums are vectors of Python integers. The sign of a
comparison is then the sign of a product of two integer vectors. Float64 with an error bound decides
most signs; Python integers decide the others, once for each distinct row.

Both comparisons take a graph with n known labels and `in_z`, the mask `[N]` of the nodes whose row
of `Z` is not zero; None means all nodes.
"""

from __future__ import annotations

from math import lcm

import numpy as np
import torch
from torch import Tensor

from acm.metrics.graph import Graph

_UNIT = 2.0**-53  # the largest relative error of rounding a real number to float64
_TINY = 2.0**-1000  # exceeds any underflow in a sum of products of order one


def aggregation_signs(graph: Graph, in_z: Tensor | None = None, renormalize: bool = True) -> Tensor:
    """Compare each node's mean of `S(Â, Z)` over its class with its mean over the other classes.

    Without `renormalize`, `Â` has `A` in the place of `A + I`: no node counts itself. The signs of
    the differences are returned, `[n]`, int8.
    """
    counts, degree = _neighbor_counts(graph, in_z, renormalize)
    sums = class_sums(counts, degree, graph.known_labels, graph.num_classes)
    size = graph.class_sizes.cpu().numpy().astype(object)[:, None]
    # The sign is that of N_c (N - N_c) times the difference of the means.
    return signs(counts, graph.known_labels, size.sum() * sums - size * sums.sum(0))


def diversification_signs(graph: Graph, in_z: Tensor | None = None) -> Tensor:
    """Test both inequalities of definition 2 on `S(I - Â, Z)` for each node, `[n]`, int8.

    A sign is 1 if both are strict, 0 if both hold and one is an equality, and -1 if one fails.
    """
    counts, degree = _neighbor_counts(graph, in_z)
    y = graph.known_labels
    rows = -counts
    rows[torch.arange(y.numel(), device=y.device), y] += degree
    sums = class_sums(rows, degree, y, graph.num_classes)
    return torch.minimum(signs(rows, y, sums), -signs(rows, y, sums.sum(0) - sums))


def _neighbor_counts(
    graph: Graph, in_z: Tensor | None, renormalize: bool = True
) -> tuple[Tensor, Tensor]:
    """Return `Ã Z`, the neighbors of known nodes by class, `[n, C]`, and degrees from 1, `[n]`."""
    classes, n = graph.num_classes, graph.num_nodes
    entry = (graph.node * classes).add_(graph.y[graph.neighbor])
    if in_z is not None:
        entry = entry[in_z[graph.neighbor]]
    counts = torch.bincount(entry, minlength=n * classes).reshape(n, classes)
    degree = graph.degree.clamp(min=1)  # a node without neighbors has a row of zeros
    if renormalize:
        degree = graph.degree + 1
        nodes = torch.arange(n, device=counts.device)
        counts[nodes, graph.y] += 1 if in_z is None else in_z.long()
    return (counts, degree) if graph.known is None else (counts[graph.known], degree[graph.known])


def class_sums(rows: Tensor, degree: Tensor, y: Tensor, classes: int) -> np.ndarray:
    """Return `L · Σ_{u in c} rows_u / degree_u` for each class c, as Python integers `[C, K]`.

    `rows`, `[n, K]`, are whole numbers, and L is the common denominator of the degrees, `[n]`.
    """
    # There are few pairs of a class and a degree. The int64 sum of the rows of a pair cannot
    # overflow: it is at most the number of edges plus nodes.
    distinct, index = torch.unique(degree, return_inverse=True)
    pair, index = torch.unique(y * distinct.numel() + index, return_inverse=True)
    sums = rows.new_zeros(pair.numel(), rows.size(1)).index_add_(0, index, rows)
    denominator = [int(d) for d in distinct.tolist()]
    common = lcm(*denominator)
    factor = np.array([common // d for d in denominator], dtype=object)
    c, d = np.divmod(pair.cpu().numpy(), len(factor))
    total = np.zeros((classes, rows.size(1)), dtype=object)
    np.add.at(total, c, sums.cpu().numpy().astype(object) * factor[d, None])
    return total


def signs(rows: Tensor, y: Tensor, weights: np.ndarray) -> Tensor:
    """Return the exact sign of `rows_v · weights_{y_v}` for each row v, `[n]`, int8.

    `rows`, `[n, K]`, are whole numbers below 2**53 in magnitude. `weights`, `[C, K]`, are Python
    integers of any size.
    """
    # Divided by its largest magnitude, no row of weights overflows float64. Python rounds
    # quotients of integers correctly.
    largest = np.maximum(abs(weights).max(1, keepdims=True), 1)
    scaled = torch.from_numpy((weights / largest).astype(np.float64)).to(rows.device)
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
        cases = torch.cat([y[undecided, None], rows[undecided]], 1)
        distinct, index = torch.unique(cases, dim=0, return_inverse=True)
        case = distinct.cpu().numpy()
        exact = np.sign((case[:, 1:].astype(object) * weights[case[:, 0]]).sum(1))
        sign[undecided] = torch.from_numpy(exact.astype(np.int8)).to(rows.device)[index]
    return sign
