"""A graph from two text files: its edges, and the labels of its nodes.

The first line of either may be a heading. Nothing is shifted or dropped on a guess: where types,
the edges and the usual words do not settle what the line is, the file is refused.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd

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
