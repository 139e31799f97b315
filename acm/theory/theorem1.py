r"""Derive and simulate Theorem 1: the homophily at which aggregation is worst (App. D).

In the theorem's random graphs, each node draws d neighbors independently. There are C classes. A
neighbor has the node's class with probability h, and all other classes are equally likely. Row v of
:math:`\hat A_{rw} Z` is :math:`(e_{c_v} + n_v)/(d + 1)` with multinomial counts :math:`n_v`. The
theorem is about :math:`g(h) = E[S_{v,u_1}] - E[S_{v,u_2}]` with :math:`S = S(\hat A, Z)`, where
:math:`u_1` has the class of v and :math:`u_2` another class.

The module derives expectations symbolically and, for fixed C and d, by enumeration of all draws.
The simulations cover the directed graphs of the theorem, and undirected graphs.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import sympy as sp
from scipy import optimize, stats

from acm.errors import UsageError

h, d, C, d_intra = sp.symbols("h d C d_intra", positive=True)

MODELS = ("directed", "undirected", "symmetrized")


def mean_row() -> tuple[sp.Expr, sp.Expr]:
    """Return E[(ÂZ)_{v,c}] for the class c of v and for another class c."""
    return (h * d + 1) / (d + 1), (1 - h) * d / ((C - 1) * (d + 1))


def expected_similarity(same: bool) -> sp.Expr:
    """Derive E[S(Â, Z)_{v,u}] for independent rows of nodes of the same class or of two classes."""
    to_same, to_other = mean_row()
    if same:
        return to_same**2 + (C - 1) * to_other**2
    return 2 * to_same * to_other + (C - 2) * to_other**2


def enumerated_similarity(classes: int, degree: int, same: bool) -> sp.Poly:
    """Compute E[S(Â, Z)_{v,u}] as a polynomial in h by enumerating every draw of both rows."""
    v_class, u_class = 0, 0 if same else 1
    draws = list(product(range(classes), repeat=degree))
    total: Counter[int] = Counter()  # keys: numbers of edges within classes
    for v, u in product(draws, draws):
        row_v = np.bincount([v_class, *v], minlength=classes)
        row_u = np.bincount([u_class, *u], minlength=classes)
        total[v.count(v_class) + u.count(u_class)] += int(row_v @ row_u)
    away = (1 - h) / (classes - 1)
    expression = sum(ways * h**k * away ** (2 * degree - k) for k, ways in total.items())
    return sp.Poly(sp.expand(expression) / sp.Integer(degree + 1) ** 2, h)


def difference() -> sp.Expr:
    """Derive g(h) from its definition as a difference of two expectations."""
    return expected_similarity(True) - expected_similarity(False)


def printed_difference() -> sp.Expr:
    """Return g(h) as printed in the theorem."""
    return (((C - 1) * (h * d + 1) - (1 - h) * d) / ((C - 1) * (d + 1))) ** 2


def minimizer() -> sp.Expr:
    """Derive the stationary point of g for a fixed degree d."""
    (point,) = sp.solve(sp.diff(difference(), h), h)
    return sp.simplify(point)


def fixed_intra() -> sp.Expr:
    """Derive g for d = d_intra / h, since the paper's synthetic graphs fix d_intra and vary h."""
    return sp.factor(difference().subs(d, d_intra / h))


def minimizers_fixed_intra() -> list[sp.Expr]:
    """Derive all stationary points in h of `fixed_intra`."""
    return [sp.simplify(p) for p in sp.solve(sp.numer(sp.diff(fixed_intra(), h).factor()), h)]


def row_variance() -> sp.Expr:
    """Return the variance of a row, d(1 − Σ_c p_c²)/(d + 1)², by which E[S_vv] is larger."""
    return d * (1 - h**2 - (1 - h) ** 2 / (C - 1)) / (d + 1) ** 2


def minimizer_with_self(n: sp.Expr | int) -> sp.Expr:
    """Derive the minimizer in h of E[RV] if the mean over the n nodes of v's class includes v."""
    (point,) = sp.solve(sp.diff(difference() + row_variance() / n, h), h)
    return sp.factor(point)


def simulate_pairs(
    rng: np.random.Generator, classes: int, degree: int, homophily: float, draws: int
) -> tuple[float, float]:
    """Estimate g(h) from independent rows of v, u₁ and u₂; return the mean and standard error."""

    def rows(labels: np.ndarray) -> np.ndarray:
        counts = np.zeros((draws, classes), dtype=np.int64)
        within = rng.binomial(degree, homophily, draws)
        across = rng.multinomial(degree - within, np.full(classes - 1, 1 / (classes - 1)))
        other = np.arange(classes)[None, :] != labels[:, None]
        counts[other] = across.ravel()
        counts[~other] = within + 1  # the self-loop of Â
        return counts / (degree + 1)

    same = np.zeros(draws, dtype=np.int64)
    v, u1, u2 = rows(same), rows(same), rows(rng.integers(1, classes, draws))
    gap = (v * (u1 - u2)).sum(axis=1)
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(draws))


def draw_rows(
    rng: np.random.Generator, model: str, classes: int, n: int, degree: int, homophily: float
) -> np.ndarray:
    """Draw a random graph in which node v has class v // n, and return ÂZ, `[C n, C]`.

    The "directed" model is that of the theorem: each node draws d neighbors. The "undirected" model
    draws d perfect matchings of all nodes, so that each node has d neighbors; n must be even. The
    "symmetrized" model adds the reverse of each directed edge, so that the mean degree is 2d.

    Raises:
        UsageError: If the model is unknown.
    """
    if model not in MODELS:
        raise UsageError(f"unknown model {model!r}; choose one of {', '.join(MODELS)}")
    size, y = classes * n, np.repeat(np.arange(classes), n)
    if model == "undirected":
        ends = np.stack([_matching(rng, y, n, homophily) for _ in range(degree)], axis=1)
    else:
        within = rng.random((size, degree)) < homophily
        shift = np.where(within, 0, rng.integers(1, classes, (size, degree)))
        inside = rng.integers(0, n - 1, (size, degree))
        inside += within & (inside >= (np.arange(size) % n)[:, None])  # excludes the node itself
        inside = np.where(within, inside, rng.integers(0, n, (size, degree)))
        ends = (y[:, None] + shift) % classes * n + inside
    source = np.repeat(np.arange(size), degree)
    counts = np.zeros((size, classes))
    np.add.at(counts, (source, y[ends.ravel()]), 1)
    if model == "symmetrized":
        np.add.at(counts, (ends.ravel(), y[source]), 1)
    counts[np.arange(size), y] += 1
    return counts / counts.sum(axis=1, keepdims=True)


def simulate_graphs(
    rng: np.random.Generator, model: str, classes: int, n: int, degree: int, homophily: float,
    graphs: int, with_self: bool = False,
) -> tuple[float, float]:  # fmt: skip
    """Estimate the mean of RV over all nodes; return the mean and standard error over graphs.

    RV of node v is the mean of S(Â, Z)_{v,u} over the nodes u of v's class, minus the mean over all
    other u. With `with_self` the mean over the class includes v, as in definition 1.
    """
    means = []
    for _ in range(graphs):
        rows = draw_rows(rng, model, classes, n, degree, homophily)
        sums = rows.reshape(classes, n, classes).sum(axis=1)
        same = np.repeat(sums, n, axis=0)
        across = (sums.sum(axis=0) - same) / (n * (classes - 1))
        within = same / n if with_self else (same - rows) / (n - 1)
        means.append((rows * (within - across)).sum(axis=1).mean())
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(graphs))


def fitted_minimizer(
    rng: np.random.Generator, model: str, classes: int, n: int, degree: int, times: int = 20
) -> tuple[float, float]:
    """Estimate the minimizer of E[RV] for a fixed degree; return the mean and standard error.

    Since g is a parabola in h, each of the `times` estimates fits a parabola to simulations at six
    levels of homophily, with eight graphs each.
    """
    levels = np.linspace(0.02, 0.42, 6)
    minimizers = []
    for _ in range(times):
        means = [simulate_graphs(rng, model, classes, n, degree, p, 8)[0] for p in levels]
        curvature, slope, _ = np.polyfit(levels, means, 2)
        minimizers.append(-slope / (2 * curvature))
    return float(np.mean(minimizers)), float(np.std(minimizers, ddof=1) / np.sqrt(times))


def minimizer_symmetrized(classes: int, intra: float) -> float:
    """Compute the minimizer of g for d = d_intra/h if the reverse of each edge is added.

    Then a node has d + R neighbors, where R is Poisson with mean d. The expected row of the node is
    uniform if h + (1 − h) E[1/(1 + d + R)] = 1/C.
    """

    def deviation(homophily: float) -> float:
        degree = intra / homophily
        mean = stats.poisson(degree).expect(lambda received: 1 / (1 + degree + received))
        return homophily + (1 - homophily) * mean - 1 / classes

    return optimize.brentq(deviation, 1e-2, 1 / classes)


def _matching(rng: np.random.Generator, y: np.ndarray, n: int, homophily: float) -> np.ndarray:
    """Draw a perfect matching in which two matched nodes have one class with probability h."""
    mate = np.full(len(y), -1)
    within = rng.random(len(y)) < homophily
    for start in range(0, len(y), n):
        block = start + rng.permutation(n)
        inside, outside = [*block[within[block]]], [*block[~within[block]]]
        if len(inside) % 2:  # make the number even: add or remove one node, with equal chance
            if outside and rng.random() < 0.5:
                inside.append(outside.pop())
            else:
                outside.append(inside.pop())
        mate[inside[::2]], mate[inside[1::2]] = inside[1::2], inside[::2]
    unmatched = rng.permutation(np.flatnonzero(mate < 0))
    for _ in range(200):
        clashes = np.flatnonzero(y[unmatched[::2]] == y[unmatched[1::2]])
        if not len(clashes):
            break
        # Shuffle the pairs of equal class together with about as many random pairs.
        pairs = np.union1d(clashes, rng.integers(0, len(unmatched) // 2, len(clashes) + 1))
        positions = np.concatenate([2 * pairs, 2 * pairs + 1])
        unmatched[positions] = unmatched[rng.permutation(positions)]
    mate[unmatched[::2]], mate[unmatched[1::2]] = unmatched[1::2], unmatched[::2]
    return mate
