"""`load`: a data set's name in, a graph out."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from acm.data.files import locate, parsed, raw_files
from acm.data.generator import synthetic
from acm.data.names import dataset
from acm.data.parsers import RawGraph, parse, to_data
from acm.errors import UsageError


def load(name: str, directed: bool = False) -> Data:
    """Load a data set as the undirected binary graph of the paper's experiments (Section 6).

    Args:
        name: one of `acm.data.DATASETS`.
        directed: give the distinct directed rows of the raw edge file instead.

    Returns:
        A fresh graph with `x` [N, F], float32 raw features, a CSR tensor where less than an eighth
        is non-zero; `edge_index` [2, E], int64, sorted, each edge in both directions, each raw
        self-loop once; `y` [N], int64; `name`; `num_classes`; `raw_rows`, the rows of the edge file
        with repeated ones; and `directed_edges`, how many of them are distinct.

    Raises:
        UsageError: there is no such data set, or its raw files cannot be had.
    """
    kind = dataset(name).kind
    if kind == "synthetic":
        return embedded(directed)
    return to_data(name, _parsed(name, kind), directed)


def embedded(directed: bool = False) -> Data:
    """The graph that `load("synthetic")` gives: always the same, without a download.

    Its size and homophily make a training short and worth a look: what a node's neighbours say is
    lost to a low-pass filter (GCN stays at chance), but not to a high-pass one (ACM-GCN beats MLP).
    """
    return synthetic(nodes_per_class=200, h=0.1, undirected=not directed)


def row_normalize(x: Tensor) -> Tensor:
    """Divide each row by the sum of its absolute values; all-zero rows stay zero.

    Args:
        x: features [N, F], dense or CSR.

    Returns:
        The same kind of tensor with rows of L1 norm 1 or 0.

    Raises:
        UsageError: a feature is NaN or infinite, or `x` is not a dense or CSR matrix.
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


def _parsed(name: str, kind: str) -> RawGraph:
    """The parsed graph, from the cache where it is there and sound, else from the raw files."""
    path = parsed(name)
    try:
        return _read(path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # not there, or damaged: the raw files tell
    files = {file.role: locate(file) for file in raw_files(name, splits=False)}
    raw = parse(name, kind, files)
    try:
        _write(path, raw)
    except OSError:
        pass  # a cache that cannot be written costs time, nothing else
    return raw


def _read(path: Path) -> RawGraph:
    with np.load(path, allow_pickle=False) as part:
        x = part["x"]
        if "indptr" in part:
            x = sp.csr_matrix((x, part["indices"], part["indptr"]), shape=part["shape"])
        return RawGraph(x, part["edges"], part["y"], int(part["raw_rows"]))


def _write(path: Path, raw: RawGraph) -> None:
    """Write whole or not at all, so that a process that reads beside us never sees a half."""
    parts = {"edges": raw.edges, "y": raw.y, "raw_rows": np.array(raw.raw_rows)}
    if sp.issparse(raw.x):
        parts |= {"x": raw.x.data, "indices": raw.x.indices, "indptr": raw.x.indptr}
        parts["shape"] = np.array(raw.x.shape)
    else:
        parts["x"] = raw.x
    buffer = io.BytesIO()
    np.savez(buffer, **parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(buffer.getbuffer())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
