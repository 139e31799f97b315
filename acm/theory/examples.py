"""The paper's drawn examples (Figures 1, 3 and App. G) as graphs that satisfy what it says of them.

The paper prints pictures and no data. Each graph here was built to satisfy every statement of the
text about its figure; the statements stand beside it, and `Example.failures` checks them exactly.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from acm.theory.labelled_graph import Example, Statement


def _edge_node_and_class_homophily_are_zero(e: Example) -> bool:
    kinds = set(e.classes.values())
    alike = {v: e.alike(v) for v in e.nodes}
    edge = Fraction(sum(e.classes[u] == e.classes[v] for u, v in e.edges), len(e.edges))
    node = sum(alike.values()) / len(alike)
    classwise = Fraction(0)
    for kind in kinds:
        ends = sum(len(e.neighbours(v)) for v in e.members(kind))
        inside = sum(alike[v] * len(e.neighbours(v)) for v in e.members(kind))
        share = Fraction(len(e.members(kind)), len(e.nodes))
        classwise += max(inside / ends - share, Fraction(0))
    return edge == node == classwise / (len(kinds) - 1) == 0


def _colours_are_exchanged(e: Example) -> bool:
    """By `A_rw`, exactly; by `Â_rw`, which keeps a part of each node's own, the other one leads."""
    exchanged = e.low_pass(renormalize=False) @ e.labels
    mixed = e.low_pass() @ e.labels
    own = (mixed * e.labels).sum(1)
    return bool((exchanged == e.labels[:, ::-1]).all() and (own < Fraction(1, 2)).all())


def _still_distinguishable(e: Example) -> bool:
    pairs = [(v, u, w) for v, u, w in product(e.nodes, repeat=3)
             if e.classes[u] == e.classes[v] != e.classes[w]]  # fmt: skip
    return all(e.weight("low", v, u) > e.weight("low", v, w) for v, u, w in pairs)


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
            "After mean aggregation the two classes have exchanged their colours.",
            _colours_are_exchanged,
        ),
        Statement(
            "Section 3.1",
            "They are still distinguishable: each node gives every node of its own class a larger "
            "weight than any of the other class.",
            _still_distinguishable,
        ),
        Statement(
            "Section 3.1",
            "Aggregation homophily is 1, and so is its modified form.",
            lambda e: e.aggregation_homophily() == 1 == 2 * e.aggregation_homophily() - 1,
        ),
    ),
)
"""Figure 1: two classes, all edges between them, and nothing is lost by aggregation."""


def _look_like_class_2(e: Example) -> bool:
    """Also more than to any other node of their class, and in the mean more than to their class."""
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
            "After aggregation nodes 1 and 3 assign relatively large positive weights to class 2: "
            "larger than to any node of their own class.",
            _look_like_class_2,
        ),
        Statement(
            "Section 4.1",
            "Nodes 1 and 3 differ from most of their neighbours.",
            lambda e: all(e.alike(v) < Fraction(1, 2) for v in (1, 3)),
        ),
        Statement(
            "Section 4.1",
            "Nodes 4, 5, 6 and 7 resemble most of their neighbours.",
            lambda e: all(e.alike(v) > Fraction(1, 2) for v in (4, 5, 6, 7)),
        ),
        Statement(
            "Section 4.1",
            "After diversification nodes 1 and 3 assign negative weights to nodes 4, 5, 6 and 7.",
            lambda e: all(e.weight("high", v, u) < 0 for v in (1, 3) for u in (4, 5, 6, 7)),
        ),
        Statement(
            "Section 4.3",
            "Nodes 1 and 3 need the high-pass channel: it alone gives their own class the larger "
            "weight.",
            lambda e: all(
                e.means("low", v)[0] < e.means("low", v)[1]
                and e.means("high", v)[0] > 0 > e.means("high", v)[1]
                for v in (1, 3)
            ),
        ),
        Statement(
            "Section 4.3",
            "Node 2 needs only the low-pass channel: it tells node 2 from class 2, and the "
            "high-pass channel says nothing about it.",
            lambda e: (
                e.means("low", 2)[0] > e.means("low", 2)[1]
                and all(e.weight("high", 2, u) == 0 for u in e.nodes)
            ),
        ),
    ),
)
"""Figure 3: nodes 1 and 3 look like class 2 to a low-pass filter, and not to a high-pass one."""


def _surroundings(e: Example, kind: int) -> frozenset[int]:
    """The other classes among the neighbours of a class."""
    near = {e.classes[u] for v in e.members(kind) for u in e.neighbours(v)}
    return frozenset(near - {kind})


_LARGE = tuple(range(3, 11))  # the nodes of class 2

LIMIT = Example(
    "App. G: what a high-pass filter does not resolve",
    {1: 1, 2: 1, **dict.fromkeys(_LARGE, 2), 11: 3, 12: 3, 13: 4, 14: 4},
    (
        *combinations(_LARGE, 2),
        *product((1, 13), _LARGE[:4]),
        *product((2, 14), _LARGE[4:]),
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
            "Small clusters (classes 1 and 4) are densely connected to the large one: to half of "
            "its nodes and to little else.",
            lambda e: all(
                4 * len(e.neighbours(v)) / 5
                <= len(set(e.neighbours(v)) & set(e.members(2)))
                == len(e.members(2)) / 2
                for v in e.members(1) + e.members(4)
            ),
        ),
        Statement(
            "App. G",
            "The surroundings of class 1 are like those of class 4, and those of 2 like those of "
            "3: the same classes.",
            lambda e: (
                _surroundings(e, 1) == _surroundings(e, 4) == {2, 3}
                and _surroundings(e, 2) == _surroundings(e, 3) == {1, 4}
            ),
        ),
        Statement(
            "App. G",
            "After diversification the nodes of classes 1 and 4 assign non-negative weights to "
            "each other.",
            lambda e: all(e.weight("high", v, u) >= 0 for v in e.members(1) for u in e.members(4)),
        ),
        Statement(
            "App. G",
            "So do the nodes of classes 2 and 3.",
            lambda e: all(e.weight("high", v, u) >= 0 for v in e.members(2) for u in e.members(3)),
        ),
        Statement(
            "Section 4.3",
            "The heterophily is harmful: after aggregation the nodes of classes 1 and 4 assign "
            "larger weights to the whole large cluster than to their own class.",
            lambda e: all(
                max(e.weight("low", v, u) for u in e.members(e.classes[v]))
                < min(e.weight("low", v, u) for u in e.members(2))
                for v in e.members(1) + e.members(4)
            ),
        ),
    ),
)
"""App. G: classes 1 and 4 hang on the large class 2, and a high-pass filter takes them for one."""

EXAMPLES = (HARMLESS, HELPED, LIMIT)
