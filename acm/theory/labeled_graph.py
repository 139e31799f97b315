"""Compute filters and similarity matrices of a small labeled graph in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from acm.errors import UsageError


@dataclass(frozen=True)
class Statement:
    """One statement of the paper about a figure: its section, our wording and an exact check."""

    section: str
    text: str
    holds: Callable[[Example], bool]


@dataclass(frozen=True, eq=False)
class Example:
    """A small graph with the node numbers, classes and positions of a figure.

    Attributes:
        title: Name of the figure.
        classes: Class of each node number; the features are the one-hot codes of the classes.
        edges: Undirected edges between node numbers.
        positions: Coordinates of each node in the drawing.
        statements: Statements of the paper about the figure.

    Raises:
        UsageError: If an edge joins a node to itself or names an unknown node.
    """

    title: str
    classes: dict[int, int]
    edges: tuple[tuple[int, int], ...]
    positions: dict[int, tuple[float, float]]
    statements: tuple[Statement, ...] = ()

    def __post_init__(self) -> None:
        for u, v in self.edges:
            if u == v or {u, v} - self.classes.keys():
                raise UsageError(f"edge ({u}, {v}) must join two different nodes of the graph")

    @property
    def nodes(self) -> list[int]:
        return list(self.classes)

    @cached_property
    def adjacency(self) -> np.ndarray:
        """Adjacency matrix `A`, `[N, N]`, of fractions."""
        index = {node: i for i, node in enumerate(self.classes)}
        a = np.full((len(index), len(index)), Fraction(0))
        for u, v in self.edges:
            a[index[u], index[v]] = a[index[v], index[u]] = Fraction(1)
        return a

    @cached_property
    def labels(self) -> np.ndarray:
        """One-hot labels `Z`, `[N, C]`, of fractions."""
        labels = sorted(set(self.classes.values()))
        return np.array([[Fraction(int(c == k)) for k in labels] for c in self.classes.values()])

    def low_pass(self, renormalize: bool = True) -> np.ndarray:
        """Return `Â_rw`, or `A_rw` without renormalization; isolated nodes have a zero row."""
        a = self.adjacency + int(renormalize) * _identity(len(self.classes))
        degree = a.sum(1)
        return a / np.where(degree == 0, Fraction(1), degree)[:, None]

    def similarity(self, channel: str = "low") -> np.ndarray:
        """Return `S(Â, Z)` for channel `"low"` or `S(I − Â, Z)` for `"high"`, `[N, N]`.

        Raises:
            UsageError: If the channel is neither of the two.
        """
        if channel not in self._similarities:
            raise UsageError(f"unknown channel {channel!r}; choose 'low' or 'high'")
        return self._similarities[channel]

    @cached_property
    def _similarities(self) -> dict[str, np.ndarray]:
        low = self.low_pass() @ self.labels
        high = self.labels - low
        return {"low": low @ low.T, "high": high @ high.T}

    def weight(self, channel: str, v: int, u: int) -> Fraction:
        """Return the weight that node `v` assigns to node `u` in the similarity matrix."""
        return self.similarity(channel)[self.nodes.index(v), self.nodes.index(u)]

    def members(self, label: int) -> list[int]:
        """Return the nodes of a class."""
        return [node for node, c in self.classes.items() if c == label]

    def means(self, channel: str, v: int) -> tuple[Fraction, Fraction]:
        """Return the mean weights of `v` over its class (with `v`) and over the other classes."""
        weights = {u: self.weight(channel, v, u) for u in self.nodes}
        same = [w for u, w in weights.items() if self.classes[u] == self.classes[v]]
        other = [w for u, w in weights.items() if self.classes[u] != self.classes[v]]
        return sum(same) / len(same), sum(other) / len(other)

    def same_class_share(self, v: int) -> Fraction:
        """Return the share of neighbors of `v` that have the class of `v`."""
        neighbors = self.neighbors(v)
        return Fraction(sum(self.classes[u] == self.classes[v] for u in neighbors), len(neighbors))

    def neighbors(self, v: int) -> list[int]:
        """Return the nodes that share an edge with `v`."""
        return [b if a == v else a for a, b in self.edges if v in (a, b)]

    def aggregation_homophily(self) -> Fraction:
        """Return `H_agg` (Definition 1) exactly."""
        means = [self.means("low", v) for v in self.nodes]
        return Fraction(sum(same >= other for same, other in means), len(means))

    def distinguishable(self) -> list[int]:
        """Return the nodes that are diversification distinguishable (Definition 2)."""
        means = {v: self.means("high", v) for v in self.nodes}
        return [v for v, (same, other) in means.items() if same >= 0 >= other]

    def failures(self) -> list[str]:
        """Return the texts of the statements that do not hold."""
        return [s.text for s in self.statements if not s.holds(self)]

    def changed(self, add=(), remove=()) -> Example:
        """Return a copy with edges added and removed."""
        removed = {frozenset(edge) for edge in remove}
        edges = tuple(edge for edge in self.edges if frozenset(edge) not in removed)
        return replace(self, edges=(*edges, *add))


def _identity(n: int) -> np.ndarray:
    return np.array([[Fraction(int(i == j)) for j in range(n)] for i in range(n)])
