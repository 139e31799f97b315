r"""Check Theorem 2: with two classes every node is diversification distinguishable (App. E).

With :math:`X = Z` a row of :math:`(I - \hat A) Z` is :math:`e_{c_v} - W_v`, where
:math:`W_v = (\hat A Z)_v`, and :math:`S(I - \hat A, Z)_{v,u}` is the product of rows v and u. The
proof uses only :math:`0 \le W_v^c` and :math:`\sum_c W_v^c = 1`. Both hold for every
row-stochastic :math:`\hat A`, so the theorem covers directed and weighted graphs.

A graph is an adjacency matrix of non-negative integers; row v contains the neighbors that node v
aggregates. Â adds one self-loop to every node. All comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, count, product
from math import lcm
from typing import NamedTuple

import numpy as np
import sympy as sp
from scipy.sparse.csgraph import connected_components

from acm.errors import UsageError


def symbolic_similarity(classes: int, same: bool) -> sp.Expr:
    """Derive S(I − Â, Z)_{v,u} for v in class 0 and u in class 0 (`same`) or 1.

    The entries of W_v and W_u for classes other than the node's are non-negative symbols. The entry
    for the node's class is one minus the sum of these symbols.
    """
    rows = []
    for node, label in (("v", 0), ("u", 0 if same else 1)):
        w = [sp.Symbol(f"W_{node}^{c}", nonnegative=True) for c in range(classes)]
        w[label] = 1 - sum(w[:label] + w[label + 1 :])
        rows.append([int(c == label) - w[c] for c in range(classes)])
    return sp.expand(sum(a * b for a, b in zip(*rows)))


def printed_similarity(same: bool) -> sp.Expr:
    """Return the last line of the proof in Appendix E, for C = 2, with the same symbols."""
    v = sp.Symbol("W_v^1", nonnegative=True)
    u = sp.Symbol(f"W_u^{1 if same else 0}", nonnegative=True)
    if same:  # Σ_{c ≠ c_v} W_v^c W_u^c + (1 − W_v^{c_v})(1 − W_u^{c_v})
        return v * u + (1 - (1 - v)) * (1 - (1 - u))
    # W_v^{c_u} (W_u^{c_u} − 1) + W_u^{c_v} (W_v^{c_v} − 1)
    return v * ((1 - u) - 1) + u * ((1 - v) - 1)


def distinguishable(adjacency: np.ndarray, y: np.ndarray) -> list[bool]:
    """Check definition 2 exactly for each node, with X = Z and Â_rw; no class may be empty."""
    # Entries are Python integers (dtype object), which do not overflow.
    z = np.eye(max(y) + 1, dtype=object)[list(y)]
    tilde = adjacency.astype(object) + np.eye(len(z), dtype=object)
    same, other = _sums(_scaled_rows(tilde, z, lcm(*tilde.sum(axis=1))), z)
    return ((same >= 0) & (other <= 0)).tolist()


def _scaled_rows(tilde: np.ndarray, z: np.ndarray, scale: int) -> np.ndarray:
    """Compute the integer matrix `scale` · (I − Â) Z; all degrees must divide `scale`."""
    return scale * z - (scale // tilde.sum(axis=1))[:, None] * (tilde @ z)


def _sums(rows: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each node's sum of similarities to its own class, and to all other classes."""
    per_class = rows @ (z.T @ rows).T
    same = (per_class * z).sum(axis=1)
    return same, per_class.sum(axis=1) - same


def random_graph(rng: np.random.Generator, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw a random graph of a random type, and labels in which every class occurs.

    Graphs can be undirected or directed, sparse or complete, and weighted. They can have
    self-loops, several components and isolated nodes. Some are trees, stars or bipartite graphs.
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
    if rng.random() < 0.5:  # each direction of an edge is removed independently
        adjacency *= rng.random((size, size)) < 0.6
    if rng.random() < 0.3:
        adjacency *= rng.integers(1, 10, (size, size))
    if rng.random() < 0.3:
        adjacency += np.diag(rng.integers(0, 2, size))
    # Class sizes range from nearly equal to nearly all nodes in one class.
    share = rng.dirichlet(np.full(classes, rng.choice([0.3, 1, 10])))
    y = rng.choice(classes, size, p=share)
    y[rng.permutation(size)[:classes]] = np.arange(classes)
    return adjacency, y


def random_share(
    rng: np.random.Generator, classes: int, cross: float, graphs: int, nodes: int = 60
) -> float:
    """Simulate the mean DD of undirected random graphs with one large and C − 1 small classes.

    The expected mean degree is 6, and the large class has a third of the nodes. An edge between
    two different small classes is `cross` times as likely as an edge between any other two nodes.
    """
    small = np.arange(nodes - nodes // 3) % (classes - 1) + 1
    y = np.concatenate([np.zeros(nodes // 3, dtype=np.int64), small])
    apart = (y[:, None] != y) & (y[:, None] > 0) & (y > 0)
    chance = np.where(apart, cross, 1.0)
    chance *= 6 * nodes / chance.sum()
    shares = []
    for _ in range(graphs):
        upper = np.triu(rng.random((nodes, nodes)) < chance, 1).astype(np.int64)
        shares.append(np.mean(distinguishable(upper + upper.T, y)))
    return float(np.mean(shares))


class Counterexample(NamedTuple):
    """A graph with a node that is not diversification distinguishable."""

    edges: list[tuple[int, int]]
    y: tuple[int, ...]
    failing: list[int]


def counterexamples(
    nodes: int, classes: int, norm: str = "rw", directed: bool = False, connected: bool = True
) -> Iterator[Counterexample]:
    """Yield all simple graphs with N nodes and DD < 1, by increasing number of edges.

    The search tries all labelings up to renaming of classes. It is feasible up to N = 5, or N = 4
    for directed graphs. In a directed graph, edge (i, j) means that i aggregates j. The symmetric
    filter, `norm="sym"`, needs undirected graphs.

    Raises:
        UsageError: If the normalization is unknown or "sym" is combined with directed graphs.
    """
    if norm not in ("rw", "sym") or (norm == "sym" and directed):
        raise UsageError(f"norm {norm!r} is not supported; choose 'rw' (or 'sym' if undirected)")
    pairs = [(i, j) for i in range(nodes) for j in range(nodes) if i < j or (directed and i != j)]
    labelings = list(_labelings(nodes, classes))
    scale = lcm(*range(1, nodes + 1))
    for size in range(len(pairs) + 1):
        for edges in combinations(pairs, size):
            adjacency = np.zeros((nodes, nodes), dtype=np.int64)
            for i, j in edges:
                adjacency[i, j] = 1
                adjacency[j, i] = adjacency[j, i] or not directed
            if connected and connected_components(adjacency, return_labels=False) > 1:
                continue
            tilde = adjacency + np.eye(nodes, dtype=np.int64)
            for y in labelings:
                z = np.eye(classes, dtype=np.int64)[list(y)]
                if norm == "rw":
                    same, other = _sums(_scaled_rows(tilde, z, scale), z)
                    failing = np.flatnonzero((same < 0) | (other > 0)).tolist()
                else:
                    failing = _failing_symmetric(tilde, y, z)
                if failing:
                    yield Counterexample(list(edges), y, failing)


def smallest_counterexample(
    classes: int, norm: str = "rw", directed: bool = False, connected: bool = True
) -> Counterexample:
    """Return a counterexample with the fewest nodes and, for this size, the fewest edges."""
    searches = (counterexamples(n, classes, norm, directed, connected) for n in count(classes))
    return next(chain.from_iterable(searches))


def symmetric_similarity(tilde: np.ndarray, y: tuple[int, ...], classes: int) -> sp.Matrix:
    """Compute S(I − Â_sym, Z), `[N, N]`, exactly; `tilde` is A + I."""
    degree = [int(x) for x in tilde.sum(axis=1)]
    n = len(degree)
    a = sp.Matrix(n, n, lambda i, j: int(tilde[i, j]) / sp.sqrt(degree[i] * degree[j]))
    z = sp.Matrix(n, classes, lambda i, c: int(y[i] == c))
    rows = (sp.eye(n) - a) * z
    return rows * rows.T


def _failing_symmetric(tilde: np.ndarray, y: tuple[int, ...], z: np.ndarray) -> list[int]:
    """Return the nodes that violate definition 2 for Â_sym; values near zero are exact."""
    degree = tilde.sum(axis=1)
    same, other = _sums(z - (tilde / np.sqrt(np.outer(degree, degree))) @ z, z)
    margins = np.array([same, -other])
    near_zero = np.argwhere(abs(margins) < 1e-9).tolist()
    exact = symmetric_similarity(tilde, y, z.shape[1]) if near_zero else None
    for k, v in near_zero:
        total = sum(exact[v, u] for u in range(len(y)) if (y[u] == y[v]) == (k == 0))
        if sp.simplify(total) == 0:
            margins[k, v] = 0
    return np.flatnonzero(margins.min(axis=0) < 0).tolist()


def _labelings(nodes: int, classes: int) -> Iterator[tuple[int, ...]]:
    """Yield all labelings with C classes that are numbered in order of first occurrence."""
    for y in product(range(classes), repeat=nodes):
        firsts = [y.index(c) for c in range(classes) if c in y]
        if len(firsts) == classes and firsts == sorted(firsts):
            yield y
