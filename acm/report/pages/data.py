"""Recompute the paper's graph statistics and estimates, and find the convention behind each."""

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


#: Ways to estimate from training labels: whether nodes are drawn class by class, as in the paper's
#: training splits, and which labels are aggregated in H_agg.
WAYS = {
    "60 % of all nodes, every label aggregated": (False, "all"),
    "60 % of all nodes, known labels aggregated": (False, "known"),
    "60 % class by class, every label aggregated": (True, "all"),
}


def uniform_mask(num_nodes: int, seed: int) -> Tensor:
    """Draw a mask of 60 % of the nodes, independent of their class, `[N]`."""
    order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed))
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[order[: round(0.6 * num_nodes)]] = True
    return mask


def standard_errors(paper: PrintedValue, values: Sequence[float]) -> float:
    """Return the mean of two or more draws minus the paper's, in standard errors of the difference.

    The standard deviation of the draws is the larger of ours and the paper's, because ten draws
    determine a standard deviation only roughly.
    """
    std = max(paper.std, statistics.stdev(values))
    error = std * math.sqrt(1 / len(values) + 0.1)  # the paper has ten draws
    return (statistics.fmean(values) - paper.mean) / error


def estimates_table(names: Sequence[str], way: str) -> pd.DataFrame:
    """Estimate the second half of Table 7 in one of the `WAYS`, over ten draws as in the paper."""
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
