"""Measure how much selection by test accuracy raises a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import hypergeom

from acm.data import random_split
from acm.data.names import check_whole
from acm.errors import UsageError
from acm.experiments import Record
from acm.experiments.recipes import in_words
from acm.report.comparison import by_cell


@dataclass(frozen=True)
class Selection:
    """A configuration chosen from many by its mean accuracy over some splits.

    All values in percent; "test" and "val" say by which accuracy the configuration was chosen.

    Attributes:
        configurations, splits: How many there were.
        best_test: Test mean of the configuration chosen by test, over the splits it was chosen on.
        best_val: Test mean of the one chosen by validation, over the same splits.
        same: Mean, over all ways to halve the splits, of the test mean of the configuration that is
            best by test on the one half, there.
        fresh: The same configurations' test mean on the other half.
    """

    configurations: int
    splits: int
    best_test: float
    best_val: float
    same: float
    fresh: float

    @property
    def optimism(self) -> float:
        """By how many points the choice by test flatters: `same` less `fresh`."""
        return self.same - self.fresh

    def sentence(self) -> str:
        """State the finding in words."""
        return (
            f"Of {self.configurations} configurations on {self.splits} splits the best by test has"
            f" a test mean of {self.best_test:.2f} %, the best by validation {self.best_val:.2f} %."
            f" Chosen by test on one half of the splits, a configuration has {self.same:.2f} %"
            f" there and {self.fresh:.2f} % on the other half: the choice by itself adds"
            f" {self.optimism:.2f} points."
        )


def selection_optimism(records: Sequence[Record]) -> Selection:
    """Measure by how many points the choice by test accuracy overstates the chosen configuration.

    Args:
        records: Several cells, each on the same splits (two at least).

    Raises:
        UsageError: If there are fewer than two cells or splits, or they have different splits.
    """
    cells = [sorted(cell, key=lambda r: r.split) for cell in by_cell(records)]
    splits = {tuple(r.split for r in cell) for cell in cells}
    if len(cells) < 2 or len(splits) != 1 or len(cells[0]) < 2:
        raise UsageError(
            f"{len(cells)} cells on {len(splits)} sets of splits: two or more cells, all on the"
            " same two or more splits are needed"
        )
    test, val = _accuracies(cells)
    same, fresh = [], []
    everything = range(test.shape[1])
    for half in combinations(everything, test.shape[1] // 2):
        rest = [k for k in everything if k not in half]
        best = test[:, half].mean(1).argmax()
        same.append(test[best, half].mean())
        fresh.append(test[best, rest].mean())
    return Selection(
        *test.shape,
        best_test=test.mean(1).max(),
        best_val=test.mean(1)[val.mean(1).argmax()],
        same=np.mean(same),
        fresh=np.mean(fresh),
    )


@dataclass(frozen=True)
class ChosenByTest:
    """The best of many configurations by test, where each has splits of its own.

    Attributes:
        configurations, splits: How many there are, and how many splits each has.
        best: Test mean of the best, in percent.
        std: Its standard deviation over its splits, in points.
        hyperparameters: What it is.
        by_validation: Test mean of the best by validation on its own splits, in percent.
        typical: The median of all test means, in percent.
    """

    configurations: int
    splits: int
    best: float
    std: float
    hyperparameters: dict[str, float]
    by_validation: float
    typical: float

    def sentence(self) -> str:
        """State the finding in words."""
        return (
            f"Of {self.configurations} configurations, each on {self.splits} splits of its own, the"
            f" best by test ({in_words(self.hyperparameters)}) has {self.best:.2f} ±"
            f" {self.std:.2f} %, the best by validation {self.by_validation:.2f} %, and half"
            f" of them less than {self.typical:.2f} %."
        )


def chosen_by_test(records: Sequence[Record]) -> ChosenByTest:
    """Choose the best configuration by test accuracy, each measured on separate splits.

    Args:
        records: Two cells or more, each on as many splits.

    Raises:
        UsageError: If there are fewer, or single splits, or not as many of each.
    """
    cells = by_cell(records)
    counts = {len(cell) for cell in cells}
    if len(cells) < 2 or len(counts) != 1 or counts == {1}:
        raise UsageError(
            f"{len(cells)} configurations with {sorted(counts)} splits: two or more configurations,"
            " each on as many splits, two at least, are needed"
        )
    test, val = _accuracies(cells)
    best = int(test.mean(1).argmax())
    first = cells[best][0]
    return ChosenByTest(
        *test.shape,
        best=test[best].mean(),
        std=test[best].std(ddof=1),
        hyperparameters={n: getattr(first, n) for n in ("lr", "weight_decay", "dropout")},
        by_validation=test[val.mean(1).argmax()].mean(),
        typical=float(np.median(test.mean(1))),
    )


def _accuracies(cells: Sequence[Sequence[Record]]) -> tuple[np.ndarray, np.ndarray]:
    """By test, in percent, and by validation; each `[configurations, splits]`."""
    test = 100 * np.array([[r.test_accuracy for r in cell] for cell in cells])
    return test, np.array([[r.val_accuracy for r in cell] for cell in cells])


#: A printed number is off by at most so many points.
_ROUNDED = 0.005


@dataclass(frozen=True)
class MajorityBaseline:
    """The mean test accuracy, over some random splits, of always saying the same class.

    No weight and no hyperparameter has a part in it: it is a property of the splits, and its
    distribution is known exactly (hypergeometric: the rule of `random_split` decides how many
    nodes of each class are left to validation and test, and those are shuffled).

    Attributes:
        splits: Over how many splits.
        accuracy: The values that the mean can take, in percent, ascending.
        probability: How likely each is.
    """

    splits: int
    accuracy: np.ndarray
    probability: np.ndarray

    @property
    def mean(self) -> float:
        """The expected accuracy, in percent."""
        return float(self.accuracy @ self.probability)

    @property
    def std(self) -> float:
        """The standard deviation of the mean over the splits, in points."""
        return float(np.sqrt((self.accuracy - self.mean) ** 2 @ self.probability))

    def reached(self, accuracy: float) -> float:
        """The probability that a draw of splits gives at least so many percent."""
        return float(self.probability[self.accuracy >= accuracy - _ROUNDED].sum())

    def best_of(self, draws: int) -> float:
        """The expected accuracy, in percent, of the luckiest of so many draws of splits."""
        check_whole("draws", draws, 1)
        below = np.cumsum(self.probability) ** draws
        return float(self.accuracy @ np.diff(below, prepend=0))

    def sentence(self, accuracy: float, draws: int) -> str:
        """What a published accuracy says of its splits, in words."""
        return (
            f"Always saying the most frequent class scores {self.mean:.2f} % on average, and the"
            f" mean over {self.splits} splits has a standard deviation of {self.std:.2f} points."
            f" Splits on which it scores {accuracy:.2f} % or more come up with probability"
            f" {self.reached(accuracy):.4f}. The luckiest of {draws} draws of {self.splits} splits"
            f" scores {self.best_of(draws):.2f} % on average."
        )


def majority_baseline(y: Sequence[int], splits: int = 10) -> MajorityBaseline:
    """Return the accuracy distribution of the majority class over random splits.

    Args:
        y: Labels, `[N]`.
        splits: Over how many random splits the accuracy is averaged.

    Raises:
        UsageError: As `random_split`; or if `splits` is not positive.
    """
    check_whole("splits", splits, 1)
    y = np.asarray(y)
    split = random_split(y, 0)  # how many nodes of each class it trains on is the same for all
    left = np.bincount(y[~split.train.numpy()])
    tested = int(split.test.sum())
    once = hypergeom(left.sum(), left.max(), tested).pmf(np.arange(tested + 1))
    many = np.ones(1)
    for _ in range(splits):
        many = np.convolve(many, once)
    return MajorityBaseline(splits, 100 * np.arange(many.size) / (splits * tested), many)
