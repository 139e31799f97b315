"""Check Theorem 1 and the extension (App. D), and that wrong formulas fail."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import sympy as sp
from scipy.stats import norm

from acm.errors import UsageError
from acm.theory import extension
from acm.theory import theorem1 as t

#: Thirty triples of C, d and h, which include the minimizer for each pair of C and d.
TRIPLES = [
    (classes, degree, homophily)
    for classes, degree in [(2, 3), (2, 10), (3, 4), (4, 9), (5, 4), (5, 14)]
    for homophily in (0.02, 0.2, 0.5, 0.9, (degree + 1 - classes) / (classes * degree))
]


def at(expression, classes, degree, homophily=t.h):
    return expression.subs({t.C: classes, t.d: degree, t.h: homophily})


@pytest.mark.parametrize("classes, degree", [(2, 1), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2)])
@pytest.mark.parametrize("same", [True, False])
def test_expectations_equal_the_enumeration_of_all_draws(classes, degree, same):
    enumerated = t.enumerated_similarity(classes, degree, same)
    assert enumerated == sp.Poly(at(t.expected_similarity(same), classes, degree), t.h)
    assert enumerated != sp.Poly(at(t.expected_similarity(not same), classes, degree), t.h)


def test_the_difference_is_the_printed_one():
    assert sp.simplify(t.difference() - t.printed_difference()) == 0
    assert at(t.printed_difference(), 5, 14, sp.Rational(1, 7)) == 0
    # A formula without the self-loop, or with one more class, is different.
    without_loop = (((t.C - 1) * t.h * t.d - (1 - t.h) * t.d) / ((t.C - 1) * t.d)) ** 2
    all_classes = t.printed_difference().subs(t.C, t.C + 1)
    for wrong in (without_loop, all_classes):
        assert sp.simplify(t.difference() - wrong) != 0


def test_minimum_for_a_fixed_degree():
    point = t.minimizer()
    assert sp.simplify(point - (t.d + 1 - t.C) / (t.C * t.d)) == 0
    assert sp.simplify(t.difference().subs(t.h, point)) == 0
    curvature = sp.factor(sp.diff(t.difference(), t.h, 2))
    assert sp.simplify(curvature - 2 * (t.C * t.d / ((t.C - 1) * (t.d + 1))) ** 2) == 0
    # With d = d_intra / h the minimizer is the one that the paper prints.
    (intra,) = sp.solve(sp.Eq(t.h, point.subs(t.d, t.d_intra / t.h)), t.h)
    assert sp.simplify(intra - t.d_intra / (t.C * t.d_intra + t.C - 1)) == 0
    assert intra.subs({t.C: 5, t.d_intra: 2}) == sp.Rational(1, 7)


def test_minimum_leaves_the_unit_interval_for_small_degrees():
    point = t.minimizer()
    assert at(point, 5, 4) == 0 and at(point, 5, 3) < 0
    # For d < C − 1, g has its minimum at h = 0, and the minimum is positive.
    g = at(t.difference(), 5, 2)
    assert g.subs(t.h, 0) == sp.Rational(1, 36)
    assert all(g.subs(t.h, sp.Rational(k, 20)) > g.subs(t.h, 0) for k in range(1, 21))


def test_minimum_for_fixed_intra_class_edges():
    g, (point,) = t.fixed_intra(), t.minimizers_fixed_intra()
    assert sp.simplify(point - t.d_intra / (t.C * t.d_intra + t.C - 1)) == 0
    assert sp.simplify(g.subs(t.h, point)) == 0
    # g is the square of a function that increases in h, so the minimum is the only one.
    root = ((t.C * t.d_intra + t.C - 1) * t.h - t.d_intra) / ((t.C - 1) * (t.d_intra + t.h))
    assert sp.simplify(root**2 - g) == 0
    slope = sp.factor(sp.diff(root, t.h)).subs(t.C, sp.Symbol("K", positive=True) + 1)
    assert slope.is_positive
    # g is convex only up to the point `claim`.
    bend = sp.solve(sp.diff(g, t.h, 2), t.h)
    claim = t.d_intra / 2 + 3 * t.d_intra / (2 * (t.C * t.d_intra + t.C - 1))
    assert [sp.simplify(b - claim) for b in bend] == [0]
    assert claim.subs({t.C: 5, t.d_intra: 2}) > 1 > claim.subs({t.C: 5, t.d_intra: 1})


def test_the_theorem_needs_equally_likely_other_classes():
    # All outward edges of class c go to class c + 1 of three, so g depends on the other class.
    stay = (t.h * t.d + 1) / (t.d + 1)
    away = (1 - t.h) * t.d / (t.d + 1)
    rows = sp.Matrix([[stay, away, 0], [0, stay, away], [away, 0, stay]])
    similarity = rows * rows.T
    values = {t.h: sp.Rational(1, 5), t.d: 5, t.C: 3}
    cyclic = (similarity[0, 0] - similarity[0, 1]).subs(values)
    assert cyclic == sp.Rational(1, 3) and t.printed_difference().subs(values) == 0


def test_simulation_on_the_theorems_own_draws():
    """Allow 3 of 30 intervals at 99 % to miss, since more misses have a probability of 1/3,000.

    A Bonferroni interval at 99 % must contain all 30 values. The seed is the first one tried.
    """
    assert len(set(TRIPLES)) == 30
    rng = np.random.default_rng(0)
    single, joint = norm.ppf(0.995), norm.ppf(1 - 0.005 / len(TRIPLES))
    misses, wrong_misses = 0, 0
    for triple in TRIPLES:
        mean, error = t.simulate_pairs(rng, *triple, draws=20_000)
        right = float(at(t.printed_difference(), *triple))
        # The wrong formula omits the self-loop.
        wrong = float(at(((t.C * t.h - 1) / (t.C - 1)) ** 2, *triple))
        assert abs(mean - right) <= joint * error, triple
        misses += abs(mean - right) > single * error
        wrong_misses += abs(mean - wrong) > joint * error
    assert misses <= 3
    assert wrong_misses >= 25


@pytest.mark.parametrize("classes, n, degree", [(2, 2, 2), (2, 3, 3), (3, 2, 2)])
def test_the_node_itself_adds_the_variance_of_a_row(classes, n, degree):
    g = sp.Poly(at(t.difference(), classes, degree), t.h)
    excess = sp.Poly(at(t.row_variance(), classes, degree) / n, t.h)
    # By definition 1, over all draws, the mean is g without v and larger with v.
    as_poly = {w: extension.moment((n,) * classes, degree, 1, with_self=w) for w in (True, False)}
    coefficients = {w: p.all_coeffs() for w, p in as_poly.items()}
    assert coefficients[False] == g.all_coeffs()
    assert coefficients[True] == (g + excess).all_coeffs() != g.all_coeffs()


def test_how_far_the_node_itself_moves_the_minimum():
    n = sp.Symbol("n", positive=True)
    point, k = t.minimizer_with_self(n), (t.C - 1) / (n * t.C * t.d)
    claim = 1 / t.C + (t.minimizer() - 1 / t.C) / (1 - k)
    assert sp.simplify(point - claim) == 0
    moved = at(point.subs(n, 400), 5, 14) - sp.Rational(1, 7)
    assert -1e-4 < moved < 0


def test_matchings_are_perfect_and_have_homophily_h():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 30)
    share = []
    for _ in range(200):
        mate = t._matching(rng, y, 30, 0.3)
        assert (mate[mate] == np.arange(120)).all() and (mate != np.arange(120)).all()
        share.append((y[mate] == y).mean())
    assert abs(np.mean(share) - 0.3) < 5 * np.std(share) / np.sqrt(200)


@pytest.mark.parametrize("model", ["directed", "undirected"])
@pytest.mark.parametrize("homophily", [1 / 7, 0.5])
def test_regular_graphs_agree_up_to_the_node_itself(model, homophily):
    rng = np.random.default_rng(0)
    g = float(at(t.difference(), 5, 14, homophily))
    excess = float(at(t.row_variance(), 5, 14, homophily)) / 40
    for with_self in (False, True):
        mean, error = t.simulate_graphs(rng, model, 5, 40, 14, homophily, 60, with_self)
        assert abs(mean - g - excess * with_self) < 4 * error
        if homophily < 0.2 and with_self:
            assert abs(mean - g) > 4 * error, "u = v has a measurable effect"


def test_shared_edges_move_the_minimum_of_small_graphs_down():
    rng, vertex = np.random.default_rng(0), 2 / 9
    point, error = t.fitted_minimizer(rng, "undirected", 3, 10, 6)
    assert 3 * error < vertex - point < 0.015
    for model, n in [("directed", 10), ("directed", 40), ("undirected", 40)]:
        point, error = t.fitted_minimizer(rng, model, 3, n, 6)
        assert abs(point - vertex) < 4 * error < 0.01


def test_adding_the_reverse_edges_moves_the_minimum():
    """Check that the minimizer for d_intra = 2 moves from 1/7 to 0.166, nearly to 1/6."""
    point = t.minimizer_symmetrized(5, 2)
    assert 0.166 < point < 4 / 24
    rng = np.random.default_rng(0)
    seventh, _ = t.simulate_graphs(rng, "symmetrized", 5, 100, 14, 1 / 7, 30)
    sixth, error = t.simulate_graphs(rng, "symmetrized", 5, 100, 12, 1 / 6, 30)
    assert seventh - sixth > 8 * error
    seventh, _ = t.simulate_graphs(rng, "directed", 5, 100, 14, 1 / 7, 30)
    sixth, error = t.simulate_graphs(rng, "directed", 5, 100, 12, 1 / 6, 30)
    assert sixth - seventh > 4 * error


def brute_force(sizes: tuple[int, ...], degree: int, homophily: Fraction) -> Fraction:
    """Compute P(RV ≥ 0) from definition 1 by enumerating all graphs, for the smallest cases."""
    classes, n, size = len(sizes), sizes[0], sum(sizes)
    y = [label for label, nodes in enumerate(sizes) for _ in range(nodes)]
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


@pytest.mark.parametrize("sizes, degree", [((2, 2), 2), ((2, 3), 1), ((3, 2), 2), ((2, 2, 2), 1)])
def test_distribution_equals_the_enumeration_of_all_graphs(sizes, degree):
    homophily = Fraction(3, 10)
    value = extension.probability(sizes, degree).eval(sp.Rational(3, 10))
    assert Fraction(int(value.p), int(value.q)) == brute_force(sizes, degree, homophily)


@pytest.mark.parametrize("classes, degree", [(2, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 1)])
def test_rv_is_not_symmetric(classes, degree):
    for n in (2, 3) if classes < 4 else (2,):
        assert extension.third_central_moment((n,) * classes, degree, Fraction(3, 10)) != 0


def test_third_moment_is_zero_for_a_constant_and_correct_otherwise():
    # With two classes and no edges within a class each row is fixed, so RV is constant.
    assert extension.third_central_moment((2, 2), 3, Fraction(0)) == 0
    # Compute the same moment from the distribution.
    half = Fraction(1, 2)
    values = {}
    for (value, _), ways in extension.outcomes((2, 2), 2).items():
        values[value] = values.get(value, 0) + Fraction(ways, 2**8)
    assert sum(values.values()) == 1
    mean = sum(v * p for v, p in values.items())
    third = sum((v - mean) ** 3 * p for v, p in values.items())
    assert extension.third_central_moment((2, 2), 2, half) == third / (9 * 2 * 2) ** 3


def small_cases():
    for nodes in range(4, 8):
        for classes in range(2, nodes // 2 + 1):
            for others in combinations_with_replacement(range(2, nodes), classes - 1):
                if nodes - sum(others) >= 2:
                    yield nodes - sum(others), *others


def test_no_graph_of_seven_nodes_breaks_the_bound():
    cases = list(small_cases())
    assert (2, 2) in cases and (2, 2, 2) in cases and (4, 3) in cases and (3, 4) in cases
    for sizes in cases:
        for degree in range(1, 5 if len(sizes) == 2 else 4):
            assert extension.below_half(sizes, degree).is_empty


def test_a_broken_bound_would_be_found(monkeypatch):
    half = sp.Rational(1, 2)
    polynomial = sp.Poly((t.h - half) * (3 * t.h - 1) ** 2 * (t.h**2 - half) + half, t.h)
    monkeypatch.setattr(extension, "probability", lambda *_: polynomial)
    assert extension.below_half((2, 2), 1) == sp.Interval.open(half, sp.sqrt(half))


def test_two_classes_break_the_bound_from_117_nodes_per_class_on():
    for n, degree in [(2, 2), (3, 1), (4, 3)]:
        value = extension.probability((n, n), degree).eval(sp.Rational(3, 11))
        claim = extension.two_class_probability(n, degree, Fraction(3, 11))
        assert Fraction(int(value.p), int(value.q)) == claim
    # The grid covers (1/4, 1 − √½), where the limit is below one half, and some h outside.
    grid = [Fraction(k, 1000) for k in range(245, 300, 2)]
    assert min(extension.two_class_probability(116, 2, p) for p in grid) > Fraction(1, 2)
    assert extension.two_class_probability(117, 2, Fraction(281, 1000)) < Fraction(1, 2)


@pytest.mark.parametrize(
    "classes, degree, homophily", [(2, 2, "0.27"), (3, 3, "0.15"), (3, 5, "0.22"), (5, 6, "0.09")]
)
def test_limit_of_large_classes(classes, degree, homophily):
    limit = float(extension.limit_probability(classes, degree, Fraction(homophily)))
    rng = np.random.default_rng(0)
    share = extension.simulate(rng, classes, 10**8, degree, float(homophily), 20_000)
    assert abs(share - limit) < 4 * np.sqrt(limit * (1 - limit) / 20_000)


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 7])
def test_the_limit_fails_on_one_side_of_the_minimum(classes):
    for degree in range(classes, 20):
        low, high = extension.limits_at_minimizer(classes, degree)
        if (degree + 1) % classes:
            assert low + high == 1 and min(low, high) < Fraction(1, 2)
        elif classes == 2:
            assert min(low, high) > Fraction(1, 2)


def test_unknown_models_are_rejected():
    with pytest.raises(UsageError, match="unknown model 'both'"):
        t.draw_rows(np.random.default_rng(0), "both", 2, 4, 2, 0.5)
