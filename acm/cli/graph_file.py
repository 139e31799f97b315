"""Read a graph from a user's file: a NumPy archive, a saved PyG `Data`, or two text tables."""

from collections.abc import Mapping
from io import StringIO
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from acm.errors import UsageError

_OTHER = (".gml", ".graphml", ".json", ".mat", ".npy", ".xlsx", ".gz", ".zip")
_NAMES = {  # the names that an array may have in an archive
    "x": ("x", "node_features", "features"),
    "edge_index": ("edge_index", "edges"),
    "y": ("y", "node_labels", "labels"),
}
_MISSING = ("", "?", "na", "n/a", "#n/a", "<na>", "nan", "none", "null", "inf")


def counts(edge_index: Tensor, num_nodes: int) -> str:
    """Return a line with the numbers of nodes, edges, repeated edges, loops and isolated nodes."""
    source, target = edge_index.long().numpy()
    pairs = np.unique(source * num_nodes + target)
    a, b = np.divmod(pairs[pairs // num_nodes != pairs % num_nodes], num_nodes)
    two_way = int(np.isin(b * num_nodes + a, pairs).sum()) // 2
    return (
        f"{num_nodes:,} nodes, {len(source):,} edges in the file, {len(source) - len(pairs):,}"
        f" repeated, {two_way:,} in both directions, {len(pairs) - len(a):,} self-loops,"
        f" {num_nodes - len(np.union1d(a, b)):,} isolated nodes"
    )


def read_tables(path, labels, sep, header, source, target, node, label):
    """Read two tables: return None, edges `[2, E]`, classes `[N]` and lines that report columns."""
    if path.suffix.lower() in _OTHER:
        raise UsageError(f"{path} is not read: save it by numpy.savez(file, edge_index=…, y=…)")
    if labels is None or not labels.is_file():
        raise UsageError(f"{path} is read as an edge list: --labels must name a file of labels")
    edges, edge_line = _table(path, sep, header, {"source": source, "target": target})
    ends = set(edges.to_numpy().flat)
    table, label_line = _table(labels, sep, header, {"node": node, "label": label}, ends)
    if "node" not in table:
        table["node"] = [str(number) for number in range(len(table))]
    nodes = pd.Index(table["node"])
    if len(wrong := nodes[nodes.duplicated() | (nodes == "")]):
        raise UsageError(f"{labels} has node {wrong[0]!r} twice, or a node without a name")
    edge_index = np.stack([nodes.get_indexer(edges[end]) for end in edges])
    if (unknown := (edge_index < 0).any(axis=0)).any():
        edge = edges[unknown].iloc[0]
        raise UsageError(
            f"{path}, line {edge.name}: the edge {' '.join(edge)} has a node without a label in"
            f" {labels} (if the line is a heading, add --header)"
        )
    y = _classes(table["label"].to_numpy(object), labels, nodes)
    return None, torch.from_numpy(edge_index), y, [edge_line, label_line]


def _table(path, sep, header, wanted, ends=frozenset()) -> tuple[pd.DataFrame, str]:
    """Return the wanted columns as text, indexed by line numbers, and a line that reports them."""
    try:
        lines = path.read_text(encoding="utf-8-sig").rstrip().split("\n")
        # Only lines above the data are comments: a label may be "C#" or "#1".
        comments = len(list(takewhile(lambda line: f"{line} ".startswith("# "), lines)))
        lines = lines[comments:] or [""]
        separator = sep or next((s for s in ",;\t" if s in lines[0]), " ")
        first_words = {line.partition(" ")[0] for line in lines}
        # Without a separator, "n1 red" is a node and its label, but "New York" is one label.
        if sep is None and separator == " " and "label" in wanted and ends.isdisjoint(first_words):
            table = pd.DataFrame(lines)
        else:
            table = pd.read_csv(
                StringIO("\n".join(lines)), sep=r"\s+" if separator == " " else separator,
                engine="c", header=None, dtype=str, keep_default_na=False, skip_blank_lines=False,
                skipinitialspace=True,
            )  # fmt: skip
    except ValueError as error:
        raise UsageError(f"{path} is not a table of text: {str(error).strip()}") from error
    table = table.fillna("").map(str.strip)
    table.index += comments + 1
    if table.shape[1] > 1:
        table = table[(table != "").any(axis=1)]
    header, columns = _columns(path, table, header, wanted)
    names = table.iloc[0].tolist() if header else list(table)
    used = {key: names[c] for key, c in columns.items()}
    unused = [name for c, name in enumerate(names) if c not in columns.values()]
    table = table.iloc[int(header) :, list(columns.values())].set_axis(list(columns), axis=1)
    line = f"{path}: {comments} comment lines, {len(table):,} data lines"
    return table, f"{line}; columns used: {used}; not used: {unused}"


def _columns(path, table, header, wanted) -> tuple[bool, dict[str, int]]:
    """Return whether line 1 is a heading, and the wanted columns; raise `UsageError` in doubt."""
    first, named, numbered = table.iloc[0], {}, {}
    line = f"{path} begins with {' '.join(first)!r}"
    if len(first) == 1 and "label" in wanted:
        wanted = {"label": wanted["label"]}  # one column has the labels of nodes 0, 1, 2, …
    for key, option in wanted.items():
        numbered[key] = [c for c in table if str(c) == option]
        name = key if option is None or numbered[key] else option
        named[key] = [c for c, text in first.items() if text.lower() == name.lower()]
    if header is None:
        header = any(named.values())
        is_data = pd.to_numeric(first, errors="coerce").notna().any()
        if header == (is_data or table.iloc[1:].isin(set(first)).any(axis=None)):
            raise UsageError(f"{line}, a heading or data? Add --header or --no-header")
    matches = {key: numbered[key] or (named[key] if header else []) for key in wanted}
    if not any((*matches.values(), *wanted.values())) and len(first) == len(wanted):
        matches = {key: [c] for c, key in enumerate(wanted)}
    columns = {key: matches[key][0] for key in wanted if len(matches[key]) == 1}
    if len(set(columns.values())) < len(wanted):
        options = " and ".join(f"--{key}" for key in wanted)
        raise UsageError(f"{line}: choose columns with {options}")
    return header, columns


def _classes(labels: np.ndarray, path: Path, nodes) -> Tensor:
    """Number the labels from 0. Refuse missing labels, and one number written in two ways."""
    y, words = pd.factorize(labels, sort=True)
    for number, word in enumerate(map(str, words)):
        if word.strip().lower() in _MISSING or word.startswith("-"):
            node = nodes[(y == number).argmax()]
            raise UsageError(f"{path}: node {node} has no label ({word!r})")
    numbers = pd.to_numeric(pd.Series(words), errors="coerce")
    if (equal := numbers.duplicated(keep=False) & numbers.notna()).any():
        raise UsageError(f"{path}: {' and '.join(words[equal])} are the same number in two forms")
    return torch.from_numpy(y)


def read_archive(path: Path):
    """Return features or None, edges, classes and a report line. Execute no code of the file."""
    try:
        content = _load(path)
        if not isinstance(content, Mapping):
            raise TypeError(f"its {type(content).__name__} is not a Data or a dictionary")
        used = {key: n for key, names in _NAMES.items() for n in reversed(names) if n in content}
        if not {"edge_index", "y"} <= used.keys():
            raise LookupError("edge_index and y are needed")
        x = torch.as_tensor(content[used["x"]]) if "x" in used else None
        edge_index = torch.as_tensor(content[used["edge_index"]])
        y = np.squeeze(np.asarray(content[used["y"]]))
        if y.ndim != 1 or y.dtype.kind not in "biuU":
            raise TypeError(f"labels are {y.dtype} {list(y.shape)}, not a class for each node")
    except Exception as error:  # for a damaged or hostile file, any error may occur
        reason = str(error).partition("\n")[0].partition(". ")[0]
        line = f"{path} is not a graph of arrays or tensors, and its other content is not executed"
        raise UsageError(f"{line}: {reason}") from error
    y = _classes(y.astype(object) if y.dtype.kind == "U" else y, path, range(len(y)))
    edge_index = edge_index.T if used["edge_index"] == "edges" else edge_index
    unused = [name for name in content if name not in used.values()]
    return x, edge_index, y, [f"{path}: used: {used}; not used: {unused}"]


def _load(path: Path) -> object:
    if path.suffix.lower() == ".npz":
        return np.load(path, allow_pickle=False)
    from torch_geometric.data import Data, data, storage  # makes PyG's classes loadable

    classes = [data.DataEdgeAttr, data.DataTensorAttr, storage.BaseStorage]
    classes += [storage.EdgeStorage, storage.GlobalStorage, storage.NodeStorage]
    with torch.serialization.safe_globals(classes):
        content = torch.load(path, map_location="cpu", weights_only=True)
    if isinstance(content, tuple) and not any(content[1:2]):  # PyG's (data, slices, class)
        content = content[0]
    return content.to_dict() if isinstance(content, Data) else content
