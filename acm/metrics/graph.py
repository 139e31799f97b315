"""Check the input of a metric and bring it into one form: who neighbors whom, and known labels.

All metrics share these arguments:

- `edge_index`: Repeated edges count once, since `A` is binary (section 2).
- `direction`: "undirected" (the paper's definition) makes u and v neighbors if there is an edge in
  either direction. "out" makes u a neighbor of v if there is an edge (v, u). "in" makes u a
  neighbor of v if there is an edge (u, v), which is how messages flow in PyG.
- `loops`: "remove" removes all self-loops, "keep" keeps those of the graph, "add" gives each node
  one.
- `train_mask`: Mask `[N]` of the nodes with known labels. Labels outside the mask are never read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import torch
from torch import Tensor

from acm.errors import UsageError

OPTIONS = {
    "direction": ("undirected", "out", "in"),
    "loops": ("remove", "keep", "add"),
    "isolated": ("skip", "zero"),
    "form": ("edge", "node"),
    "norm": ("rw", "sym"),
    "ties": (">=", ">"),
    "filter": ("low_pass", "high_pass", "identity"),
    "neighbor_labels": ("known", "all"),
}

_SIGNED = (torch.int64, torch.int32, torch.int16, torch.int8)
_INTEGERS = (*_SIGNED, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
# Any graph may have 1,000 classes, since some may be empty. Tables of C x C limit C to 10,000.
_FEW_CLASSES, _MOST_CLASSES = 1_000, 10_000


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

    def restricted(self, mask: Tensor, hide: bool = True) -> Graph:
        """Know only the labels of `mask` `[N]`; `hide` also sets the other labels to 0."""
        y = torch.where(mask, self.y, 0) if hide else self.y
        return Graph(self.node, self.neighbor, y, mask)

    def among_known(self) -> Graph:
        """Return the subgraph of the nodes with known labels."""
        if self.known is None:
            return self
        number = self.known.cumsum(0) - 1
        inside = self.known[self.node] & self.known[self.neighbor]
        node, neighbor = number[self.node[inside]], number[self.neighbor[inside]]
        return Graph(node, neighbor, self.y[self.known], None)

    def with_loops(self, loops: str) -> Graph:
        """Return the graph with self-loops removed, kept or added."""
        check_options(loops=loops)
        if loops == "keep":
            return self
        node, neighbor, other = self.node, self.neighbor, self.node != self.neighbor
        if not bool(other.all()):
            node, neighbor = node[other], neighbor[other]
        if loops == "add":
            nodes = torch.arange(self.num_nodes, device=node.device)
            node, order = torch.cat([node, nodes]).sort(stable=True)
            neighbor = torch.cat([neighbor, nodes])[order]
        return Graph(node, neighbor, self.y, self.known)


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
    num_classes: int | None = None,
) -> Graph:
    """Check the input of a metric and return its graph; the module describes the arguments.

    Raises:
        UsageError: A shape, type or option is invalid, there are no nodes, a node index or a label
            is out of range, or no label is known.
    """
    y, known = _labels(y, train_mask, num_classes)
    node, neighbor = _pairs(edge_index, y.numel(), direction)
    if node.device != y.device:
        raise UsageError(
            f"edge_index is on {node.device} and y is on {y.device}: move both to one device"
        )
    return Graph(node, neighbor, y, known).with_loops(loops)


def _labels(
    y: Tensor, train_mask: Tensor | None, num_classes: int | None
) -> tuple[Tensor, Tensor | None]:
    if not _is_integer(y) or y.dim() != 1:
        got = f"shape {list(y.shape)} and type {y.dtype}" if isinstance(y, Tensor) else type(y)
        raise UsageError(f"y is {got}: one integer label for each node, shape [N], is needed")
    if not y.numel():
        raise UsageError("y is empty: homophily is undefined without nodes")
    if num_classes is not None and (
        isinstance(num_classes, bool) or not isinstance(num_classes, Integral)
    ):
        raise UsageError(f"num_classes={num_classes!r}: a whole number is needed")
    y = _long(y, "y")
    if train_mask is not None:
        check_mask(train_mask, y)
        y = torch.where(train_mask, y, 0)
    low, high = int(y.min()), int(y.max())
    if low < 0 or (num_classes is not None and high >= num_classes):
        top = "up" if num_classes is None else f"to {num_classes - 1}"
        raise UsageError(
            f"labels run from {low} to {high}: classes are numbered from 0 {top}; exclude nodes"
            " without a label by train_mask"
        )
    if high >= max(y.numel(), _FEW_CLASSES):
        raise UsageError(
            f"labels run to {high} for {y.numel()} nodes: renumber them from 0, y ="
            " torch.unique(y, return_inverse=True)[1]"
        )
    if high >= _MOST_CLASSES:
        raise UsageError(
            f"labels run to {high}: metrics take up to {_MOST_CLASSES:,} classes, renumbered"
            " by torch.unique(y, return_inverse=True)[1]"
        )
    return y, train_mask


def check_mask(mask: Tensor, y: Tensor) -> None:
    """Raise a `UsageError` unless the mask has one boolean for each label and some are true."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != y.shape:
        got = f"{list(mask.shape)} {mask.dtype}" if isinstance(mask, Tensor) else type(mask)
        raise UsageError(f"train_mask is {got}: booleans of shape [{y.numel()}] are needed")
    if not bool(mask.any()):
        raise UsageError("train_mask is false everywhere: at least one label must be known")


def _is_integer(tensor: Tensor) -> bool:
    """Return whether the tensor is dense and holds integers."""
    return (
        isinstance(tensor, Tensor)
        and tensor.layout == torch.strided
        and not tensor.is_meta
        and tensor.dtype in _INTEGERS
    )


def _long(tensor: Tensor, name: str) -> Tensor:
    long = tensor.long()
    if tensor.dtype == torch.uint64 and bool((long < 0).any()):  # from 2**63 up, uint64 wraps
        raise UsageError(
            f"{name} has numbers from 2**63 up, which do not fit int64: renumber from 0"
        )
    return long


def _pairs(edge_index: Tensor, num_nodes: int, direction: str) -> tuple[Tensor, Tensor]:
    """Return the distinct pairs (v, u) with `A[v, u] = 1`, sorted."""
    check_options(direction=direction)
    if not _is_integer(edge_index) or edge_index.dim() != 2 or edge_index.size(0) != 2:
        shape = list(edge_index.shape) if isinstance(edge_index, Tensor) else type(edge_index)
        raise UsageError(f"edge_index has shape {shape}: integers of shape [2, E] are needed")
    edge_index = _long(edge_index, "edge_index")
    node, neighbor = edge_index
    if node.numel():
        low, high = int(edge_index.min()), int(edge_index.max())
        if low < 0 or high >= num_nodes:
            raise UsageError(
                f"edge_index names nodes {low} to {high}: y has labels for 0 to {num_nodes - 1}"
            )
    if direction == "in":
        node, neighbor = neighbor, node
    pair = node * num_nodes + neighbor
    if direction == "undirected":
        pair = torch.cat([pair, neighbor * num_nodes + node])
    pair = _distinct(pair)
    node = pair.div(num_nodes, rounding_mode="floor")
    return node, pair.sub_(node * num_nodes)


def _distinct(pair: Tensor) -> Tensor:
    """Return the sorted distinct entries; on the CPU this sorts the argument in place."""
    if pair.device.type == "cpu":
        pair.numpy().sort()  # several times as fast as torch.sort
    else:
        pair = pair.sort().values
    first = torch.ones_like(pair, dtype=torch.bool)
    torch.ne(pair[1:], pair[:-1], out=first[1:])
    return pair if bool(first.all()) else pair[first]


def two_classes(graph: Graph) -> Graph:
    """Return the graph; raise a `UsageError` if all known labels are equal."""
    if int((graph.class_sizes > 0).sum()) < 2:
        raise UsageError(
            "all known labels are of one class: there are no other classes to average over"
        )
    return graph
