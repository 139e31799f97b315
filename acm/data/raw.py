"""Read raw files into arrays, and arrays into PyG graphs."""

from __future__ import annotations

import io
import json
import math
import pickle
import re
import warnings
import zipfile
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, to_undirected

from acm.errors import UsageError

Arrays: TypeAlias = tuple[sp.csr_matrix | np.ndarray, np.ndarray, np.ndarray]


def make_graph(
    name: str, x: sp.csr_matrix | np.ndarray, edges: np.ndarray, y: np.ndarray, directed: bool
) -> Data:
    """Make a graph as from `load` of features [N, F], edges [rows, 2] and labels [N]."""
    edge_index = coalesce(torch.from_numpy(edges.T.astype(np.int64)))
    return Data(
        x=_features(sp.csr_matrix(x, dtype=np.float32)),
        edge_index=edge_index if directed else to_undirected(edge_index, num_nodes=len(y)),
        y=torch.from_numpy(y.astype(np.int64)),
        name=name,
        num_classes=int(y.max()) + 1,
        raw_rows=len(edges),
        directed_edges=edge_index.shape[1],
    )


def _features(x: sp.csr_matrix) -> torch.Tensor:
    x.sum_duplicates()
    x.eliminate_zeros()
    if 8 * x.nnz >= math.prod(x.shape):
        return torch.from_numpy(x.toarray())
    crow, col = (torch.tensor(part, dtype=torch.int64) for part in (x.indptr, x.indices))
    with warnings.catch_warnings():  # PyTorch warns once that CSR tensors are beta
        warnings.simplefilter("ignore")
        values = torch.tensor(x.data)
        return torch.sparse_csr_tensor(crow, col, values, x.shape, check_invariants=False)


def _parse_geom(files: dict[str, Path]) -> Arrays:
    """Parse Geom-GCN's text files: `node<TAB>features<TAB>label` and `source<TAB>target`."""
    header, *lines = files["nodes"].read_text().splitlines()
    rows = sorted((line.split("\t") for line in lines), key=lambda row: int(row[0]))
    _, features, labels = zip(*rows)
    if "feature_amount" in header:  # Film lists the words of a node, by their columns
        x = _binary([list(map(int, words.split(","))) for words in features])
    else:  # the others have 0 or 1 for each column
        characters = np.array(features, dtype=np.bytes_).view(np.uint8).reshape(len(lines), -1)
        x = characters[:, ::2] - ord("0")
    edges = np.loadtxt(files["edges"], dtype=np.int64, skiprows=1, delimiter="\t")
    return x, edges, np.array(labels).astype(np.int64)


def _parse_planetoid(files: dict[str, Path]) -> Arrays:
    """Parse Planetoid's pickles: `allx` are the first nodes, `tx` those in `test.index`."""
    allx, ally, tx, ty, graph = (
        load_arrays(files[role].read_bytes(), files[role].name)
        for role in ("allx", "ally", "tx", "ty", "graph")
    )
    index = np.loadtxt(files["test.index"], dtype=np.int64)
    first, nodes = allx.shape[0], len(graph)
    # 15 nodes of CiteSeer are in neither part. They get zero features and label 0.
    placement = sp.csr_matrix(
        (np.ones(len(index), np.float32), (index - first, np.arange(len(index)))),
        shape=(nodes - first, len(index)),
    )
    x = sp.vstack([sp.csr_matrix(allx), placement @ sp.csr_matrix(tx)])
    y = np.concatenate([ally, placement.astype(np.int64) @ ty]).argmax(1)
    edges = [(node, neighbor) for node, neighbors in graph.items() for neighbor in neighbors]
    return x, np.array(edges), y


def _parse_deezer(files: dict[str, Path]) -> Arrays:
    """Parse SNAP's zip file: the artists that each user likes (JSON), edges and labels (CSV)."""
    folder = "deezer_europe/deezer_europe"
    with zipfile.ZipFile(files["archive"]) as archive:
        likes = json.loads(archive.read(f"{folder}_features.json"))
        edges, target = (
            pd.read_csv(archive.open(f"{folder}_{part}.csv")).to_numpy()
            for part in ("edges", "target")
        )
    y = target[np.argsort(target[:, 0]), 1]
    return _binary([likes[str(node)] for node in range(len(y))]), edges, y


def _parse_npz(files: dict[str, Path]) -> Arrays:
    """Parse the NumPy archives of the later graphs, which store each undirected edge once."""
    with np.load(files["graph"], allow_pickle=False) as archive:
        return archive["node_features"], archive["edges"], archive["node_labels"]


def _binary(columns: list[list[int]]) -> sp.csr_matrix:
    """Return the 0/1 matrix whose row v has ones in `columns[v]`, which may have repetitions."""
    indptr = np.cumsum([0] + [len(row) for row in columns])
    indices = np.fromiter(chain.from_iterable(columns), np.int64)
    x = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr))
    x.sum_duplicates()
    x.data[:] = 1
    return x


PARSERS = {
    "geom": _parse_geom,
    "planetoid": _parse_planetoid,
    "deezer": _parse_deezer,
    "npz": _parse_npz,
}
"""By kind of data set: read the raw files, given by their roles in `registry.csv`."""


def load_arrays(content: bytes, source: str) -> Any:
    """Unpickle NumPy arrays, lists and dictionaries, or one SciPy CSR matrix, and nothing else.

    No function that a pickle names is called, except the stand-ins below: `numpy.ndarray` itself
    would make object arrays of made-up pointers. The content may be a `.npy` file of objects too.
    `source` is a name for the error, a `UsageError` if the pickle is damaged or names more.
    """
    stream = io.BytesIO(content)
    try:
        if content.startswith(np.lib.format.MAGIC_PREFIX):
            np.lib.format.read_magic(stream)
            np.lib.format.read_array_header_1_0(stream)
        value = _ArrayUnpickler(stream, encoding="latin1").load()
        return value.matrix if isinstance(value, _Csr) else value
    except Exception as error:  # a damaged pickle can raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"{source} is not a pickle of arrays alone: {reason}") from error


class _DType:
    """Stand-in for `numpy.dtype`: numbers, truth values and objects only."""

    def __init__(self, code: str, *_: object) -> None:
        if not re.fullmatch(r"b1|[iu][1248]|f[248]|O8?", code):
            raise pickle.UnpicklingError(f"it holds an array of {code!r}")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple) -> None:
        if state[1] in ("<", ">"):
            self.dtype = self.dtype.newbyteorder(state[1])


class _Array(np.ndarray):
    """Stand-in for `numpy.ndarray`: the content must fit the shape."""

    def __setstate__(self, state: tuple) -> None:
        _, shape, stand_in, fortran, content = state
        dtype = stand_in.dtype
        # NumPy itself checks the length of bytes, but not of a list.
        if min(shape, default=0) < 0 or (dtype.hasobject and len(content) != math.prod(shape)):
            raise pickle.UnpicklingError("it holds an array that does not fit its shape")
        super().__setstate__((1, shape, dtype, fortran, content))


class _Csr:
    """Stand-in for `scipy.sparse.csr_matrix`: the indices must lie inside the matrix."""

    def __setstate__(self, state: dict) -> None:
        parts = (state["data"], state["indices"], state["indptr"])
        self.matrix = sp.csr_matrix(parts, shape=state["_shape"])
        self.matrix.check_format(full_check=True)


def _reconstruct(*_: object) -> np.ndarray:  # the same for all arguments
    return np.empty(0, np.int8).view(_Array)


# Every name that a pickle may contain. Python 2 and old SciPy use other modules for some.
_ALLOWED = {
    "numpy.ndarray": "an argument of _reconstruct, which is not called",
    "numpy.dtype": _DType,
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy._core.multiarray._reconstruct": _reconstruct,
    "scipy.sparse.csr.csr_matrix": _Csr,
    "scipy.sparse._csr.csr_matrix": _Csr,
    "collections.defaultdict": defaultdict,
    "__builtin__.list": list,
    "builtins.list": list,
}


class _ArrayUnpickler(pickle._Unpickler):
    # The C class resolves extension codes from a cache without a call of `find_class`.

    def find_class(self, module: str, name: str) -> Any:
        if (path := f"{module}.{name}") not in _ALLOWED:
            raise pickle.UnpicklingError(f"it names {path}")
        return _ALLOWED[path]

    def get_extension(self, code: int) -> Any:
        raise pickle.UnpicklingError(f"it names extension {code}")
