"""The paper's drawn examples (Figures 1, 3 and App. G) as graphs that satisfy what it says of them.

The paper prints pictures and no data. Each graph here was built to satisfy every statement of the
text about its figure; the statements stand beside it, and `Example.failures` checks them exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

import numpy as np

from acm.errors import UsageError


@dataclass(frozen=True)
class Statement:
    """A statement of the text about a figure: where it stands, in our words, and its check."""

    place: str
    text: str
    holds: Callable[[Example], bool]


@dataclass(frozen=True, eq=False)
class Example:
    """A small graph with the node numbers, classes and positions of a figure.

    Attributes:
        title: Which figure.
        classes: Class of each node, by the node's number; the features are its one-hot codes.
        edges: Undirected edges between node numbers.
        places: Where nodes are drawn.
        statements: What the text says.
    """

    title: str
    classes: dict[int, int]
    edges: tuple[tuple[int, int], ...]
    places: dict[int, tuple[float, float]]
    statements: tuple[Statement, ...] = ()

    def __post_init__(self) -> None:
        for u, v in self.edges:
            if u == v or {u, v} - self.classes.keys():
                raise UsageError(f"edge ({u}, {v}): two different nodes of the graph are needed")

    @property
    def nodes(self) -> list[int]:
        return list(self.classes)

    @cached_property
    def adjacency(self) -> np.ndarray:
        """`A`, `[N, N]`, whole numbers as fractions."""
        index = {node: i for i, node in enumerate(self.classes)}
        a = np.full((len(index), len(index)), Fraction(0))
        for u, v in self.edges:
            a[index[u], index[v]] = a[index[v], index[u]] = Fraction(1)
        return a

    @cached_property
    def labels(self) -> np.ndarray:
        """`Z`, `[N, C]`, as fractions."""
        kinds = sorted(set(self.classes.values()))
        return np.array([[Fraction(int(c == k)) for k in kinds] for c in self.classes.values()])

    def low_pass(self, renormalize: bool = True) -> np.ndarray:
        """`Â_rw`, or `A_rw` without renormalisation, exactly; a zero row where no edge is."""
        a = self.adjacency + int(renormalize) * _identity(len(self.classes))
        degree = a.sum(1)
        return a / np.where(degree == 0, Fraction(1), degree)[:, None]

    def similarity(self, filter: str = "low", renormalize: bool = True) -> np.ndarray:
        """`S(Â, Z)` (`"low"`) or `S(I − Â, Z)` (`"high"`), `[N, N]`, exactly."""
        if filter not in ("low", "high"):
            raise UsageError(f"unknown filter {filter!r}: 'low' and 'high' are known")
        matrix = self.low_pass(renormalize)
        matrix = matrix if filter == "low" else _identity(len(matrix)) - matrix
        return matrix @ self.labels @ (matrix @ self.labels).T

    def weight(self, filter: str, v: int, u: int) -> Fraction:
        """The weight that node `v` assigns to node `u`: an entry of the similarity matrix."""
        return self._similarities[filter][self.nodes.index(v), self.nodes.index(u)]

    @cached_property
    def _similarities(self) -> dict[str, np.ndarray]:
        return {name: self.similarity(name) for name in ("low", "high")}

    def members(self, kind: int) -> list[int]:
        """The nodes of a class."""
        return [node for node, c in self.classes.items() if c == kind]

    def means(self, filter: str, v: int) -> tuple[Fraction, Fraction]:
        """Mean weight that `v` assigns to its own class (itself included) and to the others."""
        weights = {u: self.weight(filter, v, u) for u in self.nodes}
        own = [w for u, w in weights.items() if self.classes[u] == self.classes[v]]
        other = [w for u, w in weights.items() if self.classes[u] != self.classes[v]]
        return sum(own) / len(own), sum(other) / len(other)

    def alike(self, v: int) -> Fraction:
        """Share of the neighbours of `v` that are in its class."""
        near = self.neighbours(v)
        return Fraction(sum(self.classes[u] == self.classes[v] for u in near), len(near))

    def neighbours(self, v: int) -> list[int]:
        """The nodes that share an edge with `v`."""
        return [b if a == v else a for a, b in self.edges if v in (a, b)]

    def aggregation_homophily(self) -> Fraction:
        """`H_agg` (Definition 1), exactly."""
        kept = [own >= other for own, other in (self.means("low", v) for v in self.nodes)]
        return Fraction(sum(kept), len(kept))

    def distinguishable(self) -> list[int]:
        """The nodes that Definition 2 calls diversification distinguishable."""
        means = {v: self.means("high", v) for v in self.nodes}
        return [v for v, (own, other) in means.items() if own >= 0 and other <= 0]

    def failures(self) -> list[str]:
        """The statements that do not hold."""
        return [s.text for s in self.statements if not s.holds(self)]

    def changed(self, add=(), remove=()) -> Example:
        """The same example with edges added and removed."""
        gone = {frozenset(edge) for edge in remove}
        kept = tuple(edge for edge in self.edges if frozenset(edge) not in gone)
        return replace(self, edges=(*kept, *add))


def _identity(n: int) -> np.ndarray:
    return np.array([[Fraction(int(i == j)) for j in range(n)] for i in range(n)])


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
