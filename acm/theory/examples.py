"""Build graphs for the paper's drawn examples (Figures 1, 3 and App. G).

The paper prints pictures without data. Each graph here satisfies every statement of the paper about
its figure. The statements are listed with the graph, and `Example.failures` checks them exactly.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from acm.theory.labeled_graph import Example, Statement


def _edge_node_and_class_homophily_are_zero(e: Example) -> bool:
    labels = set(e.classes.values())
    shares = {v: e.same_class_share(v) for v in e.nodes}
    edge = Fraction(sum(e.classes[u] == e.classes[v] for u, v in e.edges), len(e.edges))
    node = sum(shares.values()) / len(shares)
    excess = Fraction(0)
    for label in labels:
        ends = sum(len(e.neighbors(v)) for v in e.members(label))
        within = sum(shares[v] * len(e.neighbors(v)) for v in e.members(label))
        frequency = Fraction(len(e.members(label)), len(e.nodes))
        excess += max(within / ends - frequency, Fraction(0))
    return edge == node == excess / (len(labels) - 1) == 0


def _colors_are_exchanged(e: Example) -> bool:
    """Check that `A_rw` exchanges both colors and `Â_rw` makes the other color the larger."""
    exchanged = e.low_pass(renormalize=False) @ e.labels
    mixed = e.low_pass() @ e.labels
    same_color = (mixed * e.labels).sum(1)
    return bool((exchanged == e.labels[:, ::-1]).all() and (same_color < Fraction(1, 2)).all())


def _still_distinguishable(e: Example) -> bool:
    triples = (
        (v, u, w)
        for v, u, w in product(e.nodes, repeat=3)
        if e.classes[u] == e.classes[v] != e.classes[w]
    )
    return all(e.weight("low", v, u) > e.weight("low", v, w) for v, u, w in triples)


HARMLESS = Example(
    "Figure 1: harmless heterophily",
    {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2},
    ((1, 4), (1, 5), (1, 6), (2, 5), (2, 6), (2, 7), (3, 4), (3, 6), (3, 7)),
    {1: (0, 2.5), 2: (0, 1.5), 3: (0, 0.5), 4: (2, 3), 5: (2, 2), 6: (2, 1), 7: (2, 0)},
    (
        Statement(
            "Section 3.1",
            "The graph is bipartite: every edge joins class 1 and class 2.",
            lambda e: all(e.classes[u] != e.classes[v] for u, v in e.edges),
        ),
        Statement(
            "Section 3.1",
            "Edge, node and class homophily are all 0.",
            _edge_node_and_class_homophily_are_zero,
        ),
        Statement(
            "Section 3.1",
            "After mean aggregation the two classes have exchanged their colors.",
            _colors_are_exchanged,
        ),
        Statement(
            "Section 3.1",
            "The classes are still distinguishable: each node assigns a larger weight to every "
            "node of its class than to any node of the other class.",
            _still_distinguishable,
        ),
        Statement(
            "Section 3.1",
            "Aggregation homophily is 1, and so is its modified form.",
            lambda e: e.aggregation_homophily() == 1 == 2 * e.aggregation_homophily() - 1,
        ),
    ),
)
"""Figure 1: all edges join the two classes, and aggregation loses no information."""


def _look_like_class_2(e: Example) -> bool:
    """Compare the weights of nodes 1 and 3 node by node, and also their means over the classes."""
    return all(
        min(e.weight("low", v, u) for u in e.members(2)) > max(
            e.weight("low", v, u) for u in e.members(1)
        ) > 0 and e.means("low", v)[1] > e.means("low", v)[0]
        for v in (1, 3)
    )  # fmt: skip


HELPED = Example(
    "Figure 3: harmful heterophily that a high-pass filter resolves",
    {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2},
    (
        *((1, 2), (2, 3), (1, 4), (1, 5), (1, 6), (3, 5), (3, 6), (3, 7)),
        *((4, 5), (4, 6), (4, 7), (5, 6), (5, 7), (6, 7)),
    ),
    {1: (1, 3), 2: (0, 2), 3: (1, 1), 4: (2.6, 3.4), 5: (3, 2.4), 6: (3, 1.6), 7: (2.6, 0.6)},
    (
        Statement(
            "Section 4.1",
            "After aggregation nodes 1 and 3 assign relatively large positive weights to class 2. "
            "These weights are larger than those to any node of class 1.",
            _look_like_class_2,
        ),
        Statement(
            "Section 4.1",
            "Nodes 1 and 3 differ from most of their neighbors.",
            lambda e: all(e.same_class_share(v) < Fraction(1, 2) for v in (1, 3)),
        ),
        Statement(
            "Section 4.1",
            "Nodes 4, 5, 6 and 7 resemble most of their neighbors.",
            lambda e: all(e.same_class_share(v) > Fraction(1, 2) for v in (4, 5, 6, 7)),
        ),
        Statement(
            "Section 4.1",
            "After diversification nodes 1 and 3 assign negative weights to nodes 4, 5, 6 and 7.",
            lambda e: all(e.weight("high", v, u) < 0 for v in (1, 3) for u in (4, 5, 6, 7)),
        ),
        Statement(
            "Section 4.3",
            "Nodes 1 and 3 need the high-pass channel: only this channel assigns the larger weight "
            "to class 1.",
            lambda e: all(
                e.means("low", v)[0] < e.means("low", v)[1]
                and e.means("high", v)[0] > 0 > e.means("high", v)[1]
                for v in (1, 3)
            ),
        ),
        Statement(
            "Section 4.3",
            "Node 2 needs only the low-pass channel: the low-pass channel separates node 2 from "
            "class 2, and the high-pass channel assigns zero weights.",
            lambda e: (
                e.means("low", 2)[0] > e.means("low", 2)[1]
                and all(e.weight("high", 2, u) == 0 for u in e.nodes)
            ),
        ),
    ),
)
"""Figure 3: a low-pass filter confuses nodes 1 and 3 with class 2; a high-pass filter does not."""


def _neighbor_classes(e: Example, label: int) -> set[int]:
    """Return the other classes among the neighbors of a class."""
    return {e.classes[u] for v in e.members(label) for u in e.neighbors(v)} - {label}


def _weights_are_nonnegative(e: Example, a: int, b: int) -> bool:
    return all(e.weight("high", v, u) >= 0 for v in e.members(a) for u in e.members(b))


_CLASS_2 = tuple(range(3, 11))

LIMIT = Example(
    "App. G: what a high-pass filter does not resolve",
    {1: 1, 2: 1, **dict.fromkeys(_CLASS_2, 2), 11: 3, 12: 3, 13: 4, 14: 4},
    (
        *combinations(_CLASS_2, 2),
        *product((1, 13), _CLASS_2[:4]),
        *product((2, 14), _CLASS_2[4:]),
        *((11, 12), (1, 11), (2, 11), (13, 12), (14, 12)),
    ),
    {
        **{1: (-1.9, 0.8), 2: (-1.9, -0.4), 13: (1.9, 0.8), 14: (1.9, -0.4)},
        **{11: (-0.7, -1.9), 12: (0.7, -1.9)},
        **{3: (-0.4, 1.1), 4: (0.4, 1.1), 5: (1, 0.5), 6: (-1, 0.5)},
        **{7: (1, -0.3), 8: (0.4, -0.9), 9: (-0.4, -0.9), 10: (-1, -0.3)},
    },
    (
        Statement(
            "App. G",
            "There are four classes, and one cluster is much larger than the others.",
            lambda e: sorted(len(e.members(k)) for k in (1, 2, 3, 4)) == [2, 2, 2, 8],
        ),
        Statement(
            "Section 4.3",
            "Small clusters (classes 1 and 4) are densely connected to the large cluster: each "
            "node has half of class 2 and few other nodes as neighbors.",
            lambda e: all(
                4 * len(e.neighbors(v)) / 5
                <= len(set(e.neighbors(v)) & set(e.members(2)))
                == len(e.members(2)) / 2
                for v in e.members(1) + e.members(4)
            ),
        ),
        Statement(
            "App. G",
            "Classes 1 and 4 have the same neighboring classes, and so do classes 2 and 3.",
            lambda e: (
                _neighbor_classes(e, 1) == _neighbor_classes(e, 4) == {2, 3}
                and _neighbor_classes(e, 2) == _neighbor_classes(e, 3) == {1, 4}
            ),
        ),
        Statement(
            "App. G",
            "After diversification the nodes of classes 1 and 4 assign non-negative weights to "
            "each other.",
            lambda e: _weights_are_nonnegative(e, 1, 4),
        ),
        Statement(
            "App. G",
            "After diversification the nodes of classes 2 and 3 assign non-negative weights to "
            "each other.",
            lambda e: _weights_are_nonnegative(e, 2, 3),
        ),
        Statement(
            "Section 4.3",
            "The heterophily is harmful: after aggregation the nodes of classes 1 and 4 assign "
            "larger weights to every node of class 2 than to any node of the same class.",
            lambda e: all(
                max(e.weight("low", v, u) for u in e.members(e.classes[v]))
                < min(e.weight("low", v, u) for u in e.members(2))
                for v in e.members(1) + e.members(4)
            ),
        ),
    ),
)
"""App. G: classes 1 and 4 are connected to class 2, and a high-pass filter confuses them."""

EXAMPLES = (HARMLESS, HELPED, LIMIT)
