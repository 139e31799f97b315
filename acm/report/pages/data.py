"""The paper's statistics rebuilt: which convention gives which printed number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from acm.data import describe, load, random_split
from acm.metrics import (
    Score,
    aggregation_homophily,
    aggregation_similarity,
    all_metrics,
    class_homophily,
    diversification_distinguishability,
    edge_homophily,
    estimates,
    node_homophily,
)
from acm.paper import PrintedValue, printed
from acm.report.numbers import SignedTable, signed

#: The six graphs whose H_edge, H_node and H_class were computed on the directed edges.
DIRECTED = ("cornell", "wisconsin", "texas", "film", "chameleon", "squirrel")

COUNTING: dict[str, Callable[..., float]] = {
    "H_edge": edge_homophily,
    "H_node": node_homophily,
    "H_class": class_homophily,
}

#: The rows of Table 7, as (features, edges, labels, …) -> Score, by the paper's conventions.
SIMILARITY: dict[str, Callable[..., Score]] = {
    "H_agg": lambda x, edge_index, y, **options: aggregation_homophily(edge_index, y, **options),
    "S_agg(S(Â,X))": partial(aggregation_similarity, normalize_features=True, ties=">"),
    "S_agg(S(I,X))": partial(
        aggregation_similarity, filter="identity", normalize_features=True, ties=">"
    ),
    "DD": partial(diversification_distinguishability, normalize_features=True),
}


@dataclass(frozen=True)
class Rebuilt:
    """A printed statistic beside ours.

    Attributes:
        paper_value: The paper's cell.
        value: Ours, under the named convention.
        interval: What ties leave open: the value if they count as failures, and as successes.
        convention: How the graph was looked at.
    """

    paper_value: PrintedValue
    value: float
    interval: tuple[float, float]
    convention: str

    @property
    def verdict(self) -> str:
        """`"exact"` to the printed digits, `"among the ties"`, or by how much it is off."""
        if f"{self.value:.4f}" == f"{self.paper_value.mean:.4f}":
            return "exact"
        low, high = self.interval
        # Half a unit of the last digit that is printed, on either side.
        if low - 5e-5 <= self.paper_value.mean <= high + 5e-5:
            return "among the ties"
        return f"off by {signed(self.value - self.paper_value.mean, 4)}"


def unlabelled(data: Data) -> Tensor:
    """Mask of the nodes that came without features and label (15 of CiteSeer), `[N]`."""
    if data.name != "citeseer":
        return torch.zeros(data.num_nodes, dtype=torch.bool)
    return (data.x.to_dense() == 0).all(1)


def rebuild(name: str) -> list[Rebuilt]:
    """Every statistic that Tables 3 and 7 print of one graph, under the convention that gives it.

    Args:
        name: One of `acm.data.PAPER_DATASETS`.

    Raises:
        UsageError: Another name, or the raw files cannot be had.
    """
    data = load(name)
    found = [_counted(name, row) for row in COUNTING]
    rows = SIMILARITY if name != "deezer-europe" else {"H_agg": SIMILARITY["H_agg"]}
    for row, metric in rows.items():
        strict = ">" if name == "film" and row == "H_agg" else None
        score = metric(data.x, data.edge_index, data.y, **({"ties": strict} if strict else {}))
        text = "loops kept"
        if row != "H_agg":
            text += ", rows of X normalised"
        if len(set(score.interval)) > 1:
            text += f", ties {'fail' if score == score.interval[0] else 'count'}"
        if row == "H_agg":
            # The paper's arithmetic: 2 H - 1 of the rounded H.
            modified = [2 * round(float(v), 4) - 1 for v in (score, *score.interval)]
            cell = printed("statistics", row="H_agg^M", dataset=name)
            place = f"{text}, from the rounded H_agg"
            found.append(Rebuilt(cell, modified[0], tuple(modified[1:]), place))
        if name != "deezer-europe":
            cell = printed("metrics", row=row, dataset=name)
            found.append(Rebuilt(cell, float(score), score.interval, text))
    return found


def _counted(name: str, row: str) -> Rebuilt:
    """H_edge, H_node or H_class as Table 3 prints it."""
    directed = name in DIRECTED
    data = load(name, directed=directed)
    y, text = data.y, "undirected, no loops"
    options = {"direction": "undirected", "loops": "remove"}
    if directed:
        added = row == "H_edge"
        options = {"direction": "out", "loops": "add" if added else "remove"}
        text = f"directed, {'a loop at every node' if added else 'no loops'}"
    if name == "citeseer":
        y = torch.where(unlabelled(data), y.max(), y)
        text += ", unlabelled: last class"
    value = COUNTING[row](data.edge_index, y, **options)
    return Rebuilt(printed("statistics", row=row, dataset=name), value, (value, value), text)


def statistics_table(names: Sequence[str]) -> pd.DataFrame:
    """`rebuild` of several graphs as a table: a row for each printed number."""
    table = pd.DataFrame(
        [
            {
                "graph": cell.paper_value.dataset,
                "statistic": cell.paper_value.name,
                "paper": cell.paper_value.mean,
                "ours": cell.value,
                "if ties fail": cell.interval[0],
                "if ties count": cell.interval[1],
                "convention": cell.convention,
                "verdict": cell.verdict,
            }
            for name in names
            for cell in rebuild(name)
        ]
    )
    return table.set_index(["graph", "statistic"])


def convention_table(names: Sequence[str]) -> pd.DataFrame:
    """H_edge, H_node, H_class under six conventions, beside what Table 3 prints.

    Returns:
        A row for each graph and statistic; the columns are the printed value and those of direction
        and loops. CiteSeer's unlabelled nodes are in the last class, as in the printed numbers.
    """
    rows = {}
    for name in names:
        given, both = load(name, directed=True), load(name)
        y = torch.where(unlabelled(given), given.y.max(), given.y)
        for row, metric in COUNTING.items():
            values = {("paper", ""): printed("statistics", row=row, dataset=name).mean}
            for direction in ("undirected", "out"):
                graph = both if direction == "undirected" else given
                for loops in ("remove", "keep", "add"):
                    values[direction, loops] = metric(
                        graph.edge_index, y, direction=direction, loops=loops
                    )
            rows[name, row] = values
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = table.index.set_names(["graph", "statistic"])
    table.columns = pd.MultiIndex.from_tuples(table.columns, names=["direction", "loops"])
    return table


def highlight_printed(table: pd.DataFrame):
    """`convention_table` styled: the cells that agree with the paper to four digits stand out."""

    def style(row: pd.Series) -> list[str]:
        printed = f"{row[('paper', '')]:.4f}"
        mark = "background-color: #0072b2; color: white"
        return [mark if f"{v:.4f}" == printed and k[0] != "paper" else "" for k, v in row.items()]

    styled = table.style.apply(style, axis=1).format(precision=4)
    # Without a name of its own it draws a random one, and no two executions agree.
    return styled.set_uuid("acm").set_table_attributes('class="dataframe"')


def graph_table(names: Sequence[str]) -> pd.DataFrame:
    """What `acm.data.describe` counts, a row a graph."""
    rows = {}
    for summary in map(describe, names):
        rows[summary.name] = {
            "nodes": summary.nodes,
            "edges": summary.undirected_edges,
            "loops": summary.loops,
            "isolated": summary.isolated_nodes,
            "features": summary.features,
            "all-zero rows": summary.zero_rows,
            "class sizes": ", ".join(map(str, summary.class_counts)),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def metrics_table(names: Sequence[str]) -> pd.DataFrame:
    """`acm.metrics.all_metrics` of several graphs as loaded, a column a graph."""
    found = {}
    for name in names:
        data = load(name)
        found[name] = all_metrics(data.x, data.edge_index, data.y)
    return pd.DataFrame(found).astype(float)


def own_label_table(names: Sequence[str]) -> pd.DataFrame:
    """H_agg with the identity added to `A`, as the paper has it, and without any loop.

    Returns:
        A row a graph; beside the two the share of the largest class.
    """
    rows = {}
    for name in names:
        data = load(name)
        rows[name] = {
            "with the node itself": aggregation_homophily(data.edge_index, data.y),
            "neighbours alone": aggregation_homophily(
                data.edge_index, data.y, renormalize=False, loops="remove"
            ),
            "largest class": float(data.y.bincount().max() / data.num_nodes),
        }
    return pd.DataFrame.from_dict(rows, orient="index").astype(float)


def uniform_mask(num_nodes: int, seed: int, share: float = 0.6) -> Tensor:
    """A mask of `round(share * num_nodes)` nodes, all nodes alike, `[N]`."""
    order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed))
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[order[: round(share * num_nodes)]] = True
    return mask


@dataclass(frozen=True)
class Estimate:
    """A statistic estimated from the labels of some nodes, over several draws of them.

    Attributes:
        paper_value: The paper's mean and standard deviation over ten draws.
        values: Ours, one a draw.
    """

    paper_value: PrintedValue
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean over the draws."""
        return statistics.fmean(self.values)

    @property
    def std(self) -> float:
        """Standard deviation of a sample; NaN of a single draw."""
        return statistics.stdev(self.values) if len(self.values) > 1 else math.nan

    @property
    def standard_errors(self) -> float:
        """How far our mean is from the paper's, in standard errors of the difference of the two.

        The spread of both is taken to be the larger one: ten draws know it only roughly.
        """
        known = not math.isnan(self.std)
        spread = max(self.std, self.paper_value.std) if known else self.paper_value.std
        return (self.mean - self.paper_value.mean) / (
            spread * math.sqrt(1 / len(self.values) + 0.1)
        )


#: Ways to estimate from training labels: whether nodes are drawn class by class, and which labels
#: the aggregated labels of H_agg see.
WAYS = {
    "60 % of all nodes, every label aggregated": (False, "all"),
    "60 % of all nodes, known labels aggregated": (False, "known"),
    "60 % class by class, every label aggregated": (True, "all"),
}


def estimate(name: str, way: str, seeds: Sequence[int] = range(10)) -> list[Estimate]:
    """The second half of Table 7 for one graph, estimated in one of `WAYS`.

    Args:
        name: One of the nine graphs of Table 7.
        way: A key of `WAYS`. Class by class is the rule of the paper's training splits.
        seeds: One a draw.
    """
    data = load(name)
    by_class, labels = WAYS[way]
    masks = [
        random_split(data.y, seed).train if by_class else uniform_mask(data.num_nodes, seed)
        for seed in seeds
    ]
    scores = estimates(data.x, data.edge_index, data.y, masks, neighbor_labels=labels)
    return [
        Estimate(
            printed("metrics_estimated", row=row, dataset=name),
            # Ties as in the first half of the table.
            tuple(s[row].interval[0] if row.startswith("S_agg") else float(s[row]) for s in scores),
        )
        for row in SIMILARITY
    ]


def estimates_table(names: Sequence[str], way: str) -> pd.DataFrame:
    """`estimate` of several graphs as a table."""
    table = pd.DataFrame(
        [
            {
                "graph": e.paper_value.dataset,
                "statistic": e.paper_value.name,
                "paper": e.paper_value.shown,
                "ours": f"{e.mean:.4f}" + ("" if math.isnan(e.std) else f" ± {e.std:.4f}"),
                "standard errors": e.standard_errors,
            }
            for name in names
            for e in estimate(name, way)
        ]
    )
    return SignedTable.of(table.set_index(["graph", "statistic"]), {"standard errors": 1})
