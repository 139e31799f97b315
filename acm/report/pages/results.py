"""Measure how much selection by test accuracy raises a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import hypergeom

from acm.data import random_split
from acm.errors import UsageError, check_whole
from acm.experiments import Record
from acm.experiments.recipes import in_words
from acm.report.comparison import by_cell


@dataclass(frozen=True)
class Selection:
    """Hold the results of choosing one configuration by its mean accuracy over splits, in percent.

    `same` and `fresh` are means over all ways to divide the splits into two halves. On the first
    half, the configuration with the best test accuracy is chosen.

    Attributes:
        configurations, splits: The numbers of configurations and splits.
        best_test: The test mean of the configuration with the best test accuracy.
        best_val: The test mean of the configuration with the best validation accuracy.
        same: The test mean of the chosen configurations on the half on which they are chosen.
        fresh: The test mean of the same configurations on the other half.
    """

    configurations: int
    splits: int
    best_test: float
    best_val: float
    same: float
    fresh: float

    @property
    def optimism(self) -> float:
        """The optimism of the choice by test accuracy, in points: `same` minus `fresh`."""
        return self.same - self.fresh

    def sentence(self) -> str:
        """Return the result as a sentence."""
        return (
            f"Of {self.configurations} configurations on {self.splits} splits the best by test has"
            f" a test mean of {self.best_test:.2f} %, the best by validation {self.best_val:.2f} %."
            f" A configuration chosen by test on one half of the splits has {self.same:.2f} % on"
            f" this half and {self.fresh:.2f} % on the other half: the choice by itself adds"
            f" {self.optimism:.2f} points."
        )


def selection_optimism(records: Sequence[Record]) -> Selection:
    """Measure by how many points selection by test accuracy overstates the result.

    Args:
        records: The records of two or more cells, all on the same two or more splits.

    Raises:
        UsageError: If there are fewer cells or splits, or if the cells have different splits.
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
    columns = range(test.shape[1])
    for half in combinations(columns, len(columns) // 2):
        other_half = [k for k in columns if k not in half]
        best = test[:, half].mean(1).argmax()
        same.append(test[best, half].mean())
        fresh.append(test[best, other_half].mean())
    return Selection(
        *test.shape,
        best_test=test.mean(1).max(),
        best_val=test.mean(1)[val.mean(1).argmax()],
        same=np.mean(same),
        fresh=np.mean(fresh),
    )


@dataclass(frozen=True)
class ChosenByTest:
    """Hold the best of many configurations by test accuracy, each measured on different splits.

    Attributes:
        configurations, splits: The number of configurations, and of splits per configuration.
        best: The test mean of the best configuration by test accuracy, in percent.
        std: The standard deviation of this test accuracy over the splits, in points.
        hyperparameters: The hyperparameters of this configuration.
        by_validation: The test mean of the best configuration by validation, in percent.
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
        """Return the result as a sentence."""
        return (
            f"Of {self.configurations} configurations, each on {self.splits} separate splits, the"
            f" best by test ({in_words(self.hyperparameters)}) has {self.best:.2f} ±"
            f" {self.std:.2f} %, the best by validation {self.by_validation:.2f} %, and half"
            f" of them have less than {self.typical:.2f} %."
        )


def chosen_by_test(records: Sequence[Record]) -> ChosenByTest:
    """Choose the best configuration by test accuracy, each measured on separate splits.

    Args:
        records: The records of two or more cells, each on the same number of splits.

    Raises:
        UsageError: If there are fewer cells, single splits, or different numbers of splits.
    """
    cells = by_cell(records)
    counts = {len(cell) for cell in cells}
    if len(cells) < 2 or len(counts) != 1 or counts == {1}:
        raise UsageError(
            f"{len(cells)} configurations with {sorted(counts)} splits: two or more configurations,"
            " each on the same number of splits, at least two, are needed"
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
    """Return test accuracies in percent and validation accuracies, `[configurations, splits]`."""
    test = 100 * np.array([[r.test_accuracy for r in cell] for cell in cells])
    return test, np.array([[r.val_accuracy for r in cell] for cell in cells])


#: A printed number is rounded by at most this many points.
_ROUNDED = 0.005


@dataclass(frozen=True)
class MajorityBaseline:
    """Hold the distribution of the mean test accuracy of predicting the majority class.

    The distribution depends on the random splits alone. `random_split` fixes how many nodes of each
    class are not used for training, and shuffles these nodes. The number of test nodes of the
    majority class is therefore hypergeometric.

    Attributes:
        splits: The number of splits that the accuracy is averaged over.
        accuracy: The possible values of the mean, in percent, ascending.
        probability: The probability of each value.
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
        """Return the probability that random splits give at least this accuracy, in percent."""
        return float(self.probability[self.accuracy >= accuracy - _ROUNDED].sum())

    def best_of(self, draws: int) -> float:
        """Return the expected accuracy of the best of several draws of the splits, in percent."""
        check_whole("draws", draws, 1)
        below = np.cumsum(self.probability) ** draws
        return float(self.accuracy @ np.diff(below, prepend=0))

    def sentence(self, accuracy: float, draws: int) -> str:
        """Return in words how likely random splits give a published accuracy."""
        return (
            f"Predicting the majority class has {self.mean:.2f} % on average, and the mean over"
            f" {self.splits} splits has a standard deviation of {self.std:.2f} points. It has"
            f" {accuracy:.2f} % or more with probability {self.reached(accuracy):.4f}. The best of"
            f" {draws} draws of {self.splits} splits has {self.best_of(draws):.2f} % on average."
        )


def majority_baseline(y: Sequence[int], splits: int = 10) -> MajorityBaseline:
    """Return the accuracy distribution of the majority class over random splits.

    Args:
        y: Labels, `[N]`.
        splits: The number of random splits that the accuracy is averaged over.

    Raises:
        UsageError: If `random_split` refuses the labels, or if `splits` is not positive.
    """
    check_whole("splits", splits, 1)
    y = np.asarray(y)
    split = random_split(y, 0)  # the class counts of the training nodes are the same for all seeds
    not_trained = np.bincount(y[~split.train.numpy()])
    tested = int(split.test.sum())
    one_split = hypergeom(not_trained.sum(), not_trained.max(), tested).pmf(np.arange(tested + 1))
    probability = np.ones(1)
    for _ in range(splits):
        probability = np.convolve(probability, one_split)
    return MajorityBaseline(
        splits, 100 * np.arange(probability.size) / (splits * tested), probability
    )
