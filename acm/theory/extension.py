r"""Check the extension of Theorem 1 (App. D): is RV symmetric, and is P(RV ≥ 0) at least one half?

.. math:: RV = \mathrm{Mean}_u(\{S(\hat A, Z)_{v,u} : Z_u = Z_v\})
             - \mathrm{Mean}_u(\{S(\hat A, Z)_{v,u} : Z_u \ne Z_v\})

in the model of `acm.theory.theorem1`. RV is the product of v's row with the difference of two mean
rows. Its exact distribution therefore follows from the distributions of three sums of independent
draws. All counts are integers, and probabilities are polynomials in h (`acm.theory.theorem1.h`).

In all functions `sizes` lists the number of nodes of each class, and v is in the first class. Each
class needs two nodes if h > 0, since a class of one node has no edges within the class.
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
#: another class has C − 1 ways. The scale of RV is (d + 1)² n (N − n) for a class of n nodes.
Outcomes = Counter[tuple[int, int]]
#: Maps (scaled row of ÂZ, number of edges within classes) to the number of ways to draw them.
Rows = Counter[tuple[tuple[int, ...], int]]


@cache
def outcomes(sizes: tuple[int, ...], degree: int, with_self: bool = True) -> Outcomes:
    """Compute the exact distribution of RV for one node v of the first class over all draws.

    With `with_self` the mean over v's class includes v, as in definition 1. Without v the scale of
    RV is (d + 1)² (n − 1) (N − n). The degree d ≥ 1 counts the edges that each node draws.
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
        # RV depends on the sums of rows only through their products with v's row.
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
    """Find the values of h in (0, 1) with P(RV ≥ 0) < ½, as intervals with algebraic ends."""
    excess = probability(sizes, degree) - sp.Rational(1, 2)
    return sp.Union(*solve_poly_inequality(excess, "<")) & sp.Interval.open(0, 1)


def limit_probability(classes: int, degree: int, homophily: Fraction) -> Fraction:
    r"""Compute the limit of P(RV ≥ 0) for large classes, for h ≠ h₀ = (d + 1 − C)/(C d).

    The mean rows become constant, and RV has the sign of :math:`(h - h_0)(B - d h_0)`. B, the
    number of neighbors of v in the class of v, is binomial with mean d h. If B = d h₀, the
    vanishing variation of the mean rows decides, and both signs are equally likely. If also all
    classes are equally frequent in v's row, RV is exactly zero.
    """
    center = Fraction(degree + 1 - classes, classes)  # d h₀
    side = 1 if homophily * degree > center else -1
    return _limit_on_side(classes, degree, homophily, side)


def limits_at_minimizer(classes: int, degree: int) -> tuple[Fraction, Fraction]:
    """Compute the limits of `limit_probability` as h tends to h₀ > 0 from below and from above.

    If C does not divide d + 1, the two limits add up to one. The bound of ½ then fails on one side
    unless both limits are ½. For h₀ > 0 the degree must be at least C.
    """
    minimizer = Fraction(degree + 1 - classes, classes * degree)
    return tuple(_limit_on_side(classes, degree, minimizer, side) for side in (-1, 1))


def two_class_probability(n: int, degree: int, homophily: Fraction) -> Fraction:
    """Compute P(RV ≥ 0) exactly for C = 2 classes of n nodes each.

    RV has the sign of (2k + 1 − d)(n + k + B − d n) if k edges of v and B edges of the other nodes
    stay within their class. B is binomial with d (2n − 1) draws.
    """
    # Integers over one denominator, with h = p / (p + q), are faster than fractions.
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
    """Simulate all edges independently and return the share of draws with RV ≥ 0."""
    to_other = (1 - homophily) / (classes - 1)
    chance = np.full((classes, classes), to_other) + (homophily - to_other) * np.eye(classes)

    def sums(label: int, nodes: int) -> np.ndarray:
        total = rng.multinomial(degree * nodes, chance[label], draws)
        total[:, label] += nodes
        return total

    v = sums(0, 1)
    same = sums(0, n - 1) + v
    others = sum(sums(label, n) for label in range(1, classes))
    # The scaled RV is an integer, so its sign is exact.
    return float(((v * ((classes - 1) * same - others)).sum(axis=1) >= 0).mean())


def _limit_on_side(classes: int, degree: int, p: Fraction, side: int) -> Fraction:
    """Compute P((B − d h₀) · side > 0) plus the share of P(B = d h₀) in which RV ≥ 0."""
    total, per_class = Fraction(0), (degree + 1) // classes
    center = Fraction(degree + 1 - classes, classes)  # d h₀
    # The probability that the other C − 1 classes have equal shares of the remaining edges.
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
    """Compute the distribution of a row plus several independent draws of another row."""
    for _ in range(times):
        total: Rows = Counter()
        for (row, edges), ways in start.items():
            for (drawn, drawn_edges), drawn_ways in draw.items():
                key = tuple(x + y for x, y in zip(row, drawn)), edges + drawn_edges
                total[key] += ways * drawn_ways
        start = total
    return start
