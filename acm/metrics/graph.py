"""The graph that a metric looks at: who is whose neighbour, and which labels are known.

All metrics take these conventions:

- **Repeated edges are merged.** `A` is binary (section 2).
- `direction`: `"undirected"` (the paper's definition) makes two nodes neighbours if there is an
  edge in either direction; `"out"` makes u a neighbour of v if there is an edge (v, u), and `"in"`
  if there is an edge (u, v), which is how messages flow in PyG.
- `loops`: `"remove"` takes all self-loops out, `"keep"` leaves the given ones, `"add"` gives every
  node one.
- `train_mask`: labels are known for these nodes alone; no other label is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral

import torch
from torch import Tensor

from acm.errors import UsageError

DIRECTIONS = ("undirected", "out", "in")
LOOPS = ("remove", "keep", "add")

_INTEGERS = (
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
)
_FEW, _MOST = 1_000, 10_000  # classes: so many may be without nodes; tables are C x C


@dataclass(frozen=True)
class Graph:
    """The ones of a binary adjacency matrix, row by row, and what is known of the labels.

    Attributes:
        node: v of each neighbourly pair, `[E]`, sorted.
        neighbor: u of each pair, `[E]`: `A[v, u] = 1`.
        y: Labels `[N]`; where they are not known, 0.
        known: Mask `[N]` of the nodes with known labels; None if that is all.
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
        """C: one more than the largest label that is known."""
        return int(self.y.max()) + 1

    @cached_property
    def degree(self) -> Tensor:
        """Neighbours of each node, `[N]`."""
        return torch.bincount(self.node, minlength=self.num_nodes)

    @cached_property
    def known_labels(self) -> Tensor:
        """Labels of the nodes that have a known one, `[n]`."""
        return self.y if self.known is None else self.y[self.known]

    @cached_property
    def class_sizes(self) -> Tensor:
        """Nodes of each class whose label is known, `[C]`."""
        return torch.bincount(self.known_labels, minlength=self.num_classes)

    def restricted(self, mask: Tensor, hide: bool = True) -> Graph:
        """This graph with the labels of `mask` `[N]` known alone; `hide` removes the others."""
        y = torch.where(mask, self.y, 0) if hide else self.y
        return Graph(self.node, self.neighbor, y, mask)

    def among_known(self) -> Graph:
        """The subgraph of the nodes whose labels are known."""
        if self.known is None:
            return self
        place = self.known.cumsum(0) - 1
        kept = self.known[self.node] & self.known[self.neighbor]
        return Graph(place[self.node[kept]], place[self.neighbor[kept]], self.y[self.known], None)

    def with_loops(self, loops: str) -> Graph:
        """This graph with other self-loops."""
        return replace(self, **_loops(self.node, self.neighbor, self.num_nodes, loops))


def prepare(
    edge_index: Tensor,
    y: Tensor,
    direction: str = "undirected",
    loops: str = "keep",
    train_mask: Tensor | None = None,
    num_classes: int | None = None,
) -> Graph:
    """Check what a metric was given and bring it into one form; see the head of this module.

    Raises:
        UsageError: A shape, type or option is wrong, there is no node, a node index or a label is
            out of range, or no label is known.
    """
    y, known = _labels(y, train_mask, num_classes)
    node, neighbor = _pairs(edge_index, y.numel(), direction)
    if node.device != y.device:
        raise UsageError(f"edge_index is on {node.device} and y on {y.device}: put both on one")
    return Graph(**_loops(node, neighbor, y.numel(), loops), y=y, known=known)


def _labels(
    y: Tensor, train_mask: Tensor | None, num_classes: int | None
) -> tuple[Tensor, Tensor | None]:
    if not _whole(y) or y.dim() != 1:
        found = f"shape {list(y.shape)} and type {y.dtype}" if isinstance(y, Tensor) else type(y)
        raise UsageError(f"y has {found}: one integer label for each node, shape [N], is needed")
    if not y.numel():
        raise UsageError("y has no entries: a graph without nodes has no homophily")
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
            f"labels run from {low} to {high}: classes are numbered from 0 {top},"
            " and train_mask leaves out nodes without a label"
        )
    if high >= max(y.numel(), _FEW):
        raise UsageError(
            f"labels run to {high} for {y.numel()} nodes: renumber them from 0, y ="
            " torch.unique(y, return_inverse=True)[1]"
        )
    if high >= _MOST:
        raise UsageError(
            f"labels run to {high}: metrics take up to {_MOST:,} classes, renumbered"
            " by torch.unique(y, return_inverse=True)[1]"
        )
    return y, train_mask


def check_mask(mask: Tensor, y: Tensor) -> None:
    """Refuse a mask that is not one boolean a label, or has no label known."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != y.shape:
        found = f"{list(mask.shape)} {mask.dtype}" if isinstance(mask, Tensor) else type(mask)
        raise UsageError(
            f"train_mask is {found}: booleans of shape [{y.numel()}], one for each"
            " label, are needed"
        )
    if not bool(mask.any()):
        raise UsageError("train_mask is false everywhere: at least one label must be known")


def _whole(tensor: Tensor) -> bool:
    """Whether it is a dense tensor of integers."""
    return (
        isinstance(tensor, Tensor)
        and tensor.layout == torch.strided
        and not tensor.is_meta
        and tensor.dtype in _INTEGERS
    )


def _long(tensor: Tensor, name: str) -> Tensor:
    """The integers as int64."""
    long = tensor.long()
    if tensor.dtype == torch.uint64 and bool((long < 0).any()):  # it wraps
        raise UsageError(
            f"{name} has numbers from 2**63 up, which do not fit int64: renumber them from 0"
        )
    return long


def _pairs(edge_index: Tensor, num_nodes: int, direction: str) -> tuple[Tensor, Tensor]:
    """The distinct neighbourly pairs (v, u), sorted."""
    if direction not in DIRECTIONS:
        raise UsageError(f"unknown direction {direction!r}: {', '.join(DIRECTIONS)} are known")
    if not _whole(edge_index) or edge_index.dim() != 2 or edge_index.size(0) != 2:
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
    place = node * num_nodes + neighbor
    if direction == "undirected":
        place = torch.cat([place, neighbor * num_nodes + node])
    place = _distinct(place)
    node = place.div(num_nodes, rounding_mode="floor")
    return node, place.sub_(node * num_nodes)


def _distinct(place: Tensor) -> Tensor:
    """The sorted distinct entries; what is given is used up."""
    if not place.numel():
        return place
    if place.device.type == "cpu":
        place.numpy().sort()  # in place, and several times as fast as torch.sort
    else:
        place = place.sort().values
    first = torch.ones_like(place, dtype=torch.bool)
    torch.ne(place[1:], place[:-1], out=first[1:])
    return place if bool(first.all()) else place[first]


def _loops(node: Tensor, neighbor: Tensor, num_nodes: int, loops: str) -> dict[str, Tensor]:
    if loops not in LOOPS:
        raise UsageError(f"unknown loops {loops!r}: {', '.join(LOOPS)} are known")
    if loops == "keep":
        return {"node": node, "neighbor": neighbor}
    other = node != neighbor
    if not bool(other.all()):
        node, neighbor = node[other], neighbor[other]
    if loops == "add":
        every = torch.arange(num_nodes, device=node.device)
        node, order = torch.cat([node, every]).sort(stable=True)
        neighbor = torch.cat([neighbor, every])[order]
    return {"node": node, "neighbor": neighbor}
