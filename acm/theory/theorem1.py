r"""Theorem 1: the homophily at which aggregated labels are least informative (section 3.2, App. D).

The model: every node of a graph with C classes draws d neighbours, independently of all else; each
is of the node's own class with probability h, and else of any other class alike. A row of
:math:`\hat A_{rw} Z` is then :math:`(e_{c_v} + n_v)/(d + 1)` with multinomial counts :math:`n_v`.

Expectations are derived symbolically and, for given C and d, by going through all draws. The
simulations draw graphs: as the theorem has them, and undirected.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy as sp

h, d, C, d_intra = sp.symbols("h d C d_intra", positive=True)

MODELS = ("directed", "undirected", "symmetrized")


def mean_row() -> tuple[sp.Expr, sp.Expr]:
    """E[(ÂZ)_{v,c}] where c is the class of v, and where it is another class."""
    return (h * d + 1) / (d + 1), (1 - h) * d / ((C - 1) * (d + 1))


def expected_similarity(same: bool) -> sp.Expr:
    """E[S(Â, Z)_{v,u}] of independent rows v and u of one class, or of two: Σ_c of E · E."""
    own, other = mean_row()
    if same:
        return own**2 + (C - 1) * other**2
    return 2 * own * other + (C - 2) * other**2


def enumerated_similarity(classes: int, degree: int, same: bool, node: bool = False) -> sp.Poly:
    """The same expectation, a polynomial in h, by going through every draw of both rows.

    Args:
        classes, degree: C ≥ 2 and d, small: there are C^(2d) outcomes.
        same: Whether u is in the class of v (0), or in another (1).
        node: Let u be v itself, with the same draw.
    """
    u_class = 0 if same else 1
    total: dict[tuple[int, int], int] = {}
    for v in product(range(classes), repeat=degree):
        draws = [v] if node else product(range(classes), repeat=degree)
        for u in draws:
            rows = [np.bincount([own, *draw], minlength=classes) for own, draw in
                    ((0, v), (u_class, u))]  # fmt: skip
            edges = degree if node else 2 * degree
            within = v.count(0) + (0 if node else u.count(u_class))
            key = within, edges - within
            total[key] = total.get(key, 0) + int(rows[0] @ rows[1])
    scale = sp.Integer(degree + 1) ** 2
    expression = sum(
        value * h**within * ((1 - h) / (classes - 1)) ** across
        for (within, across), value in total.items()
    )
    return sp.Poly(sp.expand(expression) / scale, h)


def difference() -> sp.Expr:
    """g(h), from its definition as a difference of two expectations."""
    return expected_similarity(True) - expected_similarity(False)


def printed_difference() -> sp.Expr:
    """g(h) as the theorem prints it."""
    return (((C - 1) * (h * d + 1) - (1 - h) * d) / ((C - 1) * (d + 1))) ** 2


def minimizer() -> sp.Expr:
    """The stationary point of g for a fixed degree d."""
    (point,) = sp.solve(sp.diff(difference(), h), h)
    return sp.simplify(point)


def fixed_intra() -> sp.Expr:
    """g along d = d_intra / h: what the paper's synthetic graphs vary."""
    return sp.factor(difference().subs(d, d_intra / h))


def minimizers_fixed_intra() -> list[sp.Expr]:
    """All stationary points of `fixed_intra`."""
    return [sp.simplify(p) for p in sp.solve(sp.numer(sp.diff(fixed_intra(), h).factor()), h)]


def row_variance() -> sp.Expr:
    """What u = v adds to E[S_vu]: the variance of a row, d(1 − Σ_c p_c²)/(d + 1)²."""
    return d * (1 - h**2 - (1 - h) ** 2 / (C - 1)) / (d + 1) ** 2


def minimizer_with_self(n: sp.Expr | int) -> sp.Expr:
    """Where E[RV] is least if the mean over the n nodes of v's class includes v, for fixed d."""
    (point,) = sp.solve(sp.diff(difference() + row_variance() / n, h), h)
    return sp.factor(point)


def simulate_pairs(
    rng: np.random.Generator, classes: int, degree: int, homophily: float, draws: int
) -> tuple[float, float]:
    """g(h) on independent draws of the rows of v, u₁ and u₂: the mean and its standard error."""

    def rows(own: np.ndarray) -> np.ndarray:
        counts = np.zeros((draws, classes), dtype=np.int64)
        within = rng.binomial(degree, homophily, draws)
        rest = np.full(classes - 1, 1 / (classes - 1))
        across = rng.multinomial(degree - within, rest)
        others = np.arange(classes)[None, :] != own[:, None]
        counts[others] = across.ravel()
        counts[~others] = within + 1  # the self-loop of Â
        return counts / (degree + 1)

    same = np.zeros(draws, dtype=np.int64)
    v, u1, u2 = rows(same), rows(same), rows(rng.integers(1, classes, draws))
    gap = (v * (u1 - u2)).sum(axis=1)
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(draws))


def draw_rows(
    rng: np.random.Generator, model: str, classes: int, n: int, degree: int, homophily: float
) -> np.ndarray:
    """ÂZ of one random graph with n nodes in each class, `[C n, C]`; node v has class v // n.

    Args:
        rng: Where randomness comes from.
        model: "directed": each node draws its d neighbours, the theorem's model. "undirected":
            d rounds, in each of which all nodes are matched in pairs; each node has d neighbours,
            each of its class with probability h. "symmetrized": the directed draws, every edge
            in both directions, so that degrees vary around 2d.
        classes, n, degree, homophily: C, nodes of a class, d and h. For "undirected" n is even.
    """
    size, y = classes * n, np.repeat(np.arange(classes), n)
    if model == "undirected":
        ends = np.stack([_matching(rng, y, n, homophily) for _ in range(degree)], axis=1)
    else:
        within = rng.random((size, degree)) < homophily
        shift = np.where(within, 0, rng.integers(1, classes, (size, degree)))
        inside = rng.integers(0, n - 1, (size, degree))
        inside += within & (inside >= (np.arange(size) % n)[:, None])  # not itself
        inside = np.where(within, inside, rng.integers(0, n, (size, degree)))
        ends = (y[:, None] + shift) % classes * n + inside
    source = np.repeat(np.arange(size), degree)
    counts = np.zeros((size, classes))
    np.add.at(counts, (source, y[ends.ravel()]), 1)
    if model == "symmetrized":
        np.add.at(counts, (ends.ravel(), y[source]), 1)
    counts[np.arange(size), y] += 1
    return counts / counts.sum(axis=1, keepdims=True)


def gaps(rows: np.ndarray, classes: int, with_self: bool) -> np.ndarray:
    """RV of every node: the mean of S(Â, Z)_{v,u} over its class less that over the others, `[N]`.

    Args:
        rows: ÂZ, `[C n, C]`, as from `draw_rows`.
        classes: C.
        with_self: Whether the mean over v's own class includes v, as definition 1 has it.
    """
    n = len(rows) // classes
    sums = rows.reshape(classes, n, classes).sum(axis=1)
    same = np.repeat(sums, n, axis=0)
    across = (sums.sum(axis=0) - same) / (n * (classes - 1))
    within = same / n if with_self else (same - rows) / (n - 1)
    return (rows * (within - across)).sum(axis=1)


def simulate_graphs(
    rng: np.random.Generator, model: str, classes: int, n: int, degree: int, homophily: float,
    graphs: int, with_self: bool = False,
) -> tuple[float, float]:  # fmt: skip
    """The mean of RV over all nodes of so many graphs, and its standard error over the graphs."""
    means = [
        gaps(draw_rows(rng, model, classes, n, degree, homophily), classes, with_self).mean()
        for _ in range(graphs)
    ]
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(graphs))


def fitted_minimizer(
    rng: np.random.Generator, model: str, classes: int, n: int, degree: int, times: int = 20
) -> tuple[float, float]:
    """Where the simulated mean of RV is least for a fixed degree, and its standard error.

    So many times a parabola, which g is, is fitted to six homophilies with eight graphs each.
    """
    levels = np.linspace(0.02, 0.42, 6)
    found = []
    for _ in range(times):
        means = [simulate_graphs(rng, model, classes, n, degree, p, 8)[0] for p in levels]
        curvature, slope, _ = np.polyfit(levels, means, 2)
        found.append(-slope / (2 * curvature))
    return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(times))


def minimizer_symmetrized(classes: int, intra: float) -> float:
    """Where g is least along d = d_intra/h once every directed draw counts in both directions.

    A node then has d + R neighbours with R Poisson of mean d, and its mean row is uniform where
    h + (1 − h) E[1/(1 + d + R)] = 1/C.
    """

    def excess(homophily: float) -> float:
        degree = intra / homophily
        probability, mean = np.exp(-degree), 0.0
        for received in range(int(degree + 12 * np.sqrt(degree) + 30)):
            mean += probability / (1 + degree + received)
            probability *= degree / (received + 1)
        return homophily + (1 - homophily) * mean - 1 / classes

    low, high = 1e-2, 1 / classes
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return (low + high) / 2


def _matching(rng: np.random.Generator, y: np.ndarray, n: int, homophily: float) -> np.ndarray:
    """A random perfect matching in which a node's mate has its class with probability h."""
    mate = np.full(len(y), -1)
    within = rng.random(len(y)) < homophily
    for start in range(0, len(y), n):
        block = start + rng.permutation(n)
        inside = [*block[within[block]]]
        outside = [*block[~within[block]]]
        if len(inside) % 2:  # an odd one: as often joined as left
            if outside and rng.random() < 0.5:
                inside.append(outside.pop())
            else:
                outside.append(inside.pop())
        within[outside] = False
        mate[inside[::2]], mate[inside[1::2]] = inside[1::2], inside[::2]
    rest = rng.permutation(np.flatnonzero(mate < 0))
    for _ in range(200):
        bad = np.flatnonzero(y[rest[::2]] == y[rest[1::2]])
        if not len(bad):
            break
        # Deal the pairs within a class anew, together with as many others.
        pairs = np.union1d(bad, rng.integers(0, len(rest) // 2, len(bad) + 1))
        places = np.concatenate([2 * pairs, 2 * pairs + 1])
        rest[places] = rest[rng.permutation(places)]
    mate[rest[::2]], mate[rest[1::2]] = rest[1::2], rest[::2]
    return mate
