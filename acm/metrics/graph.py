"""Check the input of a metric and bring it into one form: who neighbors whom, and known labels.

All metrics share the arguments `edge_index`, edges `[2, E]`, and `y`, labels `[N]` from 0. Repeated
edges count once, since `A` is binary (section 2). All share the keywords of `Conventions` too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import torch
from torch import Tensor

from acm.errors import UsageError


class Conventions(TypedDict, total=False):
    """Keywords of every metric.

    Attributes:
        direction: "undirected" (the paper's definition and the default) makes u and v neighbors if
            there is an edge in either direction. "out" makes u a neighbor of v if there is an edge
            (v, u). "in" makes u a neighbor of v if there is an edge (u, v), which is how messages
            flow in PyG.
        loops: "remove" removes all self-loops, "keep" keeps those of the graph, "add" gives each
            node one. Metrics that count edges remove self-loops by default, others keep them.
        train_mask: Mask `[N]` of the nodes with known labels, all by default. Other labels are
            never read; only nodes with known labels are compared, counted and averaged over.
    """

    direction: str
    loops: str
    train_mask: Tensor | None


OPTIONS = {
    "direction": ("undirected", "out", "in"),
    "loops": ("remove", "keep", "add"),
    "form": ("edge", "node"),
    "ties": (">=", ">"),
    "filter": ("low_pass", "high_pass", "identity"),
    "neighbor_labels": ("known", "all"),
}


@dataclass(frozen=True)
class Graph:
    """A binary adjacency matrix as sorted pairs (v, u) with `A[v, u] = 1`, and the known labels.

    Attributes:
        node: v of each pair, `[E]`, sorted.
        neighbor: u of each pair, `[E]`.
        y: Labels, `[N]`; `prepare` sets unknown labels to 0.
        known: Mask `[N]` of the nodes with known labels; None means all nodes.
    """

    node: Tensor
    neighbor: Tensor
    y: Tensor
    known: Tensor | None

    @property
    def num_nodes(self) -> int:
        """N."""
        return self.y.numel()

    @cached_property
    def num_classes(self) -> int:
        """C, the largest label plus one."""
        return int(self.y.max()) + 1

    @cached_property
    def degree(self) -> Tensor:
        """The number of neighbors of each node, `[N]`."""
        return torch.bincount(self.node, minlength=self.num_nodes)

    @cached_property
    def known_labels(self) -> Tensor:
        """The known labels, `[n]`."""
        return self.y if self.known is None else self.y[self.known]

    @cached_property
    def class_sizes(self) -> Tensor:
        """The number of known labels of each class, `[C]`."""
        return torch.bincount(self.known_labels, minlength=self.num_classes)

    def among_known(self) -> Graph:
        """Return the subgraph of the nodes with known labels."""
        if self.known is None:
            return self
        number = self.known.cumsum(0) - 1
        inside = self.known[self.node] & self.known[self.neighbor]
        node, neighbor = number[self.node[inside]], number[self.neighbor[inside]]
        return Graph(node, neighbor, self.y[self.known], None)

    def without_loops(self) -> Graph:
        """Return the graph without self-loops."""
        other = self.node != self.neighbor
        if bool(other.all()):
            return self
        return Graph(self.node[other], self.neighbor[other], self.y, self.known)


def check_options(**options: str) -> None:
    """Raise a `UsageError` if an option has an unknown value."""
    for name, value in options.items():
        if value not in OPTIONS[name]:
            raise UsageError(f"unknown {name} {value!r}: expected {', '.join(OPTIONS[name])}")


def prepare(
    edge_index: Tensor,
    y: Tensor,
    direction: str = "undirected",
    loops: str = "keep",
    train_mask: Tensor | None = None,
) -> Graph:
    """Check the input of a metric and return its graph; `Conventions` describes the arguments.

    Raises:
        UsageError: A shape, type or option is invalid, there are no nodes, a node index or a label
            is out of range, or no label is known.
    """
    check_options(direction=direction, loops=loops)
    y, edge_index = _integers("y", y, "[N]"), _integers("edge_index", edge_index, "[2, E]")
    n = y.numel()
    if not n:
        raise UsageError("y is empty: homophily is undefined without nodes")
    if train_mask is not None:
        check_mask(train_mask, y)
        y = torch.where(train_mask, y, 0)
    low, high = int(y.min()), int(y.max())
    # A small graph may have 1,000 classes, since some may be empty. Tables of C x C limit C.
    if low < 0 or high >= min(max(n, 1_000), 10_000):
        raise UsageError(
            f"labels run from {low} to {high} for {n} nodes: exclude nodes without a label by"
            " train_mask, and number up to 10,000 classes from 0, for example by"
            " torch.unique(y, return_inverse=True)[1]"
        )
    node, neighbor = edge_index
    if node.numel() and (edge_index.min() < 0 or edge_index.max() >= n):
        low, high = int(edge_index.min()), int(edge_index.max())
        raise UsageError(f"edge_index names nodes {low} to {high}: y has labels for 0 to {n - 1}")
    if direction == "in":
        node, neighbor = neighbor, node
    pair = node * n + neighbor
    if direction == "undirected":
        pair = torch.cat([pair, neighbor * n + node])
    if loops == "add":
        pair = torch.cat([pair, torch.arange(n, device=pair.device) * (n + 1)])
    if pair.device.type == "cpu":
        pair.numpy().sort()  # several times as fast as torch.sort
    else:
        pair = pair.sort().values
    pair = torch.unique_consecutive(pair)
    node = pair.div(n, rounding_mode="floor")
    graph = Graph(node, pair.sub_(node * n), y, train_mask)
    return graph.without_loops() if loops == "remove" else graph


def _integers(name: str, tensor: Tensor, shape: str) -> Tensor:
    """Convert a tensor to int64 after a check of its type and shape, "[N]" or "[2, E]"."""
    tensor = torch.as_tensor(tensor)
    fits = tensor.dim() == 1 if shape == "[N]" else tensor.dim() == 2 and tensor.size(0) == 2
    if not fits or tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        got = f"shape {list(tensor.shape)} and type {tensor.dtype}"
        raise UsageError(f"{name} has {got}: integers of shape {shape} are needed")
    return tensor.long()


def check_mask(mask: Tensor, y: Tensor) -> None:
    """Raise `UsageError` unless the mask has one boolean for each label and some are true."""
    if mask.dtype != torch.bool or mask.shape != y.shape or not mask.any():
        needed = f"booleans of shape [{y.numel()}] that are not all false are needed"
        raise UsageError(f"train_mask has shape {list(mask.shape)} and type {mask.dtype}: {needed}")


def two_classes(graph: Graph) -> Graph:
    """Return the graph; raise a `UsageError` if all known labels are equal."""
    if int((graph.class_sizes > 0).sum()) < 2:
        raise UsageError("all known labels are of one class: no other class is left to compare")
    return graph
