"""A small labelled graph with its filters and similarity matrices in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

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
