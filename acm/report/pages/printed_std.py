"""Find the ± of Table 3 that are too small to be standard deviations over splits."""

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

#: A ± is called too small if its `probability` is below this value.
RARE = 1e-3


def chance_std(y: Tensor, split: Split, share: float) -> float:
    """Return the standard deviation of test accuracy that the choice of test nodes alone causes.

    The model is right on each node with probability `share`, independent of class and split. A
    split has a fixed number of training nodes of each class, so the probability to be a test node
    depends on the class. `split` is any split of the scheme. The result is the
    square root of the expected variance.
    """
    sizes = np.bincount(y)
    untrained = np.bincount(y[~split.train], minlength=len(sizes))
    tested = int(split.test.sum())
    # The probability that a node is a test node, for each class.
    p = tested / untrained.sum() * untrained / np.maximum(sizes, 1)
    return math.sqrt(share * (1 - share) * (sizes * p * (1 - p)).sum()) / tested


def probability(std: float, chance: float, splits: int) -> float:
    """Return the probability that `splits` accuracies have a standard deviation of at most `std`.

    The accuracies are normal with standard deviation `chance`. As in the paper, the divisor of
    `std` is the number of splits.
    """
    return float(chi2.cdf(splits * (std / chance) ** 2, splits - 1))


def printed_stds(datasets: Iterable[str] = PAPER_DATASETS) -> pd.DataFrame:
    """Return every ± of Table 3 on these graphs, sorted by `probability`.

    The column `chance` is `chance_std` at the cell's mean, in points. The column `interval` says
    whether we read the ± as half a confidence interval.
    """
    labels = {name: load(name).y for name in datasets}
    lines = []
    for (model, dataset), cell in PRINTED.items():
        if dataset in labels and cell.std:
            y = labels[dataset]
            split = split_of(dataset, cell.split_scheme, 0, y)
            chance = 100 * chance_std(y, split, cell.mean / 100)
            p = probability(cell.std, chance, cell.splits)
            lines.append((model, dataset, cell.std, chance, p, cell.interval))
    columns = ["model", "graph", "std", "chance", "probability", "interval"]
    return pd.DataFrame(lines, columns=columns).sort_values("probability", ignore_index=True)


def printed_std_table(stds: pd.DataFrame) -> pd.DataFrame:
    """Count for each model the cells, the ± that are too small, and the ± read as intervals."""
    flags = stds.assign(cells=1, small=stds["probability"] < RARE)
    table = flags.groupby("model")[["cells", "small", "interval"]].sum()
    table.columns = ["cells", "± too small", "± read as an interval"]
    return table[table["± too small"] > 0].sort_index(key=lambda names: names.map(ROWS.index))


def printed_std_sentence(stds: pd.DataFrame) -> str:
    """Say how many ± are too small to be standard deviations over splits."""
    small, others = stds[stds["probability"] < RARE], stds[~stds["interval"]]
    first = others.iloc[0]
    by_chance = 1 - (1 - first["probability"]) ** len(others)
    return (
        f"{len(small)} of {len(stds)} ± are so small that splits give them with a probability below"
        f" 1/{1 / RARE:,.0f}. We read {small['interval'].sum()} of these {len(small)} ± as half"
        f" intervals. We read {len(others)} ± as standard deviations. The least likely of the"
        f" {len(others)} is that of {first['model']} on {first['graph']}: it is {first['std']:g},"
        f" and the choice of test nodes alone gives {first['chance']:.2f} (probability"
        f" {first['probability']:.4f}). The probability that at least one of {len(others)} ± is so"
        f" unlikely is at most {by_chance:.2f}."
    )
