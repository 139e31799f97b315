"""Every metric against its definition, written down on N x N matrices of exact rationals."""

from collections import Counter
from fractions import Fraction
from math import log

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from acm.errors import UsageError
from acm.metrics import (
    adjusted_homophily,
    aggregation_homophily,
    aggregation_similarity,
    class_homophily,
    diversification_distinguishability,
    edge_homophily,
    estimates,
    label_informativeness,
    node_homophily,
)

MANY = settings(max_examples=500, deadline=None)


class Case:
    """A graph with conventions, and the sets of neighbours that they make of it."""

    def __init__(self, edges, y, x, direction, loops, mask):
        self.y, self.x, self.mask = y, x, mask
        self.edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
        self.labels = torch.tensor(y)
        self.options = {"direction": direction, "loops": loops}
        if mask is not None:
            self.options["train_mask"] = torch.tensor(mask)
        self.neighbors = [set() for _ in y]
        for source, target in edges:
            if direction in ("out", "undirected"):
                self.neighbors[source].add(target)
            if direction in ("in", "undirected"):
                self.neighbors[target].add(source)
        for v in range(len(y)):
            if loops == "remove":
                self.neighbors[v].discard(v)
            if loops == "add":
                self.neighbors[v].add(v)

    def __repr__(self):
        return f"{self.edge_index.T.tolist()} y={self.y} x={self.x} {self.options}"

    @property
    def known(self):
        return [v for v in range(len(self.y)) if self.mask is None or self.mask[v]]

    def pairs(self):
        """The neighbourly pairs whose labels are both known."""
        return [(v, u) for v in self.known for u in self.neighbors[v] if u in self.known]

    def z(self, neighbor_labels="all"):
        seen = range(len(self.y)) if neighbor_labels == "all" else self.known
        return [
            [int(v in seen and self.y[v] == c) for c in range(max(self.y) + 1)]
            for v in range(len(self.y))
        ]


@st.composite
def cases(draw, labels=None, masked=True):
    """Directed graphs with loops, repeated edges, isolated nodes, 2 to 7 classes, empty classes."""
    n = draw(st.integers(2, 8))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=20))
    classes = labels or draw(st.lists(st.integers(0, 6), min_size=2, max_size=7, unique=True))
    y = draw(st.lists(st.sampled_from(classes), min_size=n, max_size=n))
    row = st.lists(st.integers(-2, 3), min_size=3, max_size=3)
    x = draw(st.lists(row, min_size=n, max_size=n))
    direction = draw(st.sampled_from(["undirected", "out", "in"]))
    loops = draw(st.sampled_from(["remove", "keep", "add"]))
    mask = draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n)) if masked else None
    assume(mask is None or any(mask))
    return Case(edges, y, x, direction, loops, mask)


def filtered(case, x, filter, renormalize=True):
    """`M X`, from the definition."""
    n = len(case.y)
    a = [
        [Fraction(int(u in case.neighbors[v]) + int(renormalize and u == v)) for u in range(n)]
        for v in range(n)
    ]
    degree = [sum(row) for row in a]

    def m(v, u):
        low = a[v][u] / degree[v] if degree[v] else Fraction(0)
        own = Fraction(int(v == u))
        return {"low_pass": low, "high_pass": own - low, "identity": own}[filter]

    return [
        [sum((m(v, u) * x[u][f] for u in range(n)), Fraction(0)) for f in range(len(x[0]))]
        for v in range(n)
    ]


def means(case, rows):
    """For each known node, the mean of S[v, u] over its class, and over the others."""
    found = []
    for v in case.known:
        similarity = [(u, sum(a * b for a, b in zip(rows[v], rows[u]))) for u in case.known]
        parts = [
            [s for u, s in similarity if (case.y[u] == case.y[v]) == same] for same in (True, False)
        ]
        found.append(tuple(sum(part) / len(part) for part in parts))
    return found


def sign(number):
    return int(number > 0) - int(number < 0)


def diversified(same, other):
    return min(sign(same), -sign(other))


def has_two_classes(case):
    return len({case.y[v] for v in case.known}) > 1


@given(cases())
@MANY
def test_metrics_that_count_edges(case):
    pairs, known, y = case.pairs(), case.known, case.y
    same = [(v, u) for v, u in pairs if y[v] == y[u]]
    classes = max(y[v] for v in known) + 1
    degree = Counter(v for v, _ in pairs)
    shares = [Fraction(sum(w == v for w, _ in same), degree[v]) for v in known if degree[v]]
    arguments = (case.edge_index, case.labels)
    if not pairs:
        for metric in (
            edge_homophily,
            node_homophily,
            class_homophily,
            adjusted_homophily,
            label_informativeness,
        ):
            with pytest.raises(UsageError):
                metric(*arguments, **case.options)
        return
    edge = Fraction(len(same), len(pairs))
    assert edge_homophily(*arguments, **case.options) == float(edge)
    found = node_homophily(*arguments, **case.options)
    assert found == pytest.approx(float(sum(shares) / len(shares)), abs=1e-14)
    if classes > 1:
        total = Fraction(0)
        for k in range(classes):
            edges = sum(y[v] == k for v, _ in pairs)
            share = Fraction(sum(y[v] == k for v, _ in same), edges) if edges else Fraction(0)
            total += max(share - Fraction(sum(y[v] == k for v in known), len(known)), 0)
        found = class_homophily(*arguments, **case.options)
        assert found == pytest.approx(float(total / (classes - 1)), abs=1e-14)
    start, end = (Counter(y[pair[side]] for pair in pairs) for side in (0, 1))
    expected = sum(Fraction(start[k] * end[k], len(pairs) ** 2) for k in range(classes))
    if expected == 1:
        with pytest.raises(UsageError, match="one class"):
            adjusted_homophily(*arguments, **case.options)
    else:
        adjusted = float((edge - expected) / (1 - expected))
        assert adjusted_homophily(*arguments, **case.options) == pytest.approx(adjusted, abs=1e-12)


@given(cases(), st.booleans())
@MANY
def test_estimates_are_exact(case, every_label):
    """`estimates` has a fixed direction and keeps self-loops."""
    assume(has_two_classes(case) and case.mask is not None)
    case = Case(case.edge_index.T.tolist(), case.y, case.x, "undirected", "keep", case.mask)
    labels = "all" if every_label else "known"
    x, mask = torch.tensor(case.x), torch.tensor(case.mask)
    (found,) = estimates(x, case.edge_index, case.labels, [mask], labels)
    rows = filtered(case, case.z(labels), "low_pass")
    signs = [sign(same - other) for same, other in means(case, rows)]
    assert found["H_agg"].sign.tolist() == signs


@given(cases(labels=[0, 1], masked=False))
@MANY
def test_theorem_2_on_every_graph_of_two_classes(case):
    assume(has_two_classes(case))
    score = diversification_distinguishability(None, case.edge_index, case.labels, **case.options)
    assert score == 1


@given(cases(), st.sampled_from(["edge", "node"]))
@MANY
def test_label_informativeness(case, form):
    pairs = case.pairs()
    assume(pairs)
    linked = {v for v, _ in pairs}
    degree = Counter(v for v, _ in pairs)
    p, start, end = Counter(), Counter(), Counter()
    for v, u in pairs:
        weight = Fraction(1, len(pairs) if form == "edge" else len(linked) * degree[v])
        p[case.y[v], case.y[u]] += weight
        start[case.y[v]] += weight
        end[case.y[u]] += Fraction(1, len(pairs))
    arguments = (case.edge_index, case.labels)
    if len(start) == 1:
        with pytest.raises(UsageError, match="entropy"):
            label_informativeness(*arguments, form=form, **case.options)
        return
    information = sum(q * log(q / (start[a] * end[b])) for (a, b), q in p.items())
    entropy = -sum(q * log(q) for q in start.values())
    found = label_informativeness(*arguments, form=form, **case.options)
    assert found == pytest.approx(float(information / entropy), abs=1e-12)


@given(cases(), st.booleans())
@MANY
def test_label_based_metrics_are_exact(case, renormalize):
    arguments, options = (case.edge_index, case.labels), case.options
    if not has_two_classes(case):
        for call in (
            aggregation_homophily,
            lambda *a, **k: diversification_distinguishability(None, *a, **k),
        ):
            with pytest.raises(UsageError, match="one class"):
                call(*arguments, **options)
        return
    z = case.z("known")
    rows = filtered(case, z, "low_pass", renormalize)
    signs = [sign(same - other) for same, other in means(case, rows)]
    score = aggregation_homophily(*arguments, renormalize=renormalize, **options)
    assert score.sign.tolist() == signs
    n = len(signs)
    assert score == sum(s >= 0 for s in signs) / n == score.interval[1]
    assert score.ties == signs.count(0) / n
    strict = aggregation_homophily(
        *arguments, renormalize=renormalize, ties=">", modified=True, **options
    )
    assert strict == max(2 * signs.count(1) / n - 1, 0)
    rows = filtered(case, z, "high_pass")
    signs = [diversified(*pair) for pair in means(case, rows)]
    score = diversification_distinguishability(None, *arguments, **options)
    assert score.sign.tolist() == signs
    assert score == sum(s >= 0 for s in signs) / n
    assert not score.undecided.any()


@given(
    cases(),
    st.sampled_from(["low_pass", "high_pass", "identity", "DD"]),
    st.booleans(),
    st.booleans(),
)
@MANY
def test_feature_based_metrics_decide_rightly_or_say_that_they_do_not(
    case, which, normalize, sparse
):
    assume(has_two_classes(case))
    x = torch.tensor(case.x, dtype=torch.float32)
    x = x.to_sparse_csr() if sparse else x
    options = {**case.options, "normalize_features": normalize}
    exact = [[Fraction(e) for e in row] for row in case.x]
    if normalize:
        exact = [[e / (sum(map(abs, row)) or 1) for e in row] for row in exact]
    filter = "high_pass" if which == "DD" else which
    pairs = means(case, filtered(case, exact, filter))
    arguments = (x, case.edge_index, case.labels)
    if which == "DD":
        score = diversification_distinguishability(*arguments, **options)
        margins = [min(abs(same), abs(other)) for same, other in pairs]
        signs = [diversified(*pair) for pair in pairs]
    else:
        score = aggregation_similarity(*arguments, filter=filter, **options)
        margins = [abs(same - other) for same, other in pairs]
        signs = [sign(same - other) for same, other in pairs]
    for found, undecided, expected, margin in zip(
        score.sign.tolist(), score.undecided.tolist(), signs, margins, strict=True
    ):
        assert found == (0 if undecided else expected)
        assert margin < 1e-12 or not undecided
    low, high = score.interval
    assert low <= signs.count(1) / len(signs) and high >= sum(s >= 0 for s in signs) / len(signs)
