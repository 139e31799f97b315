"""Which ± of Table 3 are too small to be standard deviations over splits."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.stats import chi2
from torch import Tensor

from acm.data import load
from acm.data.names import PAPER_DATASETS
from acm.data.splits import Split
from acm.experiments.trial import split_of
from acm.report.cells import PRINTED, ROWS

#: A ± with a smaller probability than this is hardly a standard deviation over splits.
RARE = 1e-3


def chance_std(y: Tensor, split: Split, share: float) -> float:
    """Return the standard deviation of test accuracy if only the choice of test nodes varies.

    Every node is right with probability `share`, whatever its class and the training. A split
    trains a fixed number of nodes of each class, so the chance to be tested depends on the class.
    `split` is any split of the scheme. The result is the root of the expected variance.
    """
    sizes = np.bincount(y)
    untrained = np.bincount(y[~split.train], minlength=len(sizes))
    tested = int(split.test.sum())
    odds = tested / untrained.sum() * untrained / np.maximum(sizes, 1)  # of a node of each class
    return math.sqrt(share * (1 - share) * (sizes * odds * (1 - odds)).sum()) / tested


def probability(std: float, chance: float, splits: int) -> float:
    """Return how likely chance alone gives a standard deviation this small.

    Accuracies are taken as normal. `std` has the number of splits in the divisor, as the paper's.
    """
    return float(chi2.cdf(splits * (std / chance) ** 2, splits - 1))


def printed_stds(datasets: Iterable[str] = PAPER_DATASETS) -> pd.DataFrame:
    """Return every ± of Table 3 on these graphs, the least likely first.

    `chance` is `chance_std` for the mean of the cell, in points; `interval` says whether the ± is
    taken for half an interval.
    """
    labels = {name: load(name).y for name in datasets}
    lines = []
    for (model, dataset), cell in PRINTED.items():
        if dataset in labels and cell.std:
            y = labels[dataset]
            split = split_of(dataset, cell.split_scheme, 0, y)
            chance = 100 * chance_std(y, split, cell.mean / 100)
            odds = probability(cell.std, chance, cell.splits)
            lines.append((model, dataset, cell.std, chance, odds, cell.interval))
    columns = ["model", "graph", "std", "chance", "probability", "interval"]
    return pd.DataFrame(lines, columns=columns).sort_values("probability", ignore_index=True)


def printed_std_table(stds: pd.DataFrame) -> pd.DataFrame:
    """Return by model how many ± are too small, and how many of these count as intervals."""
    flags = stds.assign(cells=1, small=stds["probability"] < RARE)
    table = flags.groupby("model")[["cells", "small", "interval"]].sum()
    table.columns = ["cells", "± too small", "± taken for an interval"]
    return table[table["± too small"] > 0].sort_index(key=lambda names: names.map(ROWS.index))


def printed_std_sentence(stds: pd.DataFrame) -> str:
    """Say which ± are too small to be standard deviations over splits."""
    small, others = stds[stds["probability"] < RARE], stds[~stds["interval"]]
    first = others.iloc[0]
    by_chance = 1 - (1 - first["probability"]) ** len(others)
    return (
        f"{len(small)} of {len(stds)} ± are smaller than chance alone allows in one of"
        f" {1 / RARE:,.0f} cases. We take {small['interval'].sum()} of these for intervals. Of the"
        f" {len(others)} cells that we do not take for intervals, the least likely ± is that of"
        f" {first['model']} on {first['graph']}: {first['std']:g}, where chance gives"
        f" {first['chance']:.2f} (probability {first['probability']:.4f}). Among so many cells, one"
        f" as unlikely appears with a probability of up to {by_chance:.2f}."
    )
