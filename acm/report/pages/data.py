"""Recompute the statistics of Tables 3 and 7, and find the conventions behind them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from acm.data import load, random_split
from acm.metrics import (
    Score,
    aggregation_homophily,
    aggregation_similarity,
    class_homophily,
    diversification_distinguishability,
    edge_homophily,
    estimates,
    node_homophily,
)
from acm.paper import PrintedValue, printed
from acm.report.comparison import signed

#: The paper computed H_edge, H_node and H_class of these six graphs on directed edges.
DIRECTED = ("cornell", "wisconsin", "texas", "film", "chameleon", "squirrel")

#: The metrics in Table 3 that count edges.
COUNTING: dict[str, Callable[..., float]] = {
    "H_edge": edge_homophily,
    "H_node": node_homophily,
    "H_class": class_homophily,
}

#: The metric of each row of Table 7 with the paper's conventions: (x, edge_index, y, …) -> Score.
SIMILARITY: dict[str, Callable[..., Score]] = {
    "H_agg": lambda x, edge_index, y, **options: aggregation_homophily(edge_index, y, **options),
    "S_agg(S(Â,X))": partial(aggregation_similarity, normalize_features=True, ties=">"),
    "S_agg(S(I,X))": partial(
        aggregation_similarity, filter="identity", normalize_features=True, ties=">"
    ),
    "DD": partial(diversification_distinguishability, normalize_features=True),
}


def verdict(paper: float, ours: float, low: float, high: float) -> str:
    """Return `"exact"` if our value agrees with the paper's to four digits, or the difference.

    Return `"between tie bounds"` if the paper's value lies between `low` (no tie counts) and `high`
    (all ties count).
    """
    if f"{ours:.4f}" == f"{paper:.4f}":
        return "exact"
    # Rounding changes the printed number by at most half a unit of its fourth digit.
    if low - 5e-5 <= paper <= high + 5e-5:
        return "between tie bounds"
    return f"off by {signed(ours - paper, 4)}"


def unlabeled(data: Data) -> Tensor:
    """Return a mask `[N]` of nodes without features and label: 15 in CiteSeer, 0 elsewhere."""
    if data.name != "citeseer":
        return torch.zeros(data.num_nodes, dtype=torch.bool)
    return (data.x.to_dense() == 0).all(1)


def _printed_labels(data: Data) -> Tensor:
    """Return the labels that give the printed numbers: unlabeled nodes get the last class."""
    return torch.where(unlabeled(data), data.y.max(), data.y)


def statistics_table(names: Sequence[str]) -> pd.DataFrame:
    """Recompute the statistics of these graphs in Tables 3 and 7, one row per printed number.

    The columns "if ties fail" and "if ties count" have our value without and with all tied nodes.
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
    """Yield (row, value, tie interval, convention) for each printed statistic of a graph."""
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
        # Table 7 omits Deezer-Europe, but Table 3 prints its H_agg^M, which follows from H_agg.
        if name == "deezer-europe" and row != "H_agg":
            continue
        options = {"ties": ">"} if name == "film" and row == "H_agg" else {}
        score = metric(data.x, data.edge_index, data.y, **options)
        convention = "loops kept" + ("" if row == "H_agg" else ", rows of X normalized")
        if len(set(score.interval)) > 1:
            convention += f", ties {'fail' if score == score.interval[0] else 'count'}"
        if row == "H_agg":
            # The paper computes H_agg^M = 2 H_agg - 1 from H_agg rounded to four digits.
            value, *interval = (2 * round(float(v), 4) - 1 for v in (score, *score.interval))
            yield "H_agg^M", value, tuple(interval), f"{convention}, from the rounded H_agg"
        if name != "deezer-europe":
            yield row, float(score), score.interval, convention


def convention_table(names: Sequence[str]) -> pd.DataFrame:
    """Compute H_edge, H_node and H_class under six conventions, next to the numbers of Table 3.

    Each row is a graph and a statistic. The first column is the printed value. Each other column is
    an edge direction and a treatment of self-loops. Unlabeled nodes are in the last class.
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
    """Highlight the values of `convention_table` that agree with the paper to four digits."""

    def style(row: pd.Series) -> list[str]:
        target = f"{row[('paper', '')]:.4f}"
        mark = "background-color: #0072b2; color: white"
        return [mark if f"{v:.4f}" == target and k[0] != "paper" else "" for k, v in row.items()]

    styled = table.style.apply(style, axis=1).format(precision=4)
    # By default pandas draws a random identifier, so the output would change at every run.
    return styled.set_uuid("acm").set_table_attributes('class="dataframe"')


#: Ways to estimate from training labels. The first value says whether equally many training nodes
#: are drawn from each class (`random_split`). The second value says which labels H_agg aggregates.
WAYS = {
    "60 % of all nodes, every label aggregated": (False, "all"),
    "60 % of all nodes, known labels aggregated": (False, "known"),
    "60 % class by class, every label aggregated": (True, "all"),
}


def uniform_mask(num_nodes: int, seed: int) -> Tensor:
    """Draw a mask `[N]` of 60 % of the nodes, uniformly over all nodes."""
    order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed))
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[order[: round(0.6 * num_nodes)]] = True
    return mask


def standard_errors(paper: PrintedValue, values: Sequence[float]) -> float:
    """Return our mean minus the paper's mean, divided by the standard error of this difference.

    `values` are our draws, at least two. The standard error uses the larger of the two standard
    deviations, because ten draws determine a standard deviation only roughly.
    """
    std = max(paper.std, statistics.stdev(values))
    error = std * math.sqrt(1 / len(values) + 0.1)  # the paper has ten draws
    return (statistics.fmean(values) - paper.mean) / error


def estimates_table(names: Sequence[str], way: str) -> pd.DataFrame:
    """Recompute the second half of Table 7 in one of the `WAYS`, with ten draws as in the paper."""
    by_class, labels = WAYS[way]
    lines = []
    for name in names:
        data = load(name)
        masks = [
            random_split(data.y, seed).train if by_class else uniform_mask(data.num_nodes, seed)
            for seed in range(10)
        ]
        scores = estimates(data.x, data.edge_index, data.y, masks, neighbor_labels=labels)
        for row in SIMILARITY:
            # In S_agg a tie counts as a failure, as in the first half of the table.
            fail = row.startswith("S_agg")
            values = [s[row].interval[0] if fail else float(s[row]) for s in scores]
            paper = printed("metrics_estimated", row=row, dataset=name)
            ours = f"{statistics.fmean(values):.4f} ± {statistics.stdev(values):.4f}"
            lines.append((name, row, paper.shown, ours, standard_errors(paper, values)))
    columns = ["graph", "statistic", "paper", "ours", "standard errors"]
    return pd.DataFrame(lines, columns=columns).set_index(["graph", "statistic"])
