"""Load a data set by its name."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from acm.data.files import locate
from acm.data.generator import synthetic
from acm.data.names import dataset, raw_files
from acm.data.raw import parse, to_data
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

    Raises:
        UsageError: The name is unknown, or a raw file cannot be read or downloaded.
    """
    if dataset(name).kind == "synthetic":
        return synthetic(nodes_per_class=200, h=0.1, undirected=not directed)
    files = {file.role: locate(file) for file in raw_files(name, splits=False)}
    return to_data(name, parse(name, files), directed)


def row_normalize(x: Tensor) -> Tensor:
    """Divide each row by the sum of its absolute values; rows of zeros stay zero.

    Args:
        x: Features [N, F], dense or CSR.

    Returns:
        A tensor of the same layout whose rows have L1 norm 1 or 0.

    Raises:
        UsageError: A feature is NaN or infinite, or `x` is not a dense or CSR matrix.
    """
    if x.dim() != 2 or x.layout not in (torch.strided, torch.sparse_csr):
        raise UsageError("row_normalize takes a dense or CSR matrix [N, F]")
    values = x.values() if x.layout == torch.sparse_csr else x
    if not torch.isfinite(values).all():
        raise UsageError("features hold NaN or infinite values: clean them before row_normalize")
    if x.layout == torch.strided:
        norm = x.abs().sum(1, keepdim=True)
        return x / norm.masked_fill(norm == 0, 1)
    crow = x.crow_indices()
    row = torch.repeat_interleave(torch.arange(len(x), device=x.device), crow.diff())
    norm = values.new_zeros(len(x)).index_add(0, row, values.abs())
    norm = norm.masked_fill(norm == 0, 1)
    return torch.sparse_csr_tensor(
        crow, x.col_indices(), values / norm[row], size=x.shape, check_invariants=False
    )
