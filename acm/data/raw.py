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
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from acm.data.names import dataset
from acm.errors import UsageError

SPARSE_BELOW = 1 / 8
"""Features are stored as a sparse matrix if their share of non-zeros is smaller."""


class RawGraph(NamedTuple):
    """A graph as in its raw files; `raw_graph` makes one.

    Attributes:
        x: Features [N, F], float32.
        edges: Distinct directed edges (source, target) [2, E], int64, sorted.
        y: Labels [N], int64.
        raw_rows: Number of rows of the edge file, with repeated rows.
    """

    x: sp.csr_matrix | np.ndarray
    edges: np.ndarray
    y: np.ndarray
    raw_rows: int


def raw_graph(x: sp.spmatrix | np.ndarray, edges: np.ndarray, y: np.ndarray) -> RawGraph:
    """Make a `RawGraph` from features [N, F], rows of edges [rows, 2] and labels [N].

    Raises:
        ValueError: An edge names a node beyond N, a label is negative, or lengths differ.
    """
    edges, y = np.asarray(edges, dtype=np.int64), np.asarray(y, dtype=np.int64)
    if not len(y) == x.shape[0] or edges.min() < 0 or edges.max() >= len(y) or y.min() < 0:
        raise ValueError("its edges, features and labels do not fit together")
    nonzeros = np.count_nonzero(x) if isinstance(x, np.ndarray) else x.nnz
    if nonzeros < SPARSE_BELOW * x.shape[0] * x.shape[1]:
        x = sp.csr_matrix(x, dtype=np.float32)
        x.sum_duplicates()
        x.eliminate_zeros()
    else:
        x = np.asarray(x if isinstance(x, np.ndarray) else x.todense(), dtype=np.float32)
    codes = np.sort(edges[:, 0] * len(y) + edges[:, 1])
    codes = codes[np.diff(codes, prepend=-1) > 0]  # faster than np.unique, which hashes
    return RawGraph(x, np.stack(np.divmod(codes, len(y))), y, len(edges))


def to_data(name: str, raw: RawGraph, directed: bool) -> Data:
    """Convert a raw graph to `Data`, which may share memory with the arrays."""
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
    """Copy a SciPy CSR matrix into a CSR tensor."""
    with warnings.catch_warnings():  # PyTorch says once that CSR tensors are beta
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        return torch.sparse_csr_tensor(
            torch.tensor(x.indptr, dtype=torch.int64),
            torch.tensor(x.indices, dtype=torch.int64),
            torch.tensor(x.data),
            size=x.shape,
            check_invariants=False,  # PyTorch warns if this is not set
        )


def parse(name: str, files: dict[str, Path]) -> RawGraph:
    """Parse the raw files of a data set.

    Args:
        name: Name of the data set.
        files: Paths by the roles of `registry.csv`.

    Raises:
        UsageError: A file does not have the format of this data set.
    """
    try:
        return _PARSERS[dataset(name).kind](files)
    except UsageError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, zipfile.BadZipFile) as error:
        raise UsageError(f"{name}: its raw files cannot be parsed: {error}") from error


def _parse_geom(files: dict[str, Path]) -> RawGraph:
    """Parse Geom-GCN's text files: `node<TAB>features<TAB>label` and `source<TAB>target`."""
    header, *lines = files["nodes"].read_text().splitlines()
    rows = sorted((int(node), *columns) for node, *columns in (line.split("\t") for line in lines))
    nodes, features, labels = zip(*rows, strict=True)
    if nodes != tuple(range(len(rows))):
        raise ValueError("its nodes are not 0, 1, 2, …")
    if "feature_amount" in header:  # Film lists the words of a node, by their columns
        x = _binary([list(map(int, words.split(","))) for words in features])
    else:  # the others have 0 or 1 for each column
        characters = np.array(features, dtype=np.bytes_).view(np.uint8).reshape(len(rows), -1)
        x = characters[:, ::2] - ord("0")
        if (x > 1).any() or (characters[:, 1::2] != ord(",")).any():
            raise ValueError("its features are not 0 and 1")
    edges = np.loadtxt(files["edges"], dtype=np.int64, skiprows=1, delimiter="\t", ndmin=2)
    return raw_graph(x, edges, np.array(labels).astype(np.int64))


def _parse_planetoid(files: dict[str, Path]) -> RawGraph:
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
    return raw_graph(x, np.array(edges), y)


def _parse_deezer(files: dict[str, Path]) -> RawGraph:
    """Parse SNAP's zip file: the artists that each user likes (JSON), edges and labels (CSV)."""
    with zipfile.ZipFile(files["archive"]) as archive:
        likes = json.loads(archive.read("deezer_europe/deezer_europe_features.json"))
        edges, target = (
            np.loadtxt(
                io.BytesIO(archive.read(f"deezer_europe/deezer_europe_{part}.csv")),
                dtype=np.int64,
                skiprows=1,
                delimiter=",",
            )
            for part in ("edges", "target")
        )
    y = target[np.argsort(target[:, 0]), 1]
    return raw_graph(_binary([likes[str(node)] for node in range(len(y))]), edges, y)


def _parse_npz(files: dict[str, Path]) -> RawGraph:
    """Parse the NumPy archives of the later graphs, which store each undirected edge once."""
    with np.load(files["graph"], allow_pickle=False) as archive:
        return raw_graph(archive["node_features"], archive["edges"], archive["node_labels"])


def _binary(columns: list[list[int]]) -> sp.csr_matrix:
    """Return the 0/1 matrix whose row v has ones in `columns[v]`, which may have repetitions."""
    indptr = np.cumsum([0] + [len(row) for row in columns])
    indices = np.fromiter(chain.from_iterable(columns), np.int64)
    x = sp.csr_matrix((np.ones(len(indices), np.float32), indices, indptr))
    x.sum_duplicates()
    x.data[:] = 1
    return x


_PARSERS: dict[str, Callable[[dict[str, Path]], RawGraph]] = {
    "geom": _parse_geom,
    "planetoid": _parse_planetoid,
    "deezer": _parse_deezer,
    "npz": _parse_npz,
}


def load_arrays(content: bytes, source: str) -> Any:
    """Unpickle NumPy arrays, lists and dictionaries, or one SciPy CSR matrix, and nothing else.

    Pickles of Python 2 are read too. No class or function that a pickle names is called, except
    the stand-ins below: `numpy.ndarray` itself would make object arrays of made-up pointers.

    Args:
        content: The pickle, or a `.npy` file of an object array, which holds a pickle.
        source: Name of the file for error messages.

    Raises:
        UsageError: The pickle names anything else, or is damaged.
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
        dtype, size = stand_in.dtype, math.prod(shape)
        if isinstance(content, str):
            content = content.encode("latin1")  # bytes of Python 2
        expected, length = (list, size) if dtype.hasobject else (bytes, size * dtype.itemsize)
        if type(content) is not expected or len(content) != length or min(shape, default=0) < 0:
            raise pickle.UnpicklingError("it holds an array that does not fit its shape")
        state = (1, shape, dtype, bool(fortran), content)
        super().__setstate__(state)  # type: ignore[arg-type]  # NumPy's stub asks for `np.bool`


class _Csr:
    """Stand-in for `scipy.sparse.csr_matrix`: the indices must lie inside the matrix."""

    def __setstate__(self, state: dict) -> None:
        parts = (state["data"], state["indices"], state["indptr"])
        self.matrix = sp.csr_matrix(parts, shape=state["_shape"])
        self.matrix.check_format(full_check=True)


def _reconstruct(*_: object) -> np.ndarray:
    return np.empty(0, np.int8).view(_Array)


# Every name that a pickle may contain. Python 2 and old SciPy use other modules for some.
_ALLOWED = {
    ("numpy", "ndarray"): "the argument of _reconstruct, which is not called",
    ("numpy", "dtype"): _DType,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("scipy.sparse._csr", "csr_matrix"): _Csr,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _ArrayUnpickler(pickle._Unpickler):
    # The C class resolves extension codes from a cache without a call of `find_class`.

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}") from None

    def get_extension(self, code: int) -> Any:
        raise pickle.UnpicklingError(f"it names extension {code}")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it names an object outside the file")
