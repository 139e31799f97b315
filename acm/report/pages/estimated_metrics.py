"""Estimate the metrics of Table 7 from the labels of some nodes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import pandas as pd
import torch
from torch import Tensor

from acm.data import load, random_split
from acm.metrics import estimates
from acm.paper import PrintedValue, printed

#: The rows of Table 7.
ROWS = ("H_agg", "S_agg(S(Â,X))", "S_agg(S(I,X))", "DD")

#: Ways to estimate from training labels: whether nodes are drawn class by class, as in the paper's
#: training splits, and which labels are aggregated in H_agg.
WAYS = {
    "60 % of all nodes, every label aggregated": (False, "all"),
    "60 % of all nodes, known labels aggregated": (False, "known"),
    "60 % class by class, every label aggregated": (True, "all"),
}


def uniform_mask(num_nodes: int, seed: int, share: float = 0.6) -> Tensor:
    """Draw a mask of `round(share * num_nodes)` nodes, independent of their class, `[N]`."""
    order = torch.randperm(num_nodes, generator=torch.Generator().manual_seed(seed))
    mask = torch.zeros(num_nodes, dtype=torch.bool)
    mask[order[: round(share * num_nodes)]] = True
    return mask


def standard_errors(paper: PrintedValue, values: Sequence[float]) -> float:
    """Return the mean of two or more draws minus the paper's, in standard errors of the difference.

    The standard deviation of the draws is the larger of ours and the paper's, because ten draws
    determine a standard deviation only roughly.
    """
    std = max(paper.std, statistics.stdev(values))
    error = std * math.sqrt(1 / len(values) + 0.1)  # the paper has ten draws
    return (statistics.fmean(values) - paper.mean) / error


def estimates_table(
    names: Sequence[str], way: str, seeds: Sequence[int] = range(10)
) -> pd.DataFrame:
    """Estimate the second half of Table 7 in one of the `WAYS`, with one draw per seed."""
    by_class, labels = WAYS[way]
    lines = []
    for name in names:
        data = load(name)
        masks = [
            random_split(data.y, seed).train if by_class else uniform_mask(data.num_nodes, seed)
            for seed in seeds
        ]
        scores = estimates(data.x, data.edge_index, data.y, masks, neighbor_labels=labels)
        for row in ROWS:
            # In S_agg a tie counts as a failure, as in the first half of the table.
            fail = row.startswith("S_agg")
            values = [s[row].interval[0] if fail else float(s[row]) for s in scores]
            paper = printed("metrics_estimated", row=row, dataset=name)
            ours = f"{statistics.fmean(values):.4f} ± {statistics.stdev(values):.4f}"
            lines.append((name, row, paper.shown, ours, standard_errors(paper, values)))
    columns = ["graph", "statistic", "paper", "ours", "standard errors"]
    return pd.DataFrame(lines, columns=columns).set_index(["graph", "statistic"])
