"""Read a graph from two text files: an edge list, and the labels of the nodes."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pandas as pd

from acm.errors import UsageError

#: Names of columns that are certain to be a heading.
NAMES = {
    "source": ("source", "src", "from", "head", "u", "id1", "node1", "node_1"),
    "target": ("target", "dst", "to", "tail", "v", "id2", "node2", "node_2"),
    "node": ("node", "id", "node_id", "nodeid", "name", "vertex"),
    "label": ("label", "class", "y", "category", "target"),
}
_MISSING = ("", "?", "na", "n/a", "nan", "none", "null", "inf", "-inf")


def read_edge_list(
    path: Path,
    labels: Path,
    sep: str | None = None,
    header: bool | None = None,
    **columns: str | None,
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Read edges and labels, and describe what was read.

    Args:
        path: Text file with one edge a line.
        labels: Text file with a node and its label a line, or with the labels of nodes 0, 1, 2, …
        sep: What separates the columns; by default a comma, semicolon, tab or blank.
        header: Whether the files begin with names of columns; by default if these are common ones.
        columns: Name or number of the columns `source`, `target`, `node` and `label`.

    Returns:
        Edges `[2, E]`, classes `[N]` from 0 in the order of the labels, and lines of text.

    Raises:
        UsageError: If a file is no table, if it is not certain which column or line means what, if
            a label is missing, or if an edge has a node without a label.
    """
    edges, edge_line = _table(path, sep, header, {k: columns[k] for k in ("source", "target")})
    ends = edges[["source", "target"]]
    nodes = set(ends["source"]) | set(ends["target"])
    wanted = {k: columns[k] for k in ("node", "label")}
    table, label_line = _table(labels, sep, header, wanted, nodes)
    if "node" not in table:
        table["node"] = [str(number) for number in range(len(table))]
    for number, (node, label) in enumerate(zip(table["node"], table["label"])):
        line = f"{labels}, line {table.index[number]}"
        if not node:
            raise UsageError(f"{line}: the label {label} has no node")
        if label.lower() in _MISSING or (_is_number(label) and not math.isfinite(float(label))):
            raise UsageError(
                f"{line}: node {node} has no label ({label!r}), and every node needs one"
            )
        if _is_number(label) and float(label) < 0:
            raise UsageError(f"{line}: node {node} has the label {label}: words or numbers from 0")
    if (repeated := table["node"].duplicated()).any():
        raise UsageError(f"{labels} has node {table['node'][repeated].iloc[0]} twice")
    number_of = pd.Series(np.arange(len(table)), index=table["node"])
    index = np.stack([number_of.reindex(ends[end]).to_numpy(float) for end in ends])
    if (missing := np.isnan(index).any(0)).any():
        row = int(missing.argmax())
        raise UsageError(
            f"{path}, line {ends.index[row]}: the edge {' '.join(ends.iloc[row])} has a node"
            f" without a label in {labels} (if the line is a heading, add --header)"
        )
    index = index.astype(np.int64)
    return index, _classes(table["label"]), [edge_line, label_line, _shape(index, len(table))]


def is_missing(label: str) -> bool:
    """Return whether a text stands for no label."""
    return label.strip().lower() in _MISSING


def _table(path, sep, header, wanted, nodes=None) -> tuple[pd.DataFrame, str]:
    """Read the wanted columns as text, indexed by line number, and describe the choice."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not a table of text: {error}") from error
    # Only lines above the data are comments: a name or label may begin with #.
    comments = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    numbered = list(enumerate(lines[comments:], comments + 1))
    full = [(n, line) for n, line in numbered if line.strip()]
    if not full:
        raise UsageError(f"{path} is not a table: it has no line with data")
    sep = sep or next((s for s in ",;\t" if s in full[0][1]), None)
    if sep is None:
        rows = [line.split() for _, line in full]
        first = [row[0] for row in rows[1:]]
        # "n1 red" is a node and its label, but "New York" above "New Jersey" are two labels.
        if "label" in wanted and (len(set(map(len, rows))) > 1 or len(set(first)) < len(first)):
            rows = [[line.strip()] for _, line in full]
        table = pd.DataFrame(rows)
    else:
        text = io.StringIO("\n".join(line for _, line in full))
        try:
            table = pd.read_csv(
                text, sep=sep, header=None, dtype=str, keep_default_na=False, skipinitialspace=True,
                engine="python" if len(sep) > 1 else "c",
            )  # fmt: skip
        except (ValueError, pd.errors.ParserError) as error:
            raise UsageError(f"{path} is not a table of text: {str(error).strip()}") from error
    table.index = [number for number, _ in full]
    table = table.fillna("").map(str.strip)
    if table.shape[1] == 1 and "label" in wanted:
        for number, line in numbered:
            if full[0][0] < number < full[-1][0] and not line.strip():
                before = sum(n < number for n, _ in full)
                raise UsageError(
                    f"{path}, line {number}: node {before} has no label, the line is empty"
                )
    names = None
    if _has_header(path, table, header, wanted, nodes):
        names, table = table.iloc[0].tolist(), table.iloc[1:]
    chosen = _columns(path, table, names, wanted)
    shown = [repr(name) for name in names] if names else [f"column {c}" for c in table]
    unused = [name for c, name in enumerate(shown) if c not in chosen.values()]
    line = ", ".join(f"{key}: {shown[column]}" for key, column in chosen.items())
    line = f"{path}: {len(table):,} lines, {line}"
    line += f"; not used: {', '.join(unused)}" if unused else ""
    line += f"; {comments} comment lines above the data" if comments else ""
    return pd.DataFrame({key: table[column] for key, column in chosen.items()}), line


def _has_header(path, table, header, wanted, nodes) -> bool:
    """Decide whether the first line names the columns; refuse where it is not certain."""
    if header is not None:
        return header
    if any(column is not None and not column.isdigit() for column in wanted.values()):
        return True
    first, rest = table.iloc[0], table.iloc[1:]
    common = {name for key in wanted for name in NAMES[key]}
    numeric = [len(rest) and pd.to_numeric(rest[c], errors="coerce").notna().all() for c in table]
    over_numbers = [not _is_number(first[c]) and numeric[c] for c in table]
    common_word = [first[c].lower() in common for c in table]
    repeats = [(rest[c] == first[c]).any() for c in table]
    like_data = any(repeats) or any(map(_is_number, first))
    if nodes is not None:
        like_data |= table.shape[1] > 1 and first[0] in nodes
    if any(a and b for a, b in zip(common_word, over_numbers)) and not any(map(_is_number, first)):
        return True
    if any(common_word) or any(over_numbers):
        if not like_data:
            return True
    elif nodes is None or first[0] in nodes or any(map(_is_number, first)):
        return False
    elif table.shape[1] == 1 and nodes != {str(number) for number in range(len(rest))}:
        return False
    elif table.shape[1] > 1 and not set(rest[0]) <= nodes:
        return False
    raise UsageError(
        f"{path} begins with {' '.join(first)!r}, which may be a heading or data: add --header"
        " or --no-header"
    )


def _columns(path, table, names, wanted) -> dict[str, int]:
    """Return the number of each wanted column."""
    width, chosen = table.shape[1], {}
    for key, asked in wanted.items():
        if asked is None:
            continue
        if names is not None and asked in names:
            chosen[key] = names.index(asked)
        elif asked.isdigit() and int(asked) < width:
            chosen[key] = int(asked)
        else:
            there = ", ".join(names) if names else f"0 to {width - 1}"
            raise UsageError(f"{path} has no column {asked!r} for --{key}: the columns are {there}")
    free = [c for c in range(width) if c not in chosen.values()]
    if names is not None:
        for key in [key for key in wanted if key not in chosen]:
            match = [c for c in free if names[c].lower() in NAMES[key]]
            if len(match) == 1:
                chosen[key] = match[0]
                free.remove(match[0])
        # pandas writes its index under an empty name: in a file of labels it names the nodes.
        index = [c for c in free if not names[c]]
        if len(index) == 1 and "node" in wanted and "node" not in chosen:
            chosen["node"] = index[0]
        free = [c for c in free if names[c]]
    left = [key for key in wanted if key not in chosen]
    if "label" in wanted and "label" in left and len(free) == 1 and not chosen:
        left = ["label"]  # labels alone, in the order of the nodes
    if left == ["node"] and not free:
        left = []
    if left and len(left) != len(free):
        if "source" in wanted and width < 2:
            raise UsageError(f"{path} has one column: an edge is two nodes a line")
        options = " and ".join(f"--{key}" for key in left)
        raise UsageError(f"{path} has {width} columns: name the right ones with {options}")
    return {key: chosen[key] if key in chosen else free[left.index(key)] for key in wanted
            if key in chosen or key in left}  # fmt: skip


def _is_number(text: str) -> bool:
    return bool(pd.notna(pd.to_numeric(text, errors="coerce")))


def _classes(labels: pd.Series) -> np.ndarray:
    """Number the labels from 0: by value if all are numbers, otherwise by the alphabet."""
    numbers = pd.to_numeric(labels, errors="coerce")
    exact = labels.str.fullmatch(r"[+-]?\d+")
    if numbers.isna().any():
        values = labels.tolist()
    elif exact.all():
        values = [int(label) for label in labels]  # floats would merge large numbers
    else:
        values = numbers.tolist()
    return np.unique(np.array(values, dtype=object if exact.all() else None), return_inverse=True)[
        1
    ]


def _shape(index: np.ndarray, num_nodes: int) -> str:
    """Count what an edge list may hide: repeated, reversed and isolated ones."""
    edges = pd.DataFrame({"source": index[0], "target": index[1]})
    distinct = edges.drop_duplicates()
    loops = int((distinct["source"] == distinct["target"]).sum())
    proper = distinct[distinct["source"] != distinct["target"]]
    both = proper.merge(proper.rename(columns={"source": "target", "target": "source"}))
    isolated = num_nodes - len(np.unique(proper.to_numpy()))
    return (
        f"{num_nodes:,} nodes, {len(edges):,} edges as given, {len(edges) - len(distinct):,}"
        f" repeated, {len(both) // 2:,} in both directions, {loops:,} self-loops,"
        f" {isolated:,} isolated nodes"
    )
