"""Compute filters and similarity matrices of a small labeled graph in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Statement:
    """A statement of the paper about a figure, in our words, and an exact check."""

    section: str
    text: str
    holds: Callable[[Example], bool]


@dataclass(frozen=True, eq=False)
class Example:
    """The graph of a figure: class of each node, undirected edges, and positions in the drawing.

    The features are the one-hot labels. All matrices have entries of type `Fraction`.
    """

    title: str
    classes: dict[int, int]
    edges: tuple[tuple[int, int], ...]
    positions: dict[int, tuple[float, float]]
    statements: tuple[Statement, ...] = ()

    @property
    def nodes(self) -> list[int]:
        return list(self.classes)

    @cached_property
    def adjacency(self) -> np.ndarray:
        """Adjacency matrix `A`, `[N, N]`."""
        pairs = {frozenset(edge) for edge in self.edges}
        return np.array([[Fraction({u, v} in pairs) for u in self.nodes] for v in self.nodes])

    @cached_property
    def labels(self) -> np.ndarray:
        """One-hot labels `Z`, `[N, C]`."""
        labels = sorted(set(self.classes.values()))
        return np.array([[Fraction(c == k) for k in labels] for c in self.classes.values()])

    def low_pass(self, renormalize: bool = True) -> np.ndarray:
        """Return `Â_rw`, or `A_rw` without renormalization, `[N, N]`."""
        a = self.adjacency + int(renormalize) * np.eye(len(self.classes), dtype=int)
        return a / a.sum(1, keepdims=True)

    @cached_property
    def similarity(self) -> dict[str, np.ndarray]:
        """Similarity matrices, `[N, N]`: `S(Â, Z)` under "low" and `S(I − Â, Z)` under "high"."""
        low = self.low_pass() @ self.labels
        high = self.labels - low
        return {"low": low @ low.T, "high": high @ high.T}

    def weight(self, channel: str, v: int, u: int) -> Fraction:
        """Return the entry (v, u) of the similarity matrix: the weight that `v` assigns to `u`."""
        return self.similarity[channel][self.nodes.index(v), self.nodes.index(u)]

    def members(self, label: int) -> list[int]:
        """Return the nodes of a class."""
        return [node for node, c in self.classes.items() if c == label]

    def means(self, channel: str, v: int) -> tuple[Fraction, Fraction]:
        """Return the mean weight of `v` to its class (including `v`) and to the other classes."""
        same = self.members(self.classes[v])
        groups = same, [u for u in self.nodes if u not in same]
        return tuple(sum(self.weight(channel, v, u) for u in g) / len(g) for g in groups)

    def neighbors(self, v: int) -> list[int]:
        """Return the nodes that share an edge with `v`."""
        return [b if a == v else a for a, b in self.edges if v in (a, b)]

    def same_class_share(self, v: int) -> Fraction:
        """Return the fraction of the neighbors of `v` that have the class of `v`."""
        same = [self.classes[u] == self.classes[v] for u in self.neighbors(v)]
        return Fraction(sum(same), len(same))

    def aggregation_homophily(self) -> Fraction:
        """Return `H_agg` (Definition 1)."""
        means = [self.means("low", v) for v in self.nodes]
        return Fraction(sum(same >= other for same, other in means), len(means))

    def distinguishable(self) -> list[int]:
        """Return the nodes that are diversification distinguishable (Definition 2)."""
        means = {v: self.means("high", v) for v in self.nodes}
        return [v for v, (same, other) in means.items() if same >= 0 >= other]
