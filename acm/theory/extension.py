r"""Check the extension of Theorem 1 (App. D): is RV symmetric, and is P(RV ≥ 0) at least one half?

.. math:: RV = \mathrm{Mean}_u(\{S(\hat A, Z)_{v,u} : Z_u = Z_v\})
             - \mathrm{Mean}_u(\{S(\hat A, Z)_{v,u} : Z_u \ne Z_v\})

in the random graphs of `acm.theory.theorem1`. The mean of S over nodes u is the product of row v of
ÂZ with the mean of the rows u. The exact distribution of RV therefore follows from those of three
independent sums: row v, the other rows of its class, and the rows of other classes. All counts are
integers, and probabilities are polynomials in h (`acm.theory.theorem1.h`).

In all functions `sizes` lists the number of nodes of each class, and v is in the first class. If
h > 0, each class needs two nodes, since a single node cannot have a neighbor of its class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import comb, factorial

import numpy as np
import sympy as sp
from sympy.solvers.inequalities import solve_poly_inequality

from acm.theory.theorem1 import h

#: Maps (scaled RV, number of edges within classes) to the number of ways to draw them. An edge to
#: another class can be drawn in C − 1 ways. RV is multiplied by (d + 1)² n (N − n), where the class
#: of v has n nodes, so that it is an integer.
Outcomes = Counter[tuple[int, int]]
#: Maps ((d + 1) times a row of ÂZ, number of edges within classes) to the number of ways.
Rows = Counter[tuple[tuple[int, ...], int]]


@cache
def outcomes(sizes: tuple[int, ...], degree: int, with_self: bool = True) -> Outcomes:
    """Compute the exact distribution of RV for one node v of the first class.

    The degree d ≥ 1 is the number of edges that each node draws. With `with_self` the mean over the
    class of v includes v, as in definition 1. Otherwise n − 1 replaces n in the scale of RV.
    """
    classes, n = len(sizes), sizes[0]
    within, across = n if with_self else n - 1, sum(sizes[1:])
    others: Rows = Counter({((0,) * classes, 0): 1})
    row = _row(classes, degree, 0)
    same = _add_draws(others, row, n - 1)
    for label, size in enumerate(sizes[1:], start=1):
        others = _add_draws(others, _row(classes, degree, label), size)
    result: Outcomes = Counter()
    for (v, v_edges), v_ways in row.items():
        # RV depends only on the products of the two sums with v's row.
        same_products, other_products = Counter(), Counter()
        for (total, edges), ways in same.items():
            same_products[sum(a * (b + a * with_self) for a, b in zip(v, total)), edges] += ways
        for (total, edges), ways in others.items():
            other_products[sum(a * b for a, b in zip(v, total)), edges] += ways
        for (x, x_edges), x_ways in same_products.items():
            for (y, y_edges), y_ways in other_products.items():
                key = across * x - within * y, v_edges + x_edges + y_edges
                result[key] += v_ways * x_ways * y_ways
    return result


def probability(sizes: tuple[int, ...], degree: int) -> sp.Poly:
    """Compute P(RV ≥ 0) as a polynomial in h with rational coefficients."""
    return _expectation(sizes, degree, lambda value: int(value >= 0))


def moment(sizes: tuple[int, ...], degree: int, power: int, with_self: bool = True) -> sp.Poly:
    """Compute E[RVᵏ] for k = `power` as a polynomial in h."""
    within = sizes[0] if with_self else sizes[0] - 1
    scale = Fraction(1, (degree + 1) ** 2 * within * sum(sizes[1:]))
    return _expectation(sizes, degree, lambda value: (value * scale) ** power, with_self)


def third_central_moment(sizes: tuple[int, ...], degree: int, homophily: Fraction) -> Fraction:
    """Compute E[(RV − E RV)³], which is zero for every symmetric distribution."""
    value = sp.Rational(homophily)
    m1, m2, m3 = (moment(sizes, degree, k).eval(value) for k in (1, 2, 3))
    third = m3 - 3 * m1 * m2 + 2 * m1**3
    return Fraction(int(third.p), int(third.q))


def below_half(sizes: tuple[int, ...], degree: int) -> sp.Set:
    """Find all h in (0, 1) with P(RV ≥ 0) < ½, as exact intervals."""
    excess = probability(sizes, degree) - sp.Rational(1, 2)
    return sp.Union(*solve_poly_inequality(excess, "<")) & sp.Interval.open(0, 1)


def limit_probability(classes: int, degree: int, homophily: Fraction) -> Fraction:
    r"""Compute the limit of P(RV ≥ 0) for large classes, for h ≠ h₀ = (d + 1 − C)/(C d).

    The mean rows become constant, and RV has the sign of :math:`(h - h_0)(B - d h_0)`. B is the
    number of neighbors of v in the class of v, and is binomial with mean d h. If B = d h₀, small
    deviations of the mean rows decide, and both signs are equally likely. However, if all entries
    of v's row are equal, RV is exactly zero.
    """
    center = Fraction(degree + 1 - classes, classes)  # d h₀
    side = 1 if homophily * degree > center else -1
    return _limit_on_side(classes, degree, homophily, side)


def limits_at_minimizer(classes: int, degree: int) -> tuple[Fraction, Fraction]:
    """Compute the limits of `limit_probability` as h tends to h₀ > 0 from below and from above.

    If C does not divide d + 1, the sum of the two limits is one. Then one limit is below ½, or both
    are ½. The condition h₀ > 0 means d ≥ C.
    """
    minimizer = Fraction(degree + 1 - classes, classes * degree)
    return tuple(_limit_on_side(classes, degree, minimizer, side) for side in (-1, 1))


def two_class_probability(n: int, degree: int, homophily: Fraction) -> Fraction:
    """Compute P(RV ≥ 0) exactly for C = 2 classes of n nodes each.

    RV has the sign of (2k + 1 − d)(n + k + B − d n), where k counts the edges from v to its
    class. B counts the edges from all other nodes to their class: it is binomial with d (2n − 1)
    draws.
    """
    # With h = p / (p + q), integers over one denominator are faster than fractions.
    p, q = homophily.numerator, homophily.denominator - homophily.numerator
    others = degree * (2 * n - 1)
    up_to, total = [], 0
    for k in range(others + 1):
        total += comb(others, k) * p**k * q ** (others - k)
        up_to.append(total)
    favorable = 0
    for k in range(degree + 1):
        equal = (degree - 1) * n - k  # the value of B for which the mean rows are equal
        lead = 2 * k + 1 - degree
        if lead < 0:
            ways = up_to[equal] if equal >= 0 else 0
        else:
            ways = total - (up_to[equal - 1] if lead and equal > 0 else 0)
        favorable += comb(degree, k) * p**k * q ** (degree - k) * ways
    return Fraction(favorable, (p + q) ** (others + degree))


def simulate(
    rng: np.random.Generator, classes: int, n: int, degree: int, homophily: float, draws: int
) -> float:
    """Draw all edges of many random graphs; return the share of graphs with RV ≥ 0 for node v."""
    to_other = (1 - homophily) / (classes - 1)
    chance = np.full((classes, classes), to_other) + (homophily - to_other) * np.eye(classes)

    def sums(label: int, nodes: int) -> np.ndarray:
        total = rng.multinomial(degree * nodes, chance[label], draws)
        total[:, label] += nodes
        return total

    v = sums(0, 1)
    same = sums(0, n - 1) + v
    others = sum(sums(label, n) for label in range(1, classes))
    # RV times a common denominator is an integer, so its sign is exact.
    return float(((v * ((classes - 1) * same - others)).sum(axis=1) >= 0).mean())


def _limit_on_side(classes: int, degree: int, p: Fraction, side: int) -> Fraction:
    """Compute P(RV ≥ 0) for large classes; `side` is the sign of h − h₀."""
    total, per_class = Fraction(0), (degree + 1) // classes
    center = Fraction(degree + 1 - classes, classes)  # d h₀
    # The probability that the other C − 1 classes have equally many of the remaining edges.
    even = Fraction(
        factorial(per_class * (classes - 1)),
        (factorial(per_class) * (classes - 1) ** per_class) ** (classes - 1),
    )
    for k in range(degree + 1):
        chance = comb(degree, k) * p**k * (1 - p) ** (degree - k)
        if k == center:
            total += chance * (1 + even) / 2
        elif (k - center) * side > 0:
            total += chance
    return total


def _expectation(
    sizes: tuple[int, ...], degree: int, function: Callable[[int], int | Fraction],
    with_self: bool = True,
) -> sp.Poly:  # fmt: skip
    """Compute the expectation of a function of the scaled RV as a polynomial in h."""
    edges = sum(sizes) * degree
    weights: Counter = Counter()
    for (value, within), ways in outcomes(sizes, degree, with_self).items():
        weights[within] += ways * function(value)
    to_same = sp.Poly(h, h, domain="QQ")
    to_other = sp.Poly((1 - h) / sp.Integer(len(sizes) - 1), h, domain="QQ")
    terms = (to_same**k * to_other ** (edges - k) * sp.Rational(w) for k, w in weights.items())
    return sum(terms, sp.Poly(0, h, domain="QQ"))


def _row(classes: int, degree: int, label: int) -> Rows:
    """Compute the distribution of (d + 1) times the row of a node of class `label`."""
    unit = [tuple(int(c == k) for c in range(classes)) for k in range(classes)]
    edge: Rows = Counter({(unit[c], int(c == label)): 1 for c in range(classes)})
    return _add_draws(Counter({(unit[label], 0): 1}), edge, degree)


def _add_draws(start: Rows, draw: Rows, times: int) -> Rows:
    """Compute the distribution of `start` plus `times` independent draws of `draw`."""
    for _ in range(times):
        total: Rows = Counter()
        for (row, edges), ways in start.items():
            for (drawn, drawn_edges), drawn_ways in draw.items():
                key = tuple(x + y for x, y in zip(row, drawn)), edges + drawn_edges
                total[key] += ways * drawn_ways
        start = total
    return start
