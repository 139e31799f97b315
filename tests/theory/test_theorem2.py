"""Check Theorem 2 (App. E), the limits of the theorem, and that wrong statements fail."""

import numpy as np
import pytest
import sympy as sp
import torch

from acm.errors import UsageError
from acm.metrics import diversification_distinguishability
from acm.theory import theorem2 as t


@pytest.mark.parametrize("same", [True, False])
def test_two_classes_symbolically(same):
    similarity = t.symbolic_similarity(2, same)
    assert sp.expand(similarity - t.printed_similarity(same)) == 0
    # The symbols are assumed to be non-negative, and nothing else is assumed.
    assert similarity.is_nonnegative if same else similarity.is_nonpositive
    assert not (similarity.is_nonpositive if same else similarity.is_nonnegative)


@pytest.mark.parametrize("classes", [3, 4, 5])
def test_more_classes_symbolically(classes):
    assert t.symbolic_similarity(classes, True).is_nonnegative
    assert not t.symbolic_similarity(classes, False).is_nonpositive
    # A third class that is common to both neighborhoods is a counterexample.
    third = {s: int(s.name.endswith("2")) for s in t.symbolic_similarity(3, False).free_symbols}
    assert t.symbolic_similarity(3, False).subs(third) == 1


def test_two_classes_on_ten_thousand_graphs():
    rng = np.random.default_rng(0)
    kinds = dict.fromkeys(["undirected", "directed", "weighted", "loops", "isolated"], 0)
    for _ in range(10_000):
        adjacency, y = t.random_graph(rng, 2)
        assert all(t.distinguishable(adjacency, y))
        symmetric = (adjacency == adjacency.T).all()
        kinds["undirected"] += symmetric
        kinds["directed"] += not symmetric
        kinds["weighted"] += adjacency.max() > 1
        kinds["loops"] += adjacency.trace() > 0
        kinds["isolated"] += (adjacency.sum(axis=1) == 0).any()
    assert min(kinds.values()) > 1000, kinds


def test_three_classes_fail_by_the_same_check():
    rng = np.random.default_rng(0)
    failing = sum(not all(t.distinguishable(*t.random_graph(rng, 3))) for _ in range(300))
    assert 30 < failing < 300


def test_a_negative_weight_breaks_it():
    # Rows still sum to one, but the share of the node's class exceeds one.
    adjacency, y = np.array([[0, 2, -1], [0, 0, 0], [1, 0, 0]]), np.array([0, 0, 1])
    assert not all(t.distinguishable(adjacency, y))


def test_the_exact_check_against_the_metric_and_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(100):
        adjacency, y = t.random_graph(rng, 3)
        adjacency = np.minimum(adjacency, 1)
        flags = t.distinguishable(adjacency, y)
        edges = torch.tensor(np.stack(np.nonzero(adjacency)))
        score = diversification_distinguishability(None, edges, torch.tensor(y), direction="out")
        assert sum(flags) == round(float(score) * len(y))

        low = (adjacency + np.eye(len(y))) / (1 + adjacency.sum(axis=1, keepdims=True))
        rows = (np.eye(len(y)) - low) @ np.eye(3)[y]
        similarity, same = rows @ rows.T, y[:, None] == y
        for v, flag in enumerate(flags):
            margin = min(similarity[v, same[v]].mean(), -similarity[v, ~same[v]].mean())
            assert abs(margin) < 1e-12 or flag == (margin > 0)


def test_smallest_counterexample_for_three_classes():
    # Every graph of three and four nodes, connected or not, is distinguishable.
    for nodes in (3, 4):
        assert next(t.counterexamples(nodes, 3, connected=False), None) is None
    example = t.smallest_counterexample(3)
    assert len(example.y) == 5 and len(example.edges) == 4
    # A connected graph of five nodes has at least four edges, and the search is by edges.
    assert t.smallest_counterexample(3, connected=False) == example
    # A star: its centre and one leaf of one class, two leaves of the second, one of the third.
    assert example.edges == [(0, 1), (0, 2), (0, 3), (0, 4)] and example.y == (0, 0, 1, 1, 2)
    adjacency = np.zeros((5, 5), dtype=int)
    adjacency[0, 1:] = adjacency[1:, 0] = 1
    assert [not ok for ok in t.distinguishable(adjacency, example.y)] == [False] * 4 + [True]


def test_smallest_directed_counterexample():
    example = t.smallest_counterexample(3, directed=True)
    assert example.edges == [(0, 1), (2, 1)] and example.y == (0, 1, 2)
    assert next(t.counterexamples(2, 2, directed=True, connected=False), None) is None


def test_two_classes_pass_the_search_that_three_fail():
    for nodes in (2, 3, 4):
        assert next(t.counterexamples(nodes, 2, connected=False), None) is None
    for nodes in (2, 3):
        assert next(t.counterexamples(nodes, 2, directed=True, connected=False), None) is None


def test_the_symmetric_filter_breaks_two_classes():
    for nodes in (2, 3):
        assert next(t.counterexamples(nodes, 2, norm="sym", connected=False), None) is None
    example = t.smallest_counterexample(2, norm="sym")
    assert example.edges == [(0, 1), (0, 2), (1, 3)] and example.y == (0, 0, 0, 1)
    tilde = np.eye(4, dtype=int)
    for i, j in example.edges:
        tilde[i, j] = tilde[j, i] = 1
    similarity = t.symmetric_similarity(tilde, example.y, 2)
    assert example.failing == [0] and similarity[0, 3] > 0
    # The entry of Â_sym Z for node 0 and its class exceeds one, which the proof excludes.
    share = sum(tilde[0, u] / sp.sqrt(int(tilde[0].sum() * tilde[u].sum())) for u in (0, 1, 2))
    assert share == sp.Rational(2, 3) + 1 / sp.sqrt(6) and share > 1


def test_the_symmetric_filter_can_fail_on_the_first_condition_alone():
    # A path 1–0–2 in one class and a lone node in the other, to which node 0 has no similarity.
    example = t.smallest_counterexample(2, norm="sym", connected=False)
    assert example == t.Counterexample([(0, 1), (0, 2)], (0, 0, 0, 1), [0])
    tilde = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])
    similarity = t.symmetric_similarity(tilde, example.y, 2)
    assert sum(similarity[0, :3]) < 0 and similarity[0, 3] == 0


def test_more_classes_cost_distinguishability_only_where_edges_follow_labels():
    rng = np.random.default_rng(0)
    apart = [t.random_share(rng, classes, 0.2, 10) for classes in (2, 6, 8, 10)]
    assert apart[0] == 1 and sorted(apart, reverse=True) == apart and apart[-1] < 0.6
    assert [t.random_share(rng, classes, 1, 10) for classes in (2, 10)] == [1, 1]


@pytest.mark.parametrize("norm, directed", [("both", False), ("sym", True)])
def test_unsupported_norms_are_rejected(norm, directed):
    with pytest.raises(UsageError, match="is not supported"):
        next(t.counterexamples(2, 2, norm, directed))


@pytest.mark.data
def test_deezer_europe_is_two_classes():
    from acm.data import load

    data = load("deezer-europe")
    score = diversification_distinguishability(None, data.edge_index, data.y)
    assert float(score) == 1 and data.num_classes == 2
