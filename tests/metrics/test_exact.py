"""The exact verdicts where rounding would decide otherwise."""

from fractions import Fraction

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from acm.metrics import aggregation_homophily, diversification_distinguishability
from acm.metrics.exact import class_sums, signs

whole = st.integers(-(10**6), 10**6)
huge = st.one_of(st.just(0), st.integers(-(10**320), 10**320), st.integers(-3, 3))


@given(
    st.lists(st.tuples(whole, whole, whole), min_size=1, max_size=6),
    st.lists(st.tuples(huge, huge, huge), min_size=2, max_size=2),
)
def test_signs_of_products_with_huge_and_with_tiny_weights(rows, weights):
    y = [k % 2 for k in range(len(rows))]
    expected = [sum(n * w for n, w in zip(row, weights[c])) for row, c in zip(rows, y)]
    found = signs(torch.tensor(rows), torch.tensor(y), np.array(weights, dtype=object))
    assert found.tolist() == [(e > 0) - (e < 0) for e in expected]


@given(whole, whole, st.integers(-1, 1), st.integers(0, 10**40))
def test_signs_of_products_that_nearly_cancel(a, b, nudge, stretch):
    # (a, b) · (b, -a) is zero; a nudge of one beside factors of 10**40 is below any rounding.
    weights = np.array([[b * stretch + nudge, -a * stretch]], dtype=object)
    exact = a * nudge
    found = signs(torch.tensor([[a, b]]), torch.tensor([0]), weights)
    assert found.item() == (exact > 0) - (exact < 0)


@given(st.lists(st.tuples(whole, whole, st.integers(1, 10**5), st.integers(0, 3)), min_size=1))
def test_class_sums_are_the_sums_of_fractions(entries):
    a, b, degree, y = (torch.tensor(column) for column in zip(*entries))
    found = class_sums(torch.stack([a, b], 1), degree, y, 4)
    exact = [
        [sum((Fraction(e[k], e[2]) for e in entries if e[3] == c), Fraction(0)) for k in (0, 1)]
        for c in range(4)
    ]
    # `found` is a common multiple of them: compare all ratios, by cross products.
    pairs = [(f, e) for row, line in zip(found, exact) for f, e in zip(row, line)]
    scale = next((Fraction(f) / e for f, e in pairs if e), Fraction(1))
    assert scale > 0 and all(f == scale * e for f, e in pairs)


def fractions_of(edge_index, y, high):
    """Verdicts by Fractions, node by node; `S_c` by Fractions, edge by edge."""
    n, classes = len(y), max(y) + 1
    counts = [[int(y[v] == c) for c in range(classes)] for v in range(n)]
    for v, u in edge_index.T.tolist():
        counts[v][y[u]] += 1
    rows = []
    for v in range(n):
        degree = sum(counts[v])
        low = [Fraction(k, degree) for k in counts[v]]
        rows.append([(y[v] == c) - q if high else q for c, q in enumerate(low)])
    sums = [
        [sum((rows[u][c] for u in range(n) if y[u] == k), Fraction(0)) for c in range(classes)]
        for k in range(classes)
    ]
    for v in range(n):
        products = [sum(a * b for a, b in zip(rows[v], s)) for s in sums]
        size = y.count(y[v])
        same, rest = products[y[v]] / size, (sum(products) - products[y[v]]) / (n - size)
        first, second = (same, -rest) if high else (same - rest, same - rest)
        yield min((first > 0) - (first < 0), (second > 0) - (second < 0))


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=25)
def test_graphs_with_many_degrees(seed, classes):
    # Degrees up to 120, so that denominators have dozens of digits, and symmetric blocks, so that
    # many nodes tie.
    rng = np.random.default_rng(seed)
    n = 120
    y = rng.integers(0, classes, n)
    y[: n // 2] = np.arange(n // 2) % 2
    a = rng.random((n, n)) < rng.random(n)[:, None] * rng.random(n)
    a[: n // 4, n // 2 :] = a[n // 4 : n // 2, n // 2 :]
    a = np.triu(a, 1)
    edge_index = torch.from_numpy(np.stack(np.nonzero(a | a.T)))
    y, labels = torch.from_numpy(y), y.tolist()
    score = aggregation_homophily(edge_index, y)
    assert score.sign.tolist() == list(fractions_of(edge_index, labels, False))
    score = diversification_distinguishability(None, edge_index, y)
    assert score.sign.tolist() == list(fractions_of(edge_index, labels, True))
