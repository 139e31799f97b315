r"""Theorem 2: with two classes every node is diversification distinguishable (section 4.1, App. E).

With :math:`X = Z` a row of :math:`(I - \hat A) Z` is :math:`e_{c_v} - W_v`, where
:math:`W_v = (\hat A Z)_v`, and :math:`S(I - \hat A, Z)_{v,u}` is the product of two of them. All
that the proof uses is :math:`0 \le W_v^c` and :math:`\sum_c W_v^c = 1`, true for every
row-stochastic :math:`\hat A`: directed and weighted graphs are covered.

Graphs are adjacency matrices of non-negative integers, row = the node that aggregates; Â adds one
self-loop to every node. All decisions are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from math import lcm
from typing import NamedTuple

import numpy as np
import sympy as sp


def symbolic_similarity(classes: int, same: bool) -> sp.Expr:
    """S(I − Â, Z)_{v,u} for v in class 0 and u in class 0 or 1, from its definition.

    W_v^c and W_u^c are non-negative symbols for the classes other than the own; the entry of the
    own class is what is missing to one.
    """
    rows = []
    for name, own in (("v", 0), ("u", 0 if same else 1)):
        w = [sp.Symbol(f"W_{name}^{c}", nonnegative=True) for c in range(classes)]
        w[own] = 1 - sum(w[:own] + w[own + 1 :])
        rows.append([int(c == own) - w[c] for c in range(classes)])
    return sp.expand(sum(a * b for a, b in zip(*rows)))


def printed_similarity(same: bool) -> sp.Expr:
    """The last line of Appendix E for C = 2, in the symbols of `symbolic_similarity`."""
    v, u = (sp.Symbol(f"W_{n}^{c}", nonnegative=True) for n, c in
            (("v", 1), ("u", 1 if same else 0)))  # fmt: skip
    if same:  # Σ_{c ≠ c_v} W_v^c W_u^c + (1 − W_v^{c_v})(1 − W_u^{c_v})
        return v * u + (1 - (1 - v)) * (1 - (1 - u))
    # W_v^{c_u} (W_u^{c_u} − 1) + W_u^{c_v} (W_v^{c_v} − 1)
    return v * ((1 - u) - 1) + u * ((1 - v) - 1)


def distinguishable(adjacency: np.ndarray, y: np.ndarray) -> list[bool]:
    """Definition 2 for X = Z and Â_rw, node by node, in exact arithmetic.

    Args:
        adjacency: `[N, N]`, non-negative integers.
        y: Classes 0 … C − 1, each with a node, `[N]`.
    """
    return [same >= 0 >= other for same, other, _ in _sums(adjacency.tolist(), [*map(int, y)])]


def means(adjacency: np.ndarray, y: np.ndarray) -> list[tuple[Fraction, Fraction]]:
    """The two means of definition 2 for every node: over its own class, and over the others."""
    y = [*map(int, y)]
    return [
        (Fraction(same, scale * y.count(c)), Fraction(other, scale * (len(y) - y.count(c))))
        for c, (same, other, scale) in zip(y, _sums(adjacency.tolist(), y))
    ]


def _sums(adjacency: list[list[int]], y: list[int]) -> Iterator[tuple[int, int, int]]:
    """A node's sums of similarities to its class and to the others, times a common scale."""
    total = [1 + sum(weights) for weights in adjacency]
    common = lcm(*total)
    per_class = [[0] * (max(y) + 1) for _ in range(max(y) + 1)]
    rows = []
    for v, weights in enumerate(adjacency):
        row, share = [0] * len(per_class), common // total[v]
        row[y[v]] = common - share  # the self-loop of Â
        for u, weight in enumerate(weights):
            row[y[u]] -= share * weight
        rows.append(row)
        sums = per_class[y[v]]
        for c, value in enumerate(row):
            sums[c] += value
    for v, row in enumerate(rows):
        products = [sum(a * b for a, b in zip(row, sums)) for sums in per_class]
        same = products[y[v]]
        yield same, sum(products) - same, common**2


def random_graph(rng: np.random.Generator, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """A random graph in one of many shapes, with labels in which every class occurs.

    Undirected or directed, sparse to complete, with and without self-loops, with weights or
    repeated edges, trees, stars, disconnected ones and ones with isolated nodes.
    """
    size = int(rng.integers(classes, 13))
    shape = rng.choice(["random", "tree", "star", "bipartite"])
    upper = np.triu(rng.random((size, size)) < rng.random(), 1).astype(np.int64)
    if shape == "tree":
        upper[:] = 0
        for v in range(1, size):
            upper[rng.integers(0, v), v] = 1
    elif shape == "star":
        upper[:] = 0
        upper[0, 1:] = 1
    elif shape == "bipartite":
        side = rng.random(size) < 0.5
        upper *= side[:, None] != side
    adjacency = upper + upper.T
    if rng.random() < 0.5:  # directed: each direction is kept or not
        adjacency *= rng.random((size, size)) < 0.6
    if rng.random() < 0.3:
        adjacency *= rng.integers(1, 10, (size, size))
    if rng.random() < 0.3:
        adjacency += np.diag(rng.integers(0, 2, size))
    # Labels of every balance, from near even to all but a few in one class.
    share = rng.dirichlet(np.full(classes, rng.choice([0.3, 1, 10])))
    y = rng.choice(classes, size, p=share)
    y[rng.permutation(size)[:classes]] = np.arange(classes)
    return adjacency, y


def random_share(
    rng: np.random.Generator, classes: int, cross: float, graphs: int, nodes: int = 60
) -> float:
    """The mean DD of undirected random graphs with one large class and C − 1 small ones.

    Args:
        classes: C.
        cross: How likely two nodes of different small classes are joined, relative to two nodes of
            one class or a node and one of the large class. At 1 edges do not depend on labels.
        graphs: How many; each has a mean degree of 6 and a third of its nodes in the large class.
    """
    small = np.arange(nodes - nodes // 3) % (classes - 1) + 1
    y = np.concatenate([np.zeros(nodes // 3, dtype=np.int64), small])
    apart = (y[:, None] != y) & (y[:, None] > 0) & (y > 0)
    chance = np.where(apart, cross, 1.0)
    chance *= 6 * nodes / chance.sum()
    share = []
    for _ in range(graphs):
        upper = np.triu(rng.random((nodes, nodes)) < chance, 1).astype(np.int64)
        share.append(np.mean(distinguishable(upper + upper.T, y)))
    return float(np.mean(share))


class Counterexample(NamedTuple):
    """A graph with a node that is not diversification distinguishable."""

    edges: list[tuple[int, int]]
    y: tuple[int, ...]
    failing: list[int]


def counterexamples(
    nodes: int, classes: int, norm: str = "rw", directed: bool = False, connected: bool = True
) -> Iterator[Counterexample]:
    """All simple graphs of so many nodes with DD < 1, fewest edges first, by exhaustive search.

    Args:
        nodes: N, at most 5 (4 if directed): all graphs and labellings are gone through, but for
            the names of the classes.
        classes: C.
        norm: "rw", or "sym" for Â_sym (undirected graphs only).
        directed: Go through directed graphs; an edge (i, j) lets i aggregate from j.
        connected: Leave out graphs that fall apart.
    """
    pairs = [(i, j) for i in range(nodes) for j in range(nodes) if i < j or (directed and i != j)]
    labels = list(_labellings(nodes, classes))
    scale = lcm(*range(1, nodes + 1))
    for count in range(len(pairs) + 1):
        for edges in combinations(pairs, count):
            adjacency = np.zeros((nodes, nodes), dtype=np.int64)
            for i, j in edges:
                adjacency[i, j] = 1
                adjacency[j, i] = adjacency[j, i] or not directed
            if connected and not _connected(adjacency + adjacency.T):
                continue
            tilde = adjacency + np.eye(nodes, dtype=np.int64)
            degree = tilde.sum(axis=1)
            for y in labels:
                if norm == "rw":
                    z = np.eye(classes, dtype=np.int64)[list(y)]
                    # `scale` times (I − Â) Z, in integers.
                    rows = scale * z - (scale // degree)[:, None] * (tilde @ z)
                    failing = _failing(rows, z)
                else:
                    failing = _failing_symmetric(tilde, degree, y, classes)
                if failing:
                    yield Counterexample(list(edges), y, failing)


def smallest_counterexample(
    classes: int, norm: str = "rw", directed: bool = False, connected: bool = True
) -> Counterexample:
    """The first of fewest nodes, and among those of fewest edges."""
    nodes = classes
    while (found := next(counterexamples(nodes, classes, norm, directed, connected), None)) is None:
        nodes += 1
    return found


def symmetric_similarity(tilde: np.ndarray, y: tuple[int, ...], classes: int) -> sp.Matrix:
    """S(I − Â_sym, Z) exactly, `[N, N]`; `tilde` is A + I."""
    degree = [int(x) for x in tilde.sum(axis=1)]
    n = len(degree)
    a = sp.Matrix(n, n, lambda i, j: int(tilde[i, j]) / sp.sqrt(degree[i] * degree[j]))
    z = sp.Matrix(n, classes, lambda i, c: int(y[i] == c))
    rows = (sp.eye(n) - a) * z
    return rows * rows.T


def _failing(rows: np.ndarray, z: np.ndarray) -> list[int]:
    """Nodes that violate definition 2, of rows of (I − Â) Z up to one positive factor."""
    per_class = rows @ (z.T @ rows).T
    own = (per_class * z).sum(axis=1)
    return np.flatnonzero((own < 0) | (per_class.sum(axis=1) - own > 0)).tolist()


def _failing_symmetric(
    tilde: np.ndarray, degree: np.ndarray, y: tuple[int, ...], classes: int
) -> list[int]:
    """The same for Â_sym: in floats where they decide, else with exact roots."""
    z = np.eye(classes)[list(y)]
    rows = z - (tilde / np.sqrt(np.outer(degree, degree))) @ z
    per_class = rows @ (z.T @ rows).T
    own = (per_class * z).sum(axis=1)
    other = per_class.sum(axis=1) - own
    exact = None
    failing = []
    for v in range(len(y)):
        values = [own[v], -other[v]]
        for k, same in enumerate((True, False)):
            if abs(values[k]) < 1e-9:
                exact = symmetric_similarity(tilde, y, classes) if exact is None else exact
                total = sum(exact[v, u] for u in range(len(y)) if (y[u] == y[v]) == same)
                values[k] = 0 if sp.simplify(total) == 0 else values[k]
        if min(values) < 0:
            failing.append(v)
    return failing


def _labellings(nodes: int, classes: int) -> Iterator[tuple[int, ...]]:
    """Every way to part the nodes into so many classes; classes are named as they first occur."""
    for y in product(range(classes), repeat=nodes):
        firsts = [y.index(c) for c in range(classes) if c in y]
        if len(firsts) == classes and firsts == sorted(firsts):
            yield y


def _connected(adjacency: np.ndarray) -> bool:
    reached, waiting = {0}, [0]
    while waiting:
        for u in np.flatnonzero(adjacency[waiting.pop()]).tolist():
            if u not in reached:
                reached.add(u)
                waiting.append(u)
    return len(reached) == len(adjacency)
