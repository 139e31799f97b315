"""Check that every statement about a figure holds on its graph and fails on a changed graph."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
import sympy as sp
import torch

from acm.metrics import (
    aggregation_homophily,
    class_homophily,
    diversification_distinguishability,
    edge_homophily,
    node_homophily,
)
from acm.theory.drawing import plot_example
from acm.theory.examples import EXAMPLES, HARMLESS, HELPED, LIMIT
from acm.theory.labeled_graph import Example


def changed(example: Example, add=(), remove=()) -> Example:
    """Return a copy with edges added and removed."""
    edges = tuple(edge for edge in example.edges if edge not in remove)
    return replace(example, edges=(*edges, *add))


# Each entry is a changed graph that makes one statement false, in the order of the statements.
SPOILT = {
    HARMLESS: [
        changed(HARMLESS, add=[(1, 2)]),
        changed(HARMLESS, add=[(1, 2)]),
        changed(HARMLESS, remove=[(1, 4), (1, 5)]),
        changed(HARMLESS, remove=[(1, 4), (1, 5)]),
        changed(HARMLESS, add=[(1, 2)], remove=[(1, 4), (1, 5), (1, 6)]),
    ],
    HELPED: [
        changed(HELPED, remove=[(1, 4), (1, 5), (1, 6)]),
        changed(HELPED, remove=[(1, 4), (1, 5), (1, 6)]),
        changed(HELPED, remove=[(4, 5), (4, 6), (4, 7)]),
        changed(HELPED, remove=[(1, 4), (1, 5), (1, 6)]),
        changed(HELPED, remove=[(1, 4), (1, 5), (1, 6)]),
        changed(HELPED, add=[(2, 4)]),
    ],
    LIMIT: [
        replace(LIMIT, classes=LIMIT.classes | {10: 3}),
        changed(LIMIT, remove=[(1, 3), (1, 4)]),
        changed(LIMIT, add=[(1, 13)]),
        changed(LIMIT, add=[(1, 13), (1, 14), (2, 13), (2, 14)]),
        changed(LIMIT, add=[(3, 11)]),
        changed(LIMIT, remove=[(1, 3), (1, 4), (1, 5)]),
    ],
}
CASES = [(e, i) for e in EXAMPLES for i in range(len(e.statements))]


@pytest.mark.parametrize("example, index", CASES, ids=lambda c: getattr(c, "title", c))
def test_every_statement_holds_and_could_fail(example, index):
    statement = example.statements[index]
    assert statement.holds(example)
    assert not statement.holds(SPOILT[example][index])


def tensors(example: Example) -> tuple[torch.Tensor, torch.Tensor]:
    position = {node: i for i, node in enumerate(example.nodes)}
    pairs = [(position[u], position[v]) for u, v in example.edges]
    edges = torch.tensor(pairs + [(v, u) for u, v in pairs]).T
    return edges, torch.tensor(list(example.classes.values())) - 1


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.title)
def test_metrics_of_the_package_equal_the_exact_values(example):
    edges, y = tensors(example)
    assert aggregation_homophily(edges, y) == pytest.approx(float(example.aggregation_homophily()))
    share = len(example.distinguishable()) / len(example.nodes)
    assert diversification_distinguishability(None, edges, y) == pytest.approx(share)


def test_figure_1_is_zero_by_every_earlier_metric():
    edges, y = tensors(HARMLESS)
    assert nx.is_bipartite(nx.Graph(list(HARMLESS.edges)))
    assert edge_homophily(edges, y) == node_homophily(edges, y) == class_homophily(edges, y) == 0
    assert aggregation_homophily(edges, y) == 1


def test_figure_1_holds_for_every_bipartite_graph_without_leaves():
    # `a` = 1/(d + 1) is the entry for the node's class in its row of Â Z. The means of `a` over
    # the node's class and over the other class are m1 and m2.
    a, m1, m2 = sp.symbols("a m1 m2", positive=True)
    same, other = a * m1 + (1 - a) * (1 - m1), a * (1 - m2) + (1 - a) * m2
    assert sp.expand(same - other - (1 - 2 * a) * (1 - m1 - m2)) == 0
    assert sp.expand(same - other - (1 - a) * (1 - m1 - m2)) != 0
    # Degrees of 2 or more give a ≤ 1/3, so both factors are positive. A leaf has a = 1/2, a tie.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        edges = {(int(v), 4 + int(u)) for v in range(4) for u in rng.choice(5, 3, replace=False)}
        example = Example("", {v: 1 + (v >= 4) for v in range(9)}, tuple(sorted(edges)), {})
        means = [example.means("low", v) for v in example.nodes]
        for v, (same, other) in zip(example.nodes, means):
            degree = len(example.neighbors(v))
            assert (same > other) if degree > 1 else (same == other) if degree == 1 else True


def test_a_perfect_matching_has_aggregation_homophily_1_although_all_rows_become_equal():
    # All weights are equal, so the result is 1 with ≥ of Definition 1 and 0 with a strict >.
    matching = Example("", {1: 1, 2: 1, 3: 2, 4: 2}, ((1, 3), (2, 4)), {})
    assert (matching.low_pass() @ matching.labels == Fraction(1, 2)).all()
    assert matching.aggregation_homophily() == 1
    assert all(same == other for same, other in (matching.means("low", v) for v in matching.nodes))
    assert aggregation_homophily(*tensors(matching), ties=">") == 0


def test_weights_of_figure_3():
    low = [v for v in HELPED.nodes if HELPED.means("low", v)[0] < HELPED.means("low", v)[1]]
    assert low == [1, 3] and HELPED.aggregation_homophily() == Fraction(5, 7)
    assert HELPED.distinguishable() == HELPED.nodes  # Theorem 2
    weights = HELPED.similarity["low"][0]
    assert [str(w) for w in weights] == "13/25 2/5 13/25 14/25 8/15 8/15 14/25".split()
    assert [str(w) for w in HELPED.similarity["high"][0]] == (
        "18/25 0 18/25 -6/25 -2/5 -2/5 -6/25".split()
    )


def test_neither_metric_detects_the_limitation():
    # Both metrics average over all other classes, and most of these nodes are in class 2.
    assert len(LIMIT.distinguishable()) == len(LIMIT.nodes)
    assert LIMIT.aggregation_homophily() == 1
    assert LIMIT.weight("high", 1, 13) > 0 and LIMIT.weight("high", 3, 11) > 0


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.title)
def test_the_drawing_shows_the_graph_and_both_matrices(example):
    figure = plot_example(example, boxes=[(1, 2)])
    graph, low, high = figure.axes
    assert len(graph.lines) == len(example.edges)
    assert [text.get_text() for text in graph.texts] == [str(node) for node in example.positions]
    for axes, name in ((low, "low"), (high, "high")):
        shown = np.asarray(axes.images[0].get_array())
        assert shown == pytest.approx(example.similarity[name].astype(float))
    assert len(high.patches) == 2
    plt.close(figure)
