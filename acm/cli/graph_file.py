"""Read a user's own graph: a NumPy archive, a saved PyG `Data`, or an edge list."""

from __future__ import annotations

import pickle
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from acm.cli.edge_list import is_missing, read_edge_list
from acm.errors import UsageError

_EDGES = ("edge_index", "edges")
_LABELS = ("y", "node_labels", "labels")
_FEATURES = ("x", "node_features", "features")
_INT64 = 2**63 - 1
#: Formats that are refused by name, with what to do.
_OTHER = {
    ".graphml": "networkx.read_graphml",
    ".gml": "networkx.read_gml",
    ".npy": "numpy.load",
    ".mat": "scipy.io.loadmat",
}


class GraphFile(NamedTuple):
    """What `acm metrics` takes from a file: features, edges, classes, and what was read."""

    x: Tensor | None
    edge_index: Tensor
    y: Tensor
    description: list[str]


def read_graph(path: Path, labels: Path | None = None, **options) -> GraphFile:
    """Read a graph. Nothing that a file holds is executed.

    Args:
        path: `.npz` with `edge_index` [2, E] or `edges` [E, 2], `y` or `node_labels` [N], and
            perhaps `x` or `node_features` [N, F]; `.pt` or `.pth` with a PyG `Data` or a dictionary
            of its tensors; or a text file with one edge a line.
        labels: The labels of an edge list.
        options: Further options of `read_edge_list`.

    Returns:
        The graph, its labels numbered from 0 in the order of their distinct values.

    Raises:
        UsageError: If there is no such file, or it does not hold a graph with labels.
    """
    for file in (path, labels):
        if file is not None and file.is_dir():
            raise UsageError(f"{file} is a folder: a file is needed")
        if file is not None and not file.is_file():
            raise UsageError(f"there is no file {file}")
    kind = path.suffix.lower()
    if kind in _OTHER:
        raise UsageError(
            f"{path}: {kind} files are not read; load it with {_OTHER[kind]} and save"
            " numpy.savez(file, edge_index=…, y=…, x=…)"
        )
    if kind in (".npz", ".pt", ".pth"):
        for name, value in {"labels": labels, **options}.items():
            if value is not None:
                raise UsageError(f"{path} holds its own labels and edges: leave --{name} out")
        return _archive(path) if kind == ".npz" else _saved(path)
    if labels is None:
        raise UsageError(f"{path} is read as an edge list: --labels names the file of its labels")
    edge_index, y, description = read_edge_list(path, labels, **options)
    return GraphFile(None, torch.from_numpy(edge_index), torch.from_numpy(y), description)


def _archive(path: Path) -> GraphFile:
    names = _EDGES + _LABELS + _FEATURES
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise UsageError(f"{path} is one bare array: use numpy.savez(file, edge_index=…, y=…)")
        with archive:
            arrays = {name: archive[name] for name in archive.files if name in names}
    except UsageError:
        raise
    except (ValueError, OSError, EOFError, LookupError, RuntimeError, zipfile.BadZipFile,
            zlib.error) as error:  # fmt: skip
        raise UsageError(f"{path} is not a NumPy archive of plain arrays: {error}") from error
    return _graph({name: _tensor(array, name, path) for name, array in arrays.items()}, path)


def _tensor(array: np.ndarray, name: str, path: Path) -> Tensor:
    """Convert an array to a type that PyTorch computes with; labels may be text."""
    kind = array.dtype.kind
    if name in _LABELS and kind in "USu":
        text = np.char.decode(array, "latin-1") if kind == "S" else array
        missing = [k for k, label in enumerate(text.flat) if kind != "u" and is_missing(label)]
        if missing:
            raise UsageError(f"{path}: node {missing[0]} has no label in {name}")
        array = np.unique(text, return_inverse=True)[1].reshape(array.shape)
    elif kind == "u" and array.size and int(array.max()) > _INT64:
        raise UsageError(f"{path}: {name} has {array.max()}, which does not fit int64")
    elif kind not in "biuf":
        raise UsageError(f"{path}: {name} is of type {array.dtype}: real numbers are needed")
    if kind == "f":
        array = array.astype(min(array.dtype.newbyteorder("="), np.dtype(float)))
    elif kind != "b":
        array = array.astype(np.int64)
    return torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))


def _saved(path: Path) -> GraphFile:
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage

    # With `weights_only` these classes, tensors and plain containers are made, and nothing else.
    storages = [BaseStorage, GlobalStorage, NodeStorage, EdgeStorage]
    try:
        with torch.serialization.safe_globals(
            [Data, HeteroData, DataEdgeAttr, DataTensorAttr, *storages]
        ):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UsageError(
            f"{path} holds more than the tensors of a graph, which is not executed:"
            " save data.to_dict() instead"
        ) from error
    except (RuntimeError, OSError, EOFError, ValueError, LookupError, TypeError,
            AttributeError) as error:  # fmt: skip
        raise UsageError(f"{path} is not a file that torch.save wrote") from error
    if isinstance(content, tuple) and content:  # a processed data set of PyG: (data, slices, …)
        if len(content) > 1 and content[1]:
            raise UsageError(f"{path} holds several graphs with slices: save one Data of them")
        content = content[0]
    if isinstance(content, HeteroData):
        raise UsageError(f"{path} holds a HeteroData: save data.to_homogeneous() instead")
    content = content.to_dict() if isinstance(content, Data) else content
    if not isinstance(content, dict):
        raise UsageError(
            f"{path} holds a {type(content).__name__}: a PyG Data, or a dictionary with"
            " edge_index and y, is needed"
        )
    return _graph({name: v for name, v in content.items() if isinstance(v, Tensor)}, path)


def _graph(tensors: dict[str, Tensor], path: Path) -> GraphFile:
    """Return the graph among the named tensors of a file."""
    parts, names_used = [], []
    for names in (_EDGES, _LABELS, _FEATURES):
        name = next((n for n in names if n in tensors), None)
        if name is None and names is not _FEATURES:
            raise UsageError(f"{path} has no {' or '.join(names)}")
        value = None if name is None else tensors[name]
        if value is not None and (value.is_meta or value.is_quantized):
            form = "meta" if value.is_meta else "quantized"
            raise UsageError(f"{path}: {name} is a {form} tensor: plain numbers are needed")
        if name == "edges":
            if value.dim() != 2 or value.size(1) != 2:
                raise UsageError(f"{path} has edges of shape {list(value.shape)}: [E, 2] is needed")
            value = value.T
        parts.append(value)
        names_used += [name] * (name is not None)
    edge_index, y, x = parts
    y = y.squeeze(1) if y.dim() == 2 and y.size(1) == 1 else y
    whole = not (y.is_floating_point() or y.is_complex() or y.dtype == torch.bool)
    if y.dim() == 1 and y.layout == torch.strided and whole and len(y) and int(y.min()) >= 0:
        y = torch.unique(y, return_inverse=True)[1]
    unused = [name for name in tensors if name not in names_used]
    line = f"{path}: {', '.join(names_used)}"
    line += f"; not used: {', '.join(unused)}" if unused else ""
    return GraphFile(x, edge_index, y, [line])
