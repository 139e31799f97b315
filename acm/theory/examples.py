"""Build graphs for the paper's drawn examples (Figures 1, 3 and App. G).

The paper prints only pictures. Each graph here satisfies every statement of the paper about its
figure. An `Example` lists these statements, each with an exact check.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

from acm.theory.labeled_graph import Example, Statement


def _colors_are_exchanged(e: Example) -> bool:
    """Check that `A_rw` exchanges the two classes, and `Â_rw` gives the other class more."""
    exchanged = e.low_pass(renormalize=False) @ e.labels
    same_color = (e.low_pass() @ e.labels * e.labels).sum(1)
    return bool((exchanged == e.labels[:, ::-1]).all() and (same_color < Fraction(1, 2)).all())


def _prefers_its_class(e: Example, v: int) -> bool:
    """Check that `v` assigns a larger weight to every node of its class than to other nodes."""
    weights = {u: e.weight("low", v, u) for u in e.nodes}
    same = e.members(e.classes[v])
    return min(weights[u] for u in same) > max(weights[u] for u in e.nodes if u not in same)


def _looks_like_class_2(e: Example, v: int) -> bool:
    """Check that `v` has larger weights to class 2 than to class 1, each one and in the mean."""
    weights = [[e.weight("low", v, u) for u in e.members(label)] for label in (1, 2)]
    same, other = e.means("low", v)
    return min(weights[1]) > max(weights[0]) > 0 and other > same


def _clings_to_class_2(e: Example, v: int) -> bool:
    """Check that `v` joins half of class 2, and at least 4/5 of its neighbors are in class 2."""
    neighbors, cluster = e.neighbors(v), e.members(2)
    common = len(set(neighbors) & set(cluster))
    return 4 * len(neighbors) <= 5 * common and 2 * common == len(cluster)


def _harmed_by_class_2(e: Example, v: int) -> bool:
    """Check that `v` assigns larger weights to all nodes of class 2 than to nodes of its class."""
    largest = max(e.weight("low", v, u) for u in e.members(e.classes[v]))
    return largest < min(e.weight("low", v, u) for u in e.members(2))


def _next_to(e: Example, label: int) -> set[int]:
    """Return the classes of the neighbors of a class, without the class itself."""
    return {e.classes[u] for v in e.members(label) for u in e.neighbors(v)} - {label}


def _nonnegative(e: Example, a: int, b: int) -> bool:
    """Check that all weights from class `a` to class `b` are non-negative after diversification."""
    return all(e.weight("high", v, u) >= 0 for v in e.members(a) for u in e.members(b))


HARMLESS = Example(
    "Figure 1: harmless heterophily",
    {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2},
    ((1, 4), (1, 5), (1, 6), (2, 5), (2, 6), (2, 7), (3, 4), (3, 6), (3, 7)),
    {1: (0, 2.5), 2: (0, 1.5), 3: (0, 0.5), 4: (2, 3), 5: (2, 2), 6: (2, 1), 7: (2, 0)},
    (
        Statement("Section 3.1", "The graph is bipartite: every edge joins class 1 and class 2.",
                  lambda e: all(e.classes[u] != e.classes[v] for u, v in e.edges)),
        # All three homophily values are 0 if and only if no edge joins two nodes of one class.
        Statement("Section 3.1", "Edge, node and class homophily are all 0.",
                  lambda e: all(e.same_class_share(v) == 0 for v in e.nodes)),
        Statement("Section 3.1",
                  "After mean aggregation the two classes have exchanged their colors.",
                  _colors_are_exchanged),
        Statement("Section 3.1",
                  "The classes are still distinguishable: each node assigns a larger weight to "
                  "every node of its class than to any node of the other class.",
                  lambda e: all(_prefers_its_class(e, v) for v in e.nodes)),
        Statement("Section 3.1", "Aggregation homophily is 1, and so is its modified form.",
                  lambda e: e.aggregation_homophily() == 1 == 2 * e.aggregation_homophily() - 1),
    ),
)  # fmt: skip
"""Figure 1: all edges join the two classes, and aggregation loses no information."""

HELPED = Example(
    "Figure 3: harmful heterophily that a high-pass filter resolves",
    {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 2},
    ((1, 2), (2, 3), (1, 4), (1, 5), (1, 6), (3, 5), (3, 6), (3, 7),
     *combinations((4, 5, 6, 7), 2)),
    {1: (1, 3), 2: (0, 2), 3: (1, 1), 4: (2.6, 3.4), 5: (3, 2.4), 6: (3, 1.6), 7: (2.6, 0.6)},
    (
        Statement("Section 4.1",
                  "After aggregation nodes 1 and 3 assign relatively large positive weights to "
                  "class 2. These weights are larger than those to any node of class 1.",
                  lambda e: all(_looks_like_class_2(e, v) for v in (1, 3))),
        Statement("Section 4.1", "Nodes 1 and 3 differ from most of their neighbors.",
                  lambda e: all(e.same_class_share(v) < Fraction(1, 2) for v in (1, 3))),
        Statement("Section 4.1", "Nodes 4, 5, 6 and 7 resemble most of their neighbors.",
                  lambda e: all(e.same_class_share(v) > Fraction(1, 2) for v in (4, 5, 6, 7))),
        Statement("Section 4.1",
                  "After diversification nodes 1 and 3 assign negative weights to nodes 4, 5, 6 "
                  "and 7.",
                  lambda e: all(e.weight("high", v, u) < 0 for v in (1, 3) for u in (4, 5, 6, 7))),
        Statement("Section 4.3",
                  "Nodes 1 and 3 need the high-pass channel: only this channel assigns the larger "
                  "weight to class 1.",
                  lambda e: all(e.means("low", v)[0] < e.means("low", v)[1]
                                and e.means("high", v)[0] > 0 > e.means("high", v)[1]
                                for v in (1, 3))),
        Statement("Section 4.3",
                  "Node 2 needs only the low-pass channel: the low-pass channel separates node 2 "
                  "from class 2, and the high-pass channel assigns zero weights.",
                  lambda e: (e.means("low", 2)[0] > e.means("low", 2)[1]
                             and all(e.weight("high", 2, u) == 0 for u in e.nodes))),
    ),
)  # fmt: skip
"""Figure 3: a low-pass filter confuses nodes 1 and 3 with class 2; a high-pass filter does not."""

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
        Statement("App. G",
                  "There are four classes, and one cluster is much larger than the others.",
                  lambda e: sorted(len(e.members(k)) for k in (1, 2, 3, 4)) == [2, 2, 2, 8]),
        Statement("Section 4.3",
                  "Small clusters (classes 1 and 4) are densely connected to the large cluster: "
                  "each node has half of class 2 and few other nodes as neighbors.",
                  lambda e: all(_clings_to_class_2(e, v) for v in e.members(1) + e.members(4))),
        Statement("App. G",
                  "Classes 1 and 4 have the same neighboring classes, and so do classes 2 and 3.",
                  lambda e: (_next_to(e, 1) == _next_to(e, 4) == {2, 3}
                             and _next_to(e, 2) == _next_to(e, 3) == {1, 4})),
        Statement("App. G",
                  "After diversification the nodes of classes 1 and 4 assign non-negative weights "
                  "to each other.",
                  lambda e: _nonnegative(e, 1, 4)),
        Statement("App. G",
                  "After diversification the nodes of classes 2 and 3 assign non-negative weights "
                  "to each other.",
                  lambda e: _nonnegative(e, 2, 3)),
        Statement("Section 4.3",
                  "The heterophily is harmful: after aggregation the nodes of classes 1 and 4 "
                  "assign larger weights to every node of class 2 than to any node of the same "
                  "class.",
                  lambda e: all(_harmed_by_class_2(e, v) for v in e.members(1) + e.members(4))),
    ),
)  # fmt: skip
"""App. G: classes 1 and 4 are connected to class 2, and a high-pass filter confuses them."""

EXAMPLES = (HARMLESS, HELPED, LIMIT)
