"""A user's own graph from a file: edge list and labels, a NumPy archive, or a saved PyG `Data`."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from acm.errors import UsageError

_EDGES = ("edge_index", "edges")
_LABELS = ("y", "node_labels", "labels")
_FEATURES = ("x", "node_features", "features")


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

    Raises:
        UsageError: There is no such file, or it does not hold a graph with labels.
    """
    for file in (path, labels):
        if file is not None and not file.is_file():
            raise UsageError(f"there is no file {file}")
    kind = path.suffix.lower()
    if kind in (".npz", ".pt", ".pth"):
        if labels is not None:
            raise UsageError(f"{path} carries its own labels: leave --labels out")
        return _archive(path) if kind == ".npz" else _saved(path)
    if labels is None:
        raise UsageError(f"{path} is read as an edge list: --labels names the file of its labels")
    return _edge_list(path, labels)


def _archive(path: Path) -> OwnGraph:
    try:
        with np.load(path, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files
                     if name in _EDGES + _LABELS + _FEATURES}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path} is not a NumPy archive of plain arrays: {error}") from error
    tensors = {name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in found.items()}
    return _own(tensors, path)


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
    except (RuntimeError, OSError, EOFError, ValueError, LookupError) as error:
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
        if name == "edges":
            if value.dim() != 2 or value.size(1) != 2:
                raise UsageError(f"{path} has edges of shape {list(value.shape)}: [E, 2] is needed")
            value = value.T
        parts.append(value)
    edge_index, y, x = parts
    return OwnGraph(x, edge_index, y.squeeze(1) if y.dim() == 2 and y.size(1) == 1 else y)


def _edge_list(path: Path, labels: Path) -> OwnGraph:
    edges, given = _table(path), _table(labels)
    if edges.shape[1] < 2:
        raise UsageError(f"{path} has one column: an edge is two nodes a line")
    named = given.shape[1] > 1
    classes = given[1 if named else 0]
    if classes.iloc[0].lower() in ("label", "class", "target"):  # a heading
        classes, given = classes[1:], given[1:]
    names = given[0] if named else pd.Series(range(len(given))).astype(str)
    if names.duplicated().any():
        raise UsageError(f"{labels} names node {names[names.duplicated()].iloc[0]} twice")
    place = pd.Series(np.arange(len(names)), index=names)
    ends = np.stack([place.reindex(edges[column]).to_numpy(dtype=float) for column in (0, 1)])
    if np.isnan(ends[:, 0]).all():  # a heading
        edges, ends = edges[1:], ends[:, 1:]
    unknown = np.isnan(ends).any(0)
    if unknown.any():
        edge = edges.iloc[int(unknown.argmax()), :2]
        raise UsageError(f"{path} has an edge {' '.join(edge)}, a node of which has no label in"
                         f" {labels}")
    # Whole numbers keep their order and their gaps; other labels are numbered by the alphabet.
    number = pd.to_numeric(classes, errors="coerce")
    whole = number.notna().all() and (number % 1 == 0).all()
    y = number.astype(np.int64) if whole else classes.rank(method="dense").astype(np.int64) - 1
    edge_index = torch.from_numpy(ends.astype(np.int64))
    return OwnGraph(None, edge_index, torch.from_numpy(y.to_numpy().copy()))


def _table(path: Path) -> pd.DataFrame:
    """The columns of a text file, separated by commas, semicolons, tabs or spaces, as text."""
    try:
        with path.open(encoding="utf-8") as file:
            first = next((line for line in file if line.strip() and line[0] != "#"), "")
        separator = next((s for s in ",;\t" if s in first), r"\s+")
        table = pd.read_csv(path, sep=separator, header=None, comment="#", dtype=str,
                            keep_default_na=False, skipinitialspace=True)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UsageError(f"{path} is not a table of text: {error}") from error
    return table.apply(lambda column: column.str.strip())
