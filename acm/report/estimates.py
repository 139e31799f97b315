"""The second half of Table 7: statistics estimated from the labels of some nodes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from acm.data import load, random_split
from acm.metrics import estimates
from acm.paper import Published, published
from acm.report.metrics import SIMILARITY
from acm.report.numbers import SignedTable


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
        published: The paper's mean and standard deviation over ten draws.
        values: Ours, one a draw.
    """

    published: Published
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
        spread = max(self.std, self.published.std) if known else self.published.std
        return (self.mean - self.published.mean) / (spread * math.sqrt(1 / len(self.values) + 0.1))


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
            published("metrics_estimated", row=row, dataset=name),
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
                "graph": e.published.dataset,
                "statistic": e.published.name,
                "paper": e.published.shown,
                "ours": f"{e.mean:.4f}" + ("" if math.isnan(e.std) else f" ± {e.std:.4f}"),
                "standard errors": e.standard_errors,
            }
            for name in names
            for e in estimate(name, way)
        ]
    )
    return SignedTable.of(table.set_index(["graph", "statistic"]), {"standard errors": 1})
