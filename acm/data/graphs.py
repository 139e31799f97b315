"""Load a data set by name, and count its nodes, edges, features and classes.

Functions raise `UsageError` for an unknown name, a failed download or a damaged file.
"""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from acm.data.files import locate
from acm.data.generator import synthetic
from acm.data.names import dataset, raw_files
from acm.data.raw import PARSERS, make_graph
from acm.errors import UsageError


def load(name: str, directed: bool = False) -> Data:
    """Load a data set as an undirected, unweighted graph, as in the paper's Section 6.

    `load("synthetic")` draws a small graph with a fixed seed and needs no download. On this graph
    of edge homophily 0.1, GCN is at chance level, and ACM-GCN is more accurate than an MLP.

    Args:
        name: One of `acm.data.DATASETS`.
        directed: Return the directed edges of the raw file instead, without repetitions.

    Returns:
        A new graph with these attributes:
        `x` [N, F]: raw features, float32; a CSR tensor if less than 1/8 of the entries are nonzero.
        `edge_index` [2, E]: int64, sorted; each edge in both directions, each self-loop once.
        `y` [N]: labels, int64.
        `name`, `num_classes`.
        `raw_rows`: number of rows of the edge file. `directed_edges`: number of distinct rows.
    """
    kind = dataset(name).kind
    if kind == "synthetic":
        return synthetic(nodes_per_class=200, h=0.1, undirected=not directed)
    files = {file.role: locate(file) for file in raw_files(name, splits=False)}
    return make_graph(name, *PARSERS[kind](files), directed=directed)


def row_normalize(x: Tensor) -> Tensor:
    """Divide each row of features [N, F], dense or CSR, by the sum of its absolute values.

    Rows of zeros stay zero. A NaN or infinite feature raises `UsageError`.
    """
    if x.dim() != 2 or x.layout not in (torch.strided, torch.sparse_csr):
        raise UsageError("row_normalize takes a dense or CSR matrix [N, F]")
    values = x.values() if x.layout == torch.sparse_csr else x
    if not torch.isfinite(values).all():
        raise UsageError("features contain NaN or infinite values: remove or replace these values")
    if x.layout == torch.strided:
        norm = x.abs().sum(1, keepdim=True)
        return x / norm.masked_fill(norm == 0, 1)
    row = _rows(x)
    norm = values.new_zeros(len(x)).index_add(0, row, values.abs())
    values = values / norm.masked_fill(norm == 0, 1)[row]
    index = x.crow_indices(), x.col_indices()
    return torch.sparse_csr_tensor(*index, values, x.shape, check_invariants=False)


def _rows(x: Tensor) -> Tensor:
    """Return the row index of each stored value of a CSR tensor."""
    return torch.arange(len(x), device=x.device).repeat_interleave(x.crow_indices().diff())


def describe(name: str) -> pd.Series:
    """Count the nodes, edges, features and classes of a data set.

    `raw_rows` counts rows of the edge file, with repetitions. `directed_edges` counts distinct
    rows, with self-loops. `undirected_edges` omits self-loops. `isolated_nodes` counts nodes
    without an edge to another node. `nonzeros` and `zero_rows` describe the feature matrix.
    """
    data = load(name)
    row = _rows(data.x) if data.x.layout == torch.sparse_csr else data.x.nonzero()[:, 0]
    sources = data.edge_index[0, data.edge_index[0] != data.edge_index[1]]
    counts = {
        "name": name,
        "nodes": data.num_nodes,
        "raw_rows": data.raw_rows,
        "directed_edges": data.directed_edges,
        "undirected_edges": len(sources) // 2,
        "loops": data.num_edges - len(sources),
        "isolated_nodes": data.num_nodes - len(sources.unique()),
        "features": data.num_features,
        "nonzeros": len(row),
        "zero_rows": data.num_nodes - len(row.unique()),
        "class_counts": tuple(data.y.bincount().tolist()),
    }
    return pd.Series(counts, name=name)
