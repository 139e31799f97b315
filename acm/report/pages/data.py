"""Recompute the paper's graph statistics, and find the convention behind each printed number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from acm.data import load
from acm.metrics import (
    Score,
    aggregation_homophily,
    aggregation_similarity,
    class_homophily,
    diversification_distinguishability,
    edge_homophily,
    node_homophily,
)
from acm.paper import printed
from acm.report.comparison import signed

#: The paper computed H_edge, H_node and H_class of these six graphs on directed edges.
DIRECTED = ("cornell", "wisconsin", "texas", "film", "chameleon", "squirrel")

COUNTING: dict[str, Callable[..., float]] = {
    "H_edge": edge_homophily,
    "H_node": node_homophily,
    "H_class": class_homophily,
}

#: The rows of Table 7 with the paper's conventions: (features, edges, labels, …) -> Score.
SIMILARITY: dict[str, Callable[..., Score]] = {
    "H_agg": lambda x, edge_index, y, **options: aggregation_homophily(edge_index, y, **options),
    "S_agg(S(Â,X))": partial(aggregation_similarity, normalize_features=True, ties=">"),
    "S_agg(S(I,X))": partial(
        aggregation_similarity, filter="identity", normalize_features=True, ties=">"
    ),
    "DD": partial(diversification_distinguishability, normalize_features=True),
}


def verdict(paper: float, ours: float, low: float, high: float) -> str:
    """Return `"exact"` to four digits, `"among the ties"` of the interval, or the difference."""
    if f"{ours:.4f}" == f"{paper:.4f}":
        return "exact"
    # The printed number is rounded by at most half a unit of its last digit.
    if low - 5e-5 <= paper <= high + 5e-5:
        return "among the ties"
    return f"off by {signed(ours - paper, 4)}"


def unlabeled(data: Data) -> Tensor:
    """Return a mask of the nodes without features and label, `[N]`: 15 nodes of CiteSeer."""
    if data.name != "citeseer":
        return torch.zeros(data.num_nodes, dtype=torch.bool)
    return (data.x.to_dense() == 0).all(1)


def _printed_labels(data: Data) -> Tensor:
    """Return the labels that give the printed numbers: CiteSeer's last class has 15 nodes more."""
    return torch.where(unlabeled(data), data.y.max(), data.y)


def statistics_table(names: Sequence[str]) -> pd.DataFrame:
    """Recompute every statistic that Tables 3 and 7 print of these graphs, one row per number.

    The two columns of ties hold our value if every tie fails, and if every tie counts.
    """
    lines = []
    for name in names:
        for row, ours, interval, convention in _rebuild(name):
            table = "statistics" if row in COUNTING or row == "H_agg^M" else "metrics"
            paper = printed(table, row=row, dataset=name).mean
            words = convention, verdict(paper, ours, *interval)
            lines.append((name, row, paper, ours, *interval, *words))
    columns = ["graph", "statistic", "paper", "ours", "if ties fail", "if ties count"]
    table = pd.DataFrame(lines, columns=[*columns, "convention", "verdict"])
    return table.set_index(["graph", "statistic"])


def _rebuild(name: str) -> Iterator[tuple[str, float, tuple[float, ...], str]]:
    """Yield row, value, tie interval and convention of every printed statistic of a graph."""
    directed = name in DIRECTED
    data = load(name, directed=directed)
    for row, metric in COUNTING.items():
        convention, options = "undirected, no loops", {"loops": "remove"}
        if directed:
            loops = "add" if row == "H_edge" else "remove"
            options = {"direction": "out", "loops": loops}
            convention = f"directed, {'a loop at every node' if loops == 'add' else 'no loops'}"
        if name == "citeseer":
            convention += ", unlabeled: last class"
        value = metric(data.edge_index, _printed_labels(data), **options)
        yield row, value, (value, value), convention
    data = load(name)
    for row, metric in SIMILARITY.items():
        # Table 7 has no Deezer-Europe. Its H_agg is needed for the modified H_agg of Table 3.
        if name == "deezer-europe" and row != "H_agg":
            continue
        options = {"ties": ">"} if name == "film" and row == "H_agg" else {}
        score = metric(data.x, data.edge_index, data.y, **options)
        convention = "loops kept" + ("" if row == "H_agg" else ", rows of X normalized")
        if len(set(score.interval)) > 1:
            convention += f", ties {'fail' if score == score.interval[0] else 'count'}"
        if row == "H_agg":
            # The paper computes 2 H - 1 from the rounded H.
            value, *interval = (2 * round(float(v), 4) - 1 for v in (score, *score.interval))
            yield "H_agg^M", value, tuple(interval), f"{convention}, from the rounded H_agg"
        if name != "deezer-europe":
            yield row, float(score), score.interval, convention


def convention_table(names: Sequence[str]) -> pd.DataFrame:
    """Return H_edge, H_node and H_class under six conventions, next to the numbers of Table 3.

    One row per graph and statistic; the columns are the printed value and the pairs of direction
    and loops. CiteSeer's unlabeled nodes are in the last class.
    """
    rows = {}
    for name in names:
        graphs = {"undirected": load(name), "out": load(name, directed=True)}
        y = _printed_labels(graphs["out"])
        for row, metric in COUNTING.items():
            rows[name, row] = {("paper", ""): printed("statistics", row=row, dataset=name).mean} | {
                (direction, loops): metric(data.edge_index, y, direction=direction, loops=loops)
                for direction, data in graphs.items()
                for loops in ("remove", "keep", "add")
            }
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index.names = ["graph", "statistic"]
    table.columns = pd.MultiIndex.from_tuples(table.columns, names=["direction", "loops"])
    return table


def highlight_printed(table: pd.DataFrame):
    """Style `convention_table`: mark the values that agree with the paper to four digits."""

    def style(row: pd.Series) -> list[str]:
        target = f"{row[('paper', '')]:.4f}"
        mark = "background-color: #0072b2; color: white"
        return [mark if f"{v:.4f}" == target and k[0] != "paper" else "" for k, v in row.items()]

    styled = table.style.apply(style, axis=1).format(precision=4)
    # Without a fixed identifier pandas draws a random one, and the output changes at every run.
    return styled.set_uuid("acm").set_table_attributes('class="dataframe"')
