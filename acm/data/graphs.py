"""Load a data set by its name, and count what it holds.

Functions raise `UsageError` for an unknown name, and for a file that cannot be downloaded.
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
    """Load a data set as the undirected unweighted graph of the paper's experiments (Section 6).

    `load("synthetic")` draws the same small graph each time, without a download. Its homophily is
    low: GCN is at chance on it, and ACM-GCN beats an MLP.

    Args:
        name: One of `acm.data.DATASETS`.
        directed: Return the distinct directed edges of the raw file instead.

    Returns:
        A new graph with these attributes:
        `x` [N, F]: raw features, float32; a CSR tensor if less than an eighth is non-zero.
        `edge_index` [2, E]: int64, sorted; each edge in both directions, each raw self-loop once.
        `y` [N]: labels, int64.
        `name`, `num_classes`.
        `raw_rows`: number of rows of the edge file; `directed_edges`: number of distinct ones.
    """
    kind = dataset(name).kind
    if kind == "synthetic":
        return synthetic(nodes_per_class=200, h=0.1, undirected=not directed)
    files = {file.role: locate(file) for file in raw_files(name, splits=False)}
    return make_graph(name, *PARSERS[kind](files), directed=directed)


def row_normalize(x: Tensor) -> Tensor:
    """Divide each row of features [N, F], dense or CSR, by the sum of its absolute values.

    Rows of zeros stay zero. A NaN or infinite feature is a `UsageError`.
    """
    if x.dim() != 2 or x.layout not in (torch.strided, torch.sparse_csr):
        raise UsageError("row_normalize takes a dense or CSR matrix [N, F]")
    values = x.values() if x.layout == torch.sparse_csr else x
    if not torch.isfinite(values).all():
        raise UsageError("features hold NaN or infinite values: clean them before row_normalize")
    if x.layout == torch.strided:
        norm = x.abs().sum(1, keepdim=True)
        return x / norm.masked_fill(norm == 0, 1)
    row = _rows(x)
    norm = values.new_zeros(len(x)).index_add(0, row, values.abs())
    values = values / norm.masked_fill(norm == 0, 1)[row]
    index = x.crow_indices(), x.col_indices()
    return torch.sparse_csr_tensor(*index, values, x.shape, check_invariants=False)


def _rows(x: Tensor) -> Tensor:
    """Return the row of each stored value of a CSR tensor."""
    return torch.arange(len(x), device=x.device).repeat_interleave(x.crow_indices().diff())


def describe(name: str) -> pd.Series:
    """Count the nodes, edges, features and classes of a data set.

    `raw_rows` are those of the edge file, with repeated ones. `directed_edges` are distinct and
    include self-loops; `undirected_edges` do not. `isolated_nodes` have no edge to another node.
    `nonzeros` and `zero_rows` are those of the features.
    """
    data = load(name)
    row = _rows(data.x) if data.x.layout == torch.sparse_csr else data.x.nonzero()[:, 0]
    others = data.edge_index[0, data.edge_index[0] != data.edge_index[1]]
    counts = {
        "nodes": data.num_nodes,
        "raw_rows": data.raw_rows,
        "directed_edges": data.directed_edges,
        "undirected_edges": len(others) // 2,
        "loops": data.num_edges - len(others),
        "isolated_nodes": data.num_nodes - len(others.unique()),
        "features": data.num_features,
        "nonzeros": len(row),
        "zero_rows": data.num_nodes - len(row.unique()),
        "class_counts": tuple(data.y.bincount().tolist()),
    }
    return pd.Series(counts, name=name)
