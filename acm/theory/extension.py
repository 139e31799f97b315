r"""The extension of Theorem 1 (App. D): is RV symmetric, and is P(RV ≥ 0) at least one half?

.. math:: RV = \mathrm{Mean}_u(\{S(\hat A, Z)_{v,u} : Z_u = Z_v\})
             - \mathrm{Mean}_u(\{S(\hat A, Z)_{v,u} : Z_u \ne Z_v\})

in the model of `acm.theory.theorem1`. RV is the product of v's row with the difference of two mean
rows, so that its distribution follows exactly from those of three sums of independent draws.
Everything is counted in integers; probabilities are polynomials in h.

`sizes` is everywhere the number of nodes of each class, and v is in the first. A class of one node
has no other node for an edge within it, which the model forbids for h > 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, factorial

import numpy as np
import sympy as sp

h = sp.Symbol("h", real=True)

#: (d + 1)² n (N − n) RV for a class of n nodes, and how many of all edges stay within their class
#: → in how many ways, where an edge that leaves its class has C − 1 of them.
Outcomes = Counter[tuple[int, int]]


@cache
def outcomes(sizes: tuple[int, ...], degree: int, with_self: bool = True) -> Outcomes:
    """The exact distribution of RV for one node of the first class, over all draws of all nodes.

    Args:
        sizes: Nodes of each class.
        degree: d ≥ 1, edges that a node draws, with replacement.
        with_self: Whether the mean over v's class includes v, as definition 1 has it; where not,
            values are scaled by (d + 1)² (n − 1) (N − n).
    """
    classes, n = len(sizes), sizes[0]
    within, across = n if with_self else n - 1, sum(sizes[1:])
    row = _node(classes, degree, 0)
    same = _several(row, n - 1)
    others: Counter = Counter({((0,) * classes, 0): 1})
    for own, size in enumerate(sizes[1:], start=1):
        others = _plus(others, _several(_node(classes, degree, own), size))
    found: Outcomes = Counter()
    for (v, k0), ways0 in row.items():
        # Only the products with v's row count.
        near, far = Counter(), Counter()
        for (s, k), ways in same.items():
            near[sum(a * (b + a * with_self) for a, b in zip(v, s)), k] += ways
        for (s, k), ways in others.items():
            far[sum(a * b for a, b in zip(v, s)), k] += ways
        for (x, k1), ways1 in near.items():
            for (y, k2), ways2 in far.items():
                found[across * x - within * y, k0 + k1 + k2] += ways0 * ways1 * ways2
    return found


def probability(sizes: tuple[int, ...], degree: int) -> sp.Poly:
    """P(RV ≥ 0) as a polynomial in h with rational coefficients."""
    return _expectation(sizes, degree, lambda value: int(value >= 0))


def moment(sizes: tuple[int, ...], degree: int, power: int, with_self: bool = True) -> sp.Poly:
    """E[RVᵏ], k being `power`, as a polynomial in h."""
    within = sizes[0] if with_self else sizes[0] - 1
    scale = Fraction(1, (degree + 1) ** 2 * within * sum(sizes[1:]))
    return _expectation(sizes, degree, lambda value: (value * scale) ** power, with_self)


def third_central_moment(sizes: tuple[int, ...], degree: int, homophily: Fraction) -> Fraction:
    """E[(RV − E RV)³], which is zero for every symmetric distribution."""
    at = sp.Rational(homophily.numerator, homophily.denominator)
    m1, m2, m3 = (moment(sizes, degree, k).eval(at) for k in (1, 2, 3))
    third = m3 - 3 * m1 * m2 + 2 * m1**3
    return Fraction(int(third.p), int(third.q))


def below_half(sizes: tuple[int, ...], degree: int) -> list[tuple[sp.Expr, sp.Expr]]:
    """The open intervals of h in (0, 1) in which P(RV ≥ 0) < ½, with algebraic ends."""
    excess = probability(sizes, degree) - sp.Rational(1, 2)
    roots = [] if excess.is_zero else sorted({r for r in excess.real_roots() if 0 < r < 1})
    ends = [sp.Integer(0), *roots, sp.Integer(1)]
    return [
        (low, high) for low, high in zip(ends, ends[1:]) if excess.eval(_between(low, high)) < 0
    ]


def limit_probability(classes: int, degree: int, homophily: Fraction) -> Fraction:
    r"""P(RV ≥ 0) as all classes grow, for h other than h₀ = (d + 1 − C)/(C d).

    The mean rows then cease to vary, and RV has the sign of :math:`(h - h_0)(B - d h_0)`, where B
    is the number of v's neighbours in its class: binomial, of mean d h. At B = d h₀ what is left
    of the mean rows' variation decides, one way as often as the other, unless all classes are
    equally frequent in v's row: then RV is exactly zero.
    """
    centre = Fraction(degree + 1 - classes, classes)  # d h₀
    side = 1 if homophily * degree > centre else -1
    return _beyond(classes, degree, homophily, centre, side)


def limits_at_minimizer(classes: int, degree: int) -> tuple[Fraction, Fraction]:
    """The same as h tends to h₀ from below and from above, for d ≥ C: where h₀ > 0.

    Where C does not divide d + 1 they add up to one: unless both are ½, the bound fails on one
    side.
    """
    centre = Fraction(degree + 1 - classes, classes)
    low, high = (_beyond(classes, degree, centre / degree, centre, side) for side in (-1, 1))
    return low, high


def two_class_probability(n: int, degree: int, homophily: Fraction) -> Fraction:
    """P(RV ≥ 0) for C = 2 and any n, exactly.

    With k of v's edges and B of all others' within a class, RV has the sign of
    (2k + 1 − d)(n + k + B − d n), and B is binomial with d (2n − 1) draws.
    """
    # All in integers over one denominator: h = p / (p + q).
    p, q = homophily.numerator, homophily.denominator - homophily.numerator
    others = degree * (2 * n - 1)
    up_to, total = [], 0
    for k in range(others + 1):
        total += comb(others, k) * p**k * q ** (others - k)
        up_to.append(total)
    found = 0
    for k in range(degree + 1):
        least = (degree - 1) * n - k  # B for which the mean rows agree
        lean = 2 * k + 1 - degree
        if lean > 0:
            ways = total - (up_to[least - 1] if least > 0 else 0)
        else:
            ways = total if lean == 0 else (up_to[least] if least >= 0 else 0)
        found += comb(degree, k) * p**k * q ** (degree - k) * ways
    return Fraction(found, (p + q) ** (others + degree))


def simulate(
    rng: np.random.Generator, classes: int, n: int, degree: int, homophily: float, draws: int
) -> float:
    """The share of RV ≥ 0 in independent draws of all edges; exact in its comparisons."""
    rest = (1 - homophily) / (classes - 1)
    chance = np.full((classes, classes), rest) + (homophily - rest) * np.eye(classes)

    def sums(own: int, nodes: int) -> np.ndarray:
        total = rng.multinomial(degree * nodes, chance[own], draws)
        total[:, own] += nodes
        return total

    v = sums(0, 1)
    same = sums(0, n - 1) + v
    others = sum(sums(own, n) for own in range(1, classes))
    return float(((v * ((classes - 1) * same - others)).sum(axis=1) >= 0).mean())


def brute_force(sizes: tuple[int, ...], degree: int, homophily: Fraction) -> Fraction:
    """P(RV ≥ 0) from definition 1, graph by graph: for the smallest cases."""
    classes, n, size = len(sizes), sizes[0], sum(sizes)
    y = [own for own, nodes in enumerate(sizes) for _ in range(nodes)]
    total = Fraction(0)
    for draw in product(product(range(classes), repeat=degree), repeat=size):
        chance = Fraction(1)
        for v, drawn in enumerate(draw):
            for c in drawn:
                chance *= homophily if c == y[v] else (1 - homophily) / (classes - 1)
        rows = [
            [Fraction((c == y[v]) + draw[v].count(c), degree + 1) for c in range(classes)]
            for v in range(size)
        ]
        s = [sum(a * b for a, b in zip(rows[0], row)) for row in rows]
        same = sum(s[:n]) / n
        total += chance * (same >= sum(s[n:]) / (size - n))
    return total


def _beyond(classes: int, degree: int, p: Fraction, centre: Fraction, side: int) -> Fraction:
    """P((B − centre) · side > 0), and the share of P(B = centre) in which RV ≥ 0."""
    total, each = Fraction(0), (degree + 1) // classes
    # Whether the other C − 1 classes share the remaining edges evenly.
    even = Fraction(
        factorial(each * (classes - 1)),
        (factorial(each) * (classes - 1) ** each) ** (classes - 1),
    )
    for k in range(degree + 1):
        chance = comb(degree, k) * p**k * (1 - p) ** (degree - k)
        if k == centre:
            total += chance * (1 + even) / 2
        elif (k - centre) * side > 0:
            total += chance
    return total


def _expectation(
    sizes: tuple[int, ...], degree: int, of: Callable[[int], int | Fraction], with_self: bool = True
) -> sp.Poly:
    classes, edges = len(sizes), sum(sizes) * degree
    by_within: Counter = Counter()
    for (value, within), ways in outcomes(sizes, degree, with_self).items():
        by_within[within] += ways * of(value)
    h_poly, rest = (sp.Poly(e, h, domain="QQ") for e in (h, (1 - h) / sp.Integer(classes - 1)))
    total = sp.Poly(0, h, domain="QQ")
    for within, weight in by_within.items():
        weight = Fraction(weight)
        term = h_poly**within * rest ** (edges - within)
        total += term.mul_ground(sp.Rational(weight.numerator, weight.denominator))
    return total


def _node(classes: int, degree: int, own: int) -> Counter:
    """(d + 1) times the row of a node, and its edges within the class → ways to draw it."""
    start = tuple(int(c == own) for c in range(classes))
    found = Counter({(start, 0): 1})
    edge = Counter(
        {(tuple(int(c == drawn) for c in range(classes)), int(drawn == own)): 1
         for drawn in range(classes)}
    )  # fmt: skip
    for _ in range(degree):
        found = _plus(found, edge)
    return found


def _several(one: Counter, times: int) -> Counter:
    classes = len(next(iter(one))[0])
    total: Counter = Counter({((0,) * classes, 0): 1})
    for _ in range(times):
        total = _plus(total, one)
    return total


def _plus(a: Counter, b: Counter) -> Counter:
    """The distribution of a sum of independent rows."""
    total: Counter = Counter()
    for (row_a, within_a), ways_a in a.items():
        for (row_b, within_b), ways_b in b.items():
            key = tuple(x + y for x, y in zip(row_a, row_b)), within_a + within_b
            total[key] += ways_a * ways_b
    return total


def _between(low: sp.Expr, high: sp.Expr) -> sp.Rational:
    """A rational number strictly between two algebraic ones."""
    digits = 20
    while True:
        middle = sp.Rational(str(((low + high) / 2).evalf(digits)))
        if low < middle < high:
            return middle
        digits *= 2
