"""From raw files to arrays: one parser for each kind of source."""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from acm.data.pickles import load_arrays
from acm.errors import UsageError


class RawGraph(NamedTuple):
    """A graph as its files have it.

    Attributes:
        x: raw features [N, F], float32, as CSR matrix or array.
        edges: distinct directed rows [2, E], int64, sorted.
        y: labels [N], int64.
        raw_rows: rows of the edge file, repeated ones counted.
    """

    x: sp.csr_matrix | np.ndarray
    edges: np.ndarray
    y: np.ndarray
    raw_rows: int


def _geom(files: dict[str, Path]) -> RawGraph:
    """Geom-GCN's text files: `node<TAB>feature,feature,…<TAB>label`, `source<TAB>target`."""
    header, *lines = files["nodes"].read_text().splitlines()
    rows = sorted((int(line.split("\t", 1)[0]), line) for line in lines)
    if [node for node, _ in rows] != list(range(len(rows))):
        raise ValueError("its nodes are not 0, 1, 2, …")
    features = [np.fromstring(line.split("\t")[1], dtype=np.float32, sep=",") for _, line in rows]
    if "feature_amount" in header:  # Film lists the words that occur instead of a row of 0 and 1
        words = [np.unique(row).astype(np.int64) for row in features]
        x = _from_lists(words)
    else:
        x = np.stack(features)
    y = np.array([int(line.rsplit("\t", 1)[1]) for _, line in rows])
    edges = np.loadtxt(files["edges"], dtype=np.int64, skiprows=1, delimiter="\t", ndmin=2)
    return _graph(x, edges, y)


def _planetoid(files: dict[str, Path]) -> RawGraph:
    """Planetoid's pickles: `allx` are all nodes but the test nodes, which `test.index` places."""
    part = {
        role: load_arrays(files[role].read_bytes(), files[role].name)
        for role in ("allx", "ally", "tx", "ty", "graph")
    }
    order = np.loadtxt(files["test.index"], dtype=np.int64)
    known, nodes = part["allx"].shape[0], len(part["graph"])
    # CiteSeer: 15 nodes of the graph are in neither part; they keep zero features and label 0.
    place = sp.csr_matrix(
        (np.ones(len(order), np.float32), (order - known, np.arange(len(order)))),
        shape=(nodes - known, len(order)),
    )
    x = sp.vstack([sp.csr_matrix(part["allx"]), place @ sp.csr_matrix(part["tx"])])
    y = np.concatenate([part["ally"], place.astype(np.int64) @ part["ty"]]).argmax(1)
    edges = [(node, other) for node, others in part["graph"].items() for other in others]
    return _graph(x, np.array(edges, dtype=np.int64), y)


def _deezer(files: dict[str, Path]) -> RawGraph:
    """SNAP's zip: artists liked by each user (JSON), edges and targets (CSV)."""
    with zipfile.ZipFile(files["archive"]) as archive:
        with archive.open("deezer_europe/deezer_europe_features.json") as file:
            likes = json.load(file)
        with archive.open("deezer_europe/deezer_europe_edges.csv") as file:
            edges = np.loadtxt(file, dtype=np.int64, skiprows=1, delimiter=",")
        with archive.open("deezer_europe/deezer_europe_target.csv") as file:
            target = np.loadtxt(file, dtype=np.int64, skiprows=1, delimiter=",")
    y = target[np.argsort(target[:, 0]), 1]
    x = _from_lists([np.unique(likes[str(node)]).astype(np.int64) for node in range(len(y))])
    return _graph(x, edges, y)


def _npz(files: dict[str, Path]) -> RawGraph:
    """The later graphs' NumPy archives: undirected edges stored once."""
    with np.load(files["graph"], allow_pickle=False) as archive:
        return _graph(archive["node_features"], archive["edges"], archive["node_labels"])


def _from_lists(words: list[np.ndarray]) -> sp.csr_matrix:
    """The binary matrix whose row v has its ones in the columns `words[v]`."""
    indptr = np.cumsum([0] + [len(row) for row in words])
    indices = np.concatenate(words)
    return sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr))


SPARSE_BELOW = 1 / 8
"""Features with a smaller share of non-zeros are kept sparse."""


def compact(x: sp.spmatrix | np.ndarray) -> sp.csr_matrix | np.ndarray:
    """Features in float32, as CSR matrix where that is worth it, else as array."""
    nonzeros = x.nnz if sp.issparse(x) else np.count_nonzero(x)
    if nonzeros >= SPARSE_BELOW * x.shape[0] * x.shape[1]:
        return np.asarray(x.todense() if sp.issparse(x) else x, dtype=np.float32)
    x = sp.csr_matrix(x, dtype=np.float32)
    x.sum_duplicates()
    x.eliminate_zeros()
    return x


def _graph(x: sp.spmatrix | np.ndarray, edges: np.ndarray, y: np.ndarray) -> RawGraph:
    x = compact(x)
    y = np.asarray(y, dtype=np.int64)
    if not len(y) == x.shape[0] or edges.min() < 0 or edges.max() >= len(y) or y.min() < 0:
        raise ValueError("its edges, features and labels do not fit together")
    return RawGraph(x, np.unique(edges, axis=0).T.copy(), y, len(edges))


_PARSERS: dict[str, Callable[[dict[str, Path]], RawGraph]] = {
    "geom": _geom,
    "planetoid": _planetoid,
    "deezer": _deezer,
    "npz": _npz,
}


def parse(name: str, kind: str, files: dict[str, Path]) -> RawGraph:
    """Parse the raw files (by role) of a data set whose source is of this kind.

    Raises:
        UsageError: the files are not of that kind.
    """
    try:
        return _PARSERS[kind](files)
    except UsageError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, zipfile.BadZipFile) as error:
        raise UsageError(f"{name}: its raw files cannot be parsed: {error}") from error


def to_data(name: str, raw: RawGraph, directed: bool) -> Data:
    """A parsed graph as `Data`, which takes the arrays over."""
    edge_index = torch.from_numpy(raw.edges)
    if not directed:
        edge_index = to_undirected(edge_index, num_nodes=len(raw.y))
    return Data(
        x=sparse_tensor(raw.x) if sp.issparse(raw.x) else torch.from_numpy(raw.x),
        edge_index=edge_index,
        y=torch.from_numpy(raw.y),
        name=name,
        num_classes=int(raw.y.max()) + 1,
        raw_rows=raw.raw_rows,
        directed_edges=raw.edges.shape[1],
    )


def sparse_tensor(x: sp.csr_matrix) -> Tensor:
    """A SciPy CSR matrix as a CSR tensor that shares no memory with it."""
    with warnings.catch_warnings():  # PyTorch says once that CSR tensors are beta
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(
            torch.tensor(x.indptr, dtype=torch.int64),
            torch.tensor(x.indices, dtype=torch.int64),
            torch.tensor(x.data),
            size=x.shape,
            check_invariants=False,  # said, or PyTorch warns
        )
