"""Estimate the metrics of Table 7 from the labels of some nodes."""

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
from acm.paper import PrintedValue, printed
from acm.report.numbers import SignedTable

#: The rows of Table 7.
ROWS = ("H_agg", "S_agg(S(Â,X))", "S_agg(S(I,X))", "DD")


def uniform_mask(num_nodes: int, seed: int, share: float = 0.6) -> Tensor:
    """Draw a mask of `round(share * num_nodes)` nodes, independent of their class, `[N]`."""
    order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed))
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[order[: round(share * num_nodes)]] = True
    return mask


@dataclass(frozen=True)
class Estimate:
    """Hold a statistic that is estimated from the labels of some nodes, over several draws.

    Attributes:
        paper_value: The paper's mean and standard deviation over ten draws.
        values: Our values, one per draw.
    """

    paper_value: PrintedValue
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over the draws."""
        return statistics.fmean(self.values)

    @property
    def std(self) -> float:
        """The sample standard deviation; NaN for a single draw."""
        return statistics.stdev(self.values) if len(self.values) > 1 else math.nan

    @property
    def standard_errors(self) -> float:
        """Our mean minus the paper's, in standard errors of this difference.

        Both samples are given the larger of the two standard deviations, because ten draws
        determine a standard deviation only roughly.
        """
        # In this order `max` ignores a NaN of ours.
        spread = max(self.paper_value.std, self.std)
        error = spread * math.sqrt(1 / len(self.values) + 0.1)
        return (self.mean - self.paper_value.mean) / error


#: Ways to estimate from training labels: whether nodes are drawn class by class, and which labels
#: are aggregated in H_agg.
WAYS = {
    "60 % of all nodes, every label aggregated": (False, "all"),
    "60 % of all nodes, known labels aggregated": (False, "known"),
    "60 % class by class, every label aggregated": (True, "all"),
}


def estimate(name: str, way: str, seeds: Sequence[int] = range(10)) -> list[Estimate]:
    """Estimate the second half of Table 7 for one graph.

    Args:
        name: One of the nine graphs of Table 7.
        way: A key of `WAYS`. The paper draws its training splits class by class.
        seeds: The seeds of the draws.
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
            # In S_agg a tie counts as a failure, as in the first half of the table.
            tuple(s[row].interval[0] if row.startswith("S_agg") else float(s[row]) for s in scores),
        )
        for row in ROWS
    ]


def estimates_table(names: Sequence[str], way: str) -> pd.DataFrame:
    """Return `estimate` of several graphs as a table."""
    rows = [
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
    table = pd.DataFrame(rows).set_index(["graph", "statistic"])
    return SignedTable.of(table, {"standard errors": 1})
