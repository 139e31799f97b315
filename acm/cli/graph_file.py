"""A user's own graph from a file: edge list and labels, a NumPy archive, or a saved PyG `Data`."""

from __future__ import annotations

import math
import pickle
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from acm.errors import UsageError

_ID_WORDS = {"id", "ids", "idx", "index", "name", "node", "nodes", "node_id", "nodeid", "vertex"}
_LABEL_WORDS = {"category", "class", "classes", "label", "labels", "target", "y"}
_END_WORDS = _ID_WORDS | {
    "source",
    "target",
    "src",
    "dst",
    "from",
    "to",
    "head",
    "tail",
    "start",
    "end",
    "u",
    "v",
    "id1",
    "id2",
    "node1",
    "node2",
    "node_1",
    "node_2",
}
_MISSING = {"", "?", "na", "n/a", "nan", "none", "null"}


def read_edge_list(path: Path, labels: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the edges `[2, E]` and the labels `[N]`, numbered from 0 by distinct value.

    Raises:
        UsageError: A file is no table, a node or a label is missing or named twice, an edge has a
            node without a label, or it is not clear whether the first line is a heading.
    """
    edges, given = _table(path), _table(labels)
    if edges.shape[1] < 2:
        raise UsageError(f"{path} has one column: an edge is two nodes a line")
    named = given.shape[1] > 1
    lines = _lines(labels, blanks=not named)
    if _labels_begin_with_heading(given, edges, labels):
        given, lines = given[1:], lines[1:]
    classes = given[1 if named else 0].tolist()
    names = given[0] if named else pd.Series(range(len(given))).astype(str)
    y = _numbered(classes, names.tolist(), lines, labels)
    if names.duplicated().any():
        raise UsageError(f"{labels} names node {names[names.duplicated()].iloc[0]} twice")

    place = pd.Series(np.arange(len(names)), index=names)
    ends = np.stack([place.reindex(edges[column]).to_numpy(dtype=float) for column in (0, 1)])
    if np.isnan(ends[:, 0]).all() and _edges_begin_with_heading(edges):
        edges, ends = edges[1:], ends[:, 1:]
    unknown = np.isnan(ends).any(0)
    if unknown.any():
        at = int(unknown.argmax())
        hint = " (if that is a heading, begin it with #)" if at == 0 else ""
        raise UsageError(
            f"{path} has an edge {' '.join(edges.iloc[at, :2])}, a node of which has"
            f" no label in {labels}{hint}"
        )
    return ends.astype(np.int64), y


def renumbered(values: list[int | float | str]) -> np.ndarray:
    """Labels as 0 to C - 1, in the order of their distinct values."""
    number = {value: k for k, value in enumerate(sorted(set(values)))}
    return np.array([number[value] for value in values], dtype=np.int64)


def is_missing(label: str) -> bool:
    """Whether a label stands for none."""
    number = _number(label)
    return label.lower() in _MISSING or (number is not None and not math.isfinite(number))


def _labels_begin_with_heading(given: pd.DataFrame, edges: pd.DataFrame, path: Path) -> bool:
    named = given.shape[1] > 1
    label, others = given[1 if named else 0].iloc[0], given[1 if named else 0][1:].tolist()
    typed = _differs(label, others)
    word = label.lower() in _LABEL_WORDS
    recurs = label in others
    if named:
        node, nodes = given[0].iloc[0], given[0][1:].tolist()
        if (edges[[0, 1]][1:] == node).to_numpy().any():
            return False
        node_typed, node_word = _differs(node, nodes), node.lower() in _ID_WORDS
        if node_word and (node_typed or word):
            return True
        heading = typed or word or node_typed or node_word
        data = recurs or _number(node) is not None
    else:
        heading = typed or word
        data = recurs or (_number(label) is not None and _numeric(others))
        if not heading and not data:  # an edge to the last node needs all lines
            data = bool((edges[[0, 1]][1:] == str(len(others))).to_numpy().any())
    if heading == data:
        line = " ".join(given.iloc[0, :2])
        raise UsageError(
            f"{path} begins with {line!r}, which may be a heading or data: begin a"
            " heading with #; above data, write the heading"
            f" {'node,label' if named else 'label'}"
        )
    return heading


def _edges_begin_with_heading(edges: pd.DataFrame) -> bool:
    """Whether the first line, whose ends are not known, is no edge."""
    first = edges.iloc[0, :2].tolist()
    if any(_number(end) is not None for end in first):
        return False
    if all(end.lower() in _END_WORDS for end in first):
        return True
    return len(edges) > 1 and all(_numeric(edges[column][1:].unique()) for column in (0, 1))


def _numbered(classes: list[str], names: list[str], lines: list[int], path: Path) -> np.ndarray:
    """The labels from 0, by value if all are numbers, otherwise by the alphabet."""
    numbers = [_number(label) for label in classes]
    for label, number, name, line in zip(classes, numbers, names, lines, strict=True):
        where = f"{path}, line {line}: "
        if not name:
            raise UsageError(f"{where}there is no node before the label {label}")
        if is_missing(label):
            raise UsageError(f"{where}node {name} has no label ({label!r}): every node needs one")
        if number is not None and number < 0:
            raise UsageError(
                f"{where}node {name} has the label {label}: every node needs one, and"
                " classes are words or numbers from 0"
            )
    return renumbered(classes if None in numbers else numbers)


def _number(text: str) -> int | float | None:
    """The number that a text is, exactly if it is whole."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def _numeric(texts) -> bool:
    return len(texts) > 0 and all(_number(text) is not None for text in texts)


def _differs(first: str, others: list[str]) -> bool:
    """Whether the first is no number and all others are."""
    return _number(first) is None and _numeric(others)


def _table(path: Path) -> pd.DataFrame:
    """The columns of a text file, separated by commas, semicolons, tabs or spaces, as text."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = next((line for line in file if line.strip() and line[0] != "#"), "")
        separator = next((s for s in ",;\t" if s in first), r"\s+")
        table = pd.read_csv(
            path,
            sep=separator,
            header=None,
            comment="#",
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
        )
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UsageError(f"{path} is not a table of text: {str(error).strip()}") from error
    return table.apply(lambda column: column.fillna("").str.strip())


def _lines(path: Path, blanks: bool) -> list[int]:
    """The numbers of the lines with content; with `blanks`, an empty one among them is refused."""
    found, empty = [], None
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.split("#")[0].strip():
                if blanks and empty is not None:
                    raise UsageError(
                        f"{path}, line {empty}: node {len(found)} has no label, or an"
                        " empty line is one too many: labels are one a line"
                    )
                found.append(number)
            elif found and empty is None and not line.strip():
                empty = number
    return found


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
            raise UsageError(
                f"{path} is one bare array: numpy.savez(file, edge_index=…, y=…)"
                " writes an archive of them"
            )
        with archive:
            found = {
                name: archive[name]
                for name in archive.files
                if name in _EDGES + _LABELS + _FEATURES
            }
    except UsageError:
        raise
    except (
        ValueError,
        OSError,
        EOFError,
        LookupError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
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
        raise UsageError(
            f"{path} holds more than the tensors of a graph, which is not executed:"
            " save data.to_dict() instead"
        ) from error
    except (
        RuntimeError,
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
    ) as error:
        raise UsageError(f"{path} is not a file that torch.save wrote") from error
    if isinstance(found, tuple) and found:  # PyG's processed data sets: (data, slices, …)
        found = found[0]
    if isinstance(found, Data):
        found = found.to_dict()
    if not isinstance(found, dict):
        raise UsageError(
            f"{path} holds a {type(found).__name__}: a PyG Data, or a dictionary with"
            " edge_index and y, is needed"
        )
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
