"""Statistics of a graph."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, to_undirected

from acm.data.graphs import load
from acm.data.names import DATASETS

_WIDTH = 76  # characters; fits a column of the book and a narrow terminal


@dataclass(frozen=True)
class Summary:
    """Statistics of a graph; `str` makes a table of them."""

    name: str  # the data set, or "graph"
    source: str  # one line on the origin
    nodes: int
    raw_rows: int | None  # rows of the edge file with repeated ones; None without a file
    directed_edges: int | None  # distinct directed edges with self-loops; None without a file
    undirected_edges: int  # distinct undirected edges without self-loops
    loops: int  # nodes with a self-loop
    isolated_nodes: int  # nodes without an edge to another node
    features: int
    nonzeros: int  # non-zero features
    density: float  # nonzeros / (nodes * features)
    sparse: bool  # whether the features are a sparse tensor
    zero_rows: int  # nodes whose features are all zero
    classes: int
    class_counts: tuple[int, ...]  # nodes of each class
    caveats: str  # what a user has to know about the data

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
        indent = max(map(len, lines)) + 4
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
    """Count the nodes, edges, features and classes of a graph.

    Args:
        graph: Name of a data set, or a graph. `raw_rows` and `directed_edges` are None for a graph
            without these attributes.

    Raises:
        UsageError: The name is unknown, or a raw file cannot be read or downloaded.
    """
    data = load(graph) if isinstance(graph, str) else graph
    entry = DATASETS.get(getattr(data, "name", ""))
    nodes, features = data.x.shape
    edges = to_undirected(coalesce(data.edge_index), num_nodes=nodes)
    no_loops = edges[:, edges[0] != edges[1]]
    if data.x.layout == torch.strided:
        node, _ = data.x.nonzero(as_tuple=True)
    else:
        node = torch.arange(nodes, device=data.x.device).repeat_interleave(
            data.x.crow_indices().diff()
        )
        node = node[data.x.values() != 0]
    nonzeros = len(node)
    counts = torch.bincount(data.y)
    return Summary(
        name=entry.name if entry else "graph",
        source=entry.description if entry else "given",
        nodes=nodes,
        raw_rows=getattr(data, "raw_rows", None),
        directed_edges=getattr(data, "directed_edges", None),
        undirected_edges=no_loops.shape[1] // 2,
        loops=edges.shape[1] - no_loops.shape[1],
        isolated_nodes=nodes - len(no_loops[0].unique()),
        features=features,
        nonzeros=nonzeros,
        density=nonzeros / (nodes * features),
        sparse=data.x.layout != torch.strided,
        zero_rows=nodes - len(node.unique()),
        classes=len(counts),
        class_counts=tuple(counts.tolist()),
        caveats=entry.caveats if entry else "",
    )
