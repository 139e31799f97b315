"""`describe`: what a graph is, in numbers."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, to_undirected

from acm.data.graphs import load
from acm.data.names import DATASETS

_WIDTH = 76  # what a column of the book and a narrow terminal hold


@dataclass(frozen=True)
class Summary:
    """The statistics of a graph; prints as a table.

    Attributes:
        name: the data set, or "graph" for one of your own.
        source: a line on where it comes from.
        nodes: N.
        raw_rows: rows of the edge file, repeated ones counted; None where there is no file.
        directed_edges: distinct directed rows, self-loops included; None where not known.
        undirected_edges: distinct undirected edges without self-loops.
        loops: nodes with a self-loop.
        isolated_nodes: nodes without an edge to another node.
        features: F.
        nonzeros: features that are not zero.
        density: their share of all N * F.
        sparse: whether the features are a sparse tensor.
        zero_rows: nodes whose features are all zero.
        classes: C.
        class_counts: nodes of each class, C numbers.
        caveats: what to know before using it.
    """

    name: str
    source: str
    nodes: int
    raw_rows: int | None
    directed_edges: int | None
    undirected_edges: int
    loops: int
    isolated_nodes: int
    features: int
    nonzeros: int
    density: float
    sparse: bool
    zero_rows: int
    classes: int
    class_counts: tuple[int, ...]
    caveats: str

    def __str__(self) -> str:
        def count(number: int | None) -> str:
            return "unknown" if number is None else f"{number:,}"

        kind = "sparse" if self.sparse else "dense"
        lines = {
            "source": self.source,
            "nodes": count(self.nodes),
            "rows of the edge file": count(self.raw_rows),
            "distinct directed edges": count(self.directed_edges),
            "undirected edges, no loops": count(self.undirected_edges),
            "self-loops": count(self.loops),
            "isolated nodes": count(self.isolated_nodes),
            "features": f"{self.features:,} ({kind})",
            "non-zero": f"{self.nonzeros:,} ({self.density:.2%})",
            "all-zero rows": count(self.zero_rows),
            "classes": f"{self.classes} ({', '.join(map(count, self.class_counts))} nodes)",
        }
        if self.caveats:
            lines["note"] = self.caveats
        indent = 2 + max(map(len, lines)) + 2
        rows = (
            textwrap.fill(
                value,
                _WIDTH,
                initial_indent=f"  {key}".ljust(indent),
                subsequent_indent=" " * indent,
            )
            for key, value in lines.items()
        )
        return "\n".join([self.name, *rows])


def describe(graph: str | Data) -> Summary:
    """Count what there is to count in a graph.

    Args:
        graph: the name of a data set, or a graph as `load` gives it. Of a graph that does not say
            how its edge file was, `raw_rows` and `directed_edges` are None.

    Raises:
        UsageError: there is no such data set, or its raw files cannot be had.
    """
    data = load(graph) if isinstance(graph, str) else graph
    entry = DATASETS.get(getattr(data, "name", None))
    nodes, features = data.x.shape
    edges = to_undirected(coalesce(data.edge_index), num_nodes=nodes)
    between = edges[:, edges[0] != edges[1]]
    if data.x.layout == torch.strided:
        per_row = (data.x != 0).sum(1)
    else:
        crow, stored = data.x.crow_indices(), data.x.values() != 0
        before = torch.cat([crow.new_zeros(1), stored.cumsum(0)])
        per_row = before[crow[1:]] - before[crow[:-1]]
    nonzeros = int(per_row.sum())
    counts = torch.bincount(data.y)
    return Summary(
        name=entry.name if entry else "graph",
        source=entry.description if entry else "given",
        nodes=nodes,
        raw_rows=getattr(data, "raw_rows", None),
        directed_edges=getattr(data, "directed_edges", None),
        undirected_edges=between.shape[1] // 2,
        loops=edges.shape[1] - between.shape[1],
        isolated_nodes=nodes - int(between[0].unique().numel()),
        features=features,
        nonzeros=nonzeros,
        density=nonzeros / (nodes * features),
        sparse=data.x.layout != torch.strided,
        zero_rows=int((per_row == 0).sum()),
        classes=len(counts),
        class_counts=tuple(counts.tolist()),
        caveats=entry.caveats if entry else "",
    )
