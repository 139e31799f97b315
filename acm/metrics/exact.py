"""Verdicts on label-based similarities in exact arithmetic.

With `Â = Â_rw` every row of `Â Z` is a vector of whole numbers n_v over the degree d_v. The mean of
`S(Â, Z)[v, u]` over a class is, up to a positive factor, `n_v · S_c` with `S_c = Σ n_u / d_u` over
that class: C rational vectors with C entries, whose common denominator is the least common multiple
of all degrees. They are computed exactly, once, as Python's integers. A node's verdict is then the
sign of the product of its whole numbers with a combination of those vectors: float64 with an error
bound decides nearly all of them, and those it leaves open are decided with Python's integers, on
the few distinct rows that they have.
"""

from __future__ import annotations

from math import lcm

import numpy as np
import torch
from torch import Tensor

from acm.metrics.graph import Graph

_UNIT = 2.0**-53  # rounding to nearest changes a float64 by at most this share of it
_TINY = 2.0**-1000  # far above what underflow takes away from a sum of products of order one


def neighbor_counts(graph: Graph, renormalize: bool, labels: Tensor) -> tuple[Tensor, Tensor]:
    """`Ã Z` and the degrees: neighbours of each class `[N, C]` and in total `[N]`, as int64.

    Args:
        graph: The graph.
        renormalize: Whether every node counts itself once more (`Ã = A + I`).
        labels: Which neighbours count in `Z`, mask `[N]`; all count in the degree.
    """
    classes, n = graph.num_classes, graph.num_nodes
    place = graph.node * classes
    place += graph.y[graph.neighbor]
    if not bool(labels.all()):
        place = place[labels[graph.neighbor]]
    counts = torch.bincount(place, minlength=n * classes).reshape(n, classes)
    degree = graph.degree
    if renormalize:
        own = torch.arange(n, device=counts.device)
        counts[own, graph.y] += labels.long()
        degree = degree + 1
    return counts, degree


def class_sums(rows: Tensor, degree: Tensor, y: Tensor, classes: int) -> np.ndarray:
    """`L · Σ_{u in c} rows_u / degree_u` for each class c, with L the least common denominator.

    Args:
        rows: Whole numbers, `[n, K]`.
        degree: Their positive denominators, `[n]`.
        y: Classes, `[n]`.

    Returns:
        Python integers, `[C, K]`.
    """
    # Sum in int64 what has the same class and the same degree: there are few such pairs, and no
    # sum exceeds the number of edges plus nodes.
    distinct, at = torch.unique(degree, return_inverse=True)
    pair, at = torch.unique(y * distinct.numel() + at, return_inverse=True)
    sums = rows.new_zeros(pair.numel(), rows.size(1)).index_add_(0, at, rows)
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
    """The sign of `rows_v · weights_{y_v}`, exactly.

    Args:
        rows: Whole numbers below 2**53 in magnitude, `[n, K]`.
        y: Which weights to take, `[n]`.
        weights: Python integers of any size, `[C, K]`.

    Returns:
        -1, 0 or 1 as int8, `[n]`.
    """
    scaled = torch.from_numpy(_scaled(weights)).to(rows.device)
    terms = rows.double() * scaled[y]
    value = terms.sum(1)
    # K products and sums, and the rounded weights; doubled for the rounding of the bound itself.
    bound = 2 * (rows.size(1) + 3) * _UNIT * terms.abs().sum(1) + _TINY * rows.abs().sum(1)
    sign = value.sign().to(torch.int8)
    # Where the weights vanish the comparison is 0 against 0, whatever the row.
    vanish = torch.from_numpy((weights == 0).all(1)).to(rows.device)[y]
    sign[vanish] = 0
    left = ((value.abs() <= bound) & ~vanish).nonzero().squeeze(1)
    if left.numel():
        distinct, at = torch.unique(
            torch.cat([y[left, None], rows[left]], 1), dim=0, return_inverse=True
        )
        case = distinct.cpu().numpy()
        exact = (case[:, 1:].astype(object) * weights[case[:, 0]]).sum(1)
        decided = (exact > 0).astype(np.int8) - (exact < 0).astype(np.int8)
        sign[left] = torch.from_numpy(decided).to(rows.device)[at]
    return sign


def _scaled(weights: np.ndarray) -> np.ndarray:
    """The weights as float64, each row divided by its largest magnitude: no overflow, and underflow
    only where a weight is nothing beside another one."""
    largest = np.maximum(abs(weights).max(1, keepdims=True), 1)
    return (weights / largest).astype(np.float64)  # a quotient of Python integers rounds correctly


def aggregation_signs(counts: Tensor, degree: Tensor, y: Tensor, sizes: Tensor) -> Tensor:
    """For each node, the sign of its mean of `S(Â, Z)` over its class less that over the others.

    Args:
        counts: Rows of `Ã Z`, `[n, C]`.
        degree: Their sums over all neighbours, `[n]`; a row without neighbours is zero.
        y: Labels, `[n]`.
        sizes: Nodes in each class among these, `[C]`.
    """
    sums = class_sums(counts, degree.clamp(min=1), y, sizes.numel())
    size = sizes.cpu().numpy().astype(object)[:, None]
    # mean over the class - mean over the rest, times N_c (N - N_c)
    return signs(counts, y, size.sum() * sums - size * sums.sum(0))


def diversification_signs(counts: Tensor, degree: Tensor, y: Tensor, sizes: Tensor) -> Tensor:
    """For each node, whether it is diversification distinguishable by `S(I - Â, Z)`.

    Arguments as in `aggregation_signs`.

    Returns:
        1 where both conditions hold strictly, 0 where one holds with equality, -1 where one fails.
    """
    degree = degree.clamp(min=1)
    rows = -counts
    rows[torch.arange(y.numel(), device=y.device), y] += degree
    sums = class_sums(rows, degree, y, sizes.numel())
    return torch.minimum(signs(rows, y, sums), -signs(rows, y, sums.sum(0) - sums))
