"""A user's own graph from a file: edge list and labels, a NumPy archive, or a saved PyG `Data`."""

from __future__ import annotations

import pickle
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from acm.cli.edge_list import is_missing, read_edge_list, renumbered
from acm.errors import UsageError

_EDGES = ("edge_index", "edges")
_LABELS = ("y", "node_labels", "labels")
_FEATURES = ("x", "node_features", "features")
_INT64 = 2**63 - 1


class OwnGraph(NamedTuple):
    """What the metrics take."""

    x: Tensor | None
    edge_index: Tensor
    y: Tensor


def read_graph(path: Path, labels: Path | None = None) -> OwnGraph:
    """Read a graph; nothing that a file holds is executed.

    Args:
        path: `.npz` with `edge_index` [2, E] or `edges` [E, 2], `y` or `node_labels` [N], and
            perhaps `x` or `node_features` [N, F]; `.pt` or `.pth` with a PyG `Data` or a dictionary
            of its tensors; or a text file with an edge a line, two columns.
        labels: For an edge list: a text file with a node and its label a line, or a label alone,
            which is then that of node 0, 1, 2, …

    Returns:
        The graph, its labels numbered from 0 in the order of their distinct values.

    Raises:
        UsageError: There is no such file, or it does not hold a graph with labels.
    """
    for file in (path, labels):
        if file is not None and file.is_dir():
            raise UsageError(f"{file} is a folder: a file is needed")
        if file is not None and not file.is_file():
            raise UsageError(f"there is no file {file}")
    kind = path.suffix.lower()
    if kind in (".npz", ".pt", ".pth"):
        if labels is not None:
            raise UsageError(f"{path} carries its own labels: leave --labels out")
        return _archive(path) if kind == ".npz" else _saved(path)
    if labels is None:
        raise UsageError(f"{path} is read as an edge list: --labels names the file of its labels")
    edge_index, y = read_edge_list(path, labels)
    return OwnGraph(None, torch.from_numpy(edge_index), torch.from_numpy(y))


def _archive(path: Path) -> OwnGraph:
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise UsageError(f"{path} is one bare array: numpy.savez(file, edge_index=…, y=…)"
                             " writes an archive of them")
        with archive:
            found = {name: archive[name] for name in archive.files
                     if name in _EDGES + _LABELS + _FEATURES}
    except UsageError:
        raise
    except (ValueError, OSError, EOFError, LookupError, RuntimeError, zipfile.BadZipFile,
            zlib.error) as error:
        raise UsageError(f"{path} is not a NumPy archive of plain arrays: {error}") from error
    return _own({name: _tensor(array, name, path) for name, array in found.items()}, path)


def _tensor(array: np.ndarray, name: str, path: Path) -> Tensor:
    """An array in a type that PyTorch computes with; labels may be text."""
    kind = array.dtype.kind if isinstance(array, np.ndarray) else ""
    if name in _LABELS and kind in ("U", "S"):
        text = np.char.decode(array, "latin-1") if kind == "S" else array
        missing = next((k for k, label in enumerate(text.flat) if is_missing(label)), None)
        if missing is not None:
            raise UsageError(f"{path}: node {missing} has no label in {name}: every node needs one")
        array = np.unique(text, return_inverse=True)[1].reshape(array.shape)
    elif name in _LABELS and kind == "u":  # whatever the size: they are renumbered
        array = np.unique(array, return_inverse=True)[1].reshape(array.shape)
    elif kind == "u" and array.size and int(array.max()) > _INT64:
        raise UsageError(f"{path}: {name} has {array.max()}, which does not fit int64")
    elif kind not in tuple("biuf"):
        found = array.dtype if kind else "no array"
        raise UsageError(f"{path}: {name} is of type {found}: real numbers are needed")
    if kind == "f":
        array = array.astype(min(array.dtype.newbyteorder("="), np.dtype(float)))
    elif array.dtype.kind != "b":
        array = array.astype(np.int64)
    return torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))


def _saved(path: Path) -> OwnGraph:
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    # The unpickler of `weights_only` makes tensors, plain containers and these, and nothing else.
    allowed = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]
    try:
        with torch.serialization.safe_globals(allowed):
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UsageError(f"{path} holds more than the tensors of a graph, which is not executed:"
                         " save data.to_dict() instead") from error
    except (RuntimeError, OSError, EOFError, ValueError, LookupError, TypeError,
            AttributeError) as error:
        raise UsageError(f"{path} is not a file that torch.save wrote") from error
    if isinstance(found, tuple) and found:  # PyG's processed data sets: (data, slices, …)
        found = found[0]
    if isinstance(found, Data):
        found = found.to_dict()
    if not isinstance(found, dict):
        raise UsageError(f"{path} holds a {type(found).__name__}: a PyG Data, or a dictionary with"
                         " edge_index and y, is needed")
    return _own({name: value for name, value in found.items() if isinstance(value, Tensor)}, path)


def _own(found: dict[str, Tensor], path: Path) -> OwnGraph:
    """The graph among the named tensors of a file."""
    parts = []
    for names in (_EDGES, _LABELS, _FEATURES):
        name = next((n for n in names if n in found), None)
        if name is None and names is not _FEATURES:
            raise UsageError(f"{path} has no {' or '.join(names)}")
        value = None if name is None else found[name]
        if value is not None and (value.is_meta or value.is_quantized):
            form = "meta" if value.is_meta else "quantized"
            raise UsageError(f"{path}: {name} is a {form} tensor: plain numbers are needed")
        if name == "edges":
            if value.dim() != 2 or value.size(1) != 2:
                raise UsageError(f"{path} has edges of shape {list(value.shape)}: [E, 2] is needed")
            value = value.T
        parts.append(value)
    edge_index, y, x = parts
    y = y.squeeze(1) if y.dim() == 2 and y.size(1) == 1 else y
    return OwnGraph(x, edge_index, _renumbered(y))


def _renumbered(y: Tensor) -> Tensor:
    """Labels from 0 without gaps. What is no label is left for the metrics to refuse."""
    whole = not (y.is_floating_point() or y.is_complex() or y.dtype == torch.bool)
    if y.dim() != 1 or y.layout != torch.strided or not whole:
        return y
    values = y.tolist()
    return y if any(value < 0 for value in values) else torch.from_numpy(renumbered(values))
