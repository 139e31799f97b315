"""Measure how much selection by test accuracy raises a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import hypergeom

from acm.data import random_split
from acm.errors import UsageError
from acm.experiments import Record
from acm.experiments.recipes import in_words
from acm.report.comparison import by_cell


@dataclass(frozen=True)
class Selection:
    """The results of choosing one configuration by its mean accuracy over splits, in percent.

    `best_test` and `best_val` are the test means of the configurations with the best test and the
    best validation accuracy. `same` and `fresh` are means over all ways to divide the splits into
    two halves: the configuration with the best test accuracy on the first half has `same` on this
    half, and `fresh` on the other.
    """

    configurations: int
    splits: int
    best_test: float
    best_val: float
    same: float
    fresh: float

    @property
    def optimism(self) -> float:
        """The optimism of the choice by test accuracy, in points."""
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

    `records` are those of two or more cells, all on the same two or more splits.
    """
    cells = [sorted(cell, key=lambda r: r.split) for cell in by_cell(records)]
    if len({tuple(r.split for r in cell) for cell in cells}) != 1:
        raise UsageError("the configurations must all be trained on the same splits")
    test, val = _accuracies(cells)
    same, fresh = [], []
    splits = range(test.shape[1])
    for half in combinations(splits, len(splits) // 2):
        best = test[:, half].mean(1).argmax()
        same.append(test[best, half].mean())
        fresh.append(np.delete(test[best], half).mean())
    by_val = test.mean(1)[val.mean(1).argmax()]
    return Selection(*test.shape, test.mean(1).max(), by_val, np.mean(same), np.mean(fresh))


@dataclass(frozen=True)
class ChosenByTest:
    """The best of many configurations by test accuracy, each measured on separate splits.

    Accuracies are test means in percent: of the `best` configuration by test accuracy, with its
    `std` over the splits and its hyperparameters, of the best `by_validation`, and the median of
    all configurations (`typical`).
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
    """Choose the best configuration by test accuracy, each measured on equally many splits."""
    cells = by_cell(records)
    if len({len(cell) for cell in cells}) != 1:
        raise UsageError("the configurations must all be trained on equally many splits")
    test, val = _accuracies(cells)
    best = int(test.mean(1).argmax())
    return ChosenByTest(
        *test.shape,
        best=test[best].mean(),
        std=test[best].std(ddof=1),
        hyperparameters={n: getattr(cells[best][0], n) for n in ("lr", "weight_decay", "dropout")},
        by_validation=test[val.mean(1).argmax()].mean(),
        typical=float(np.median(test.mean(1))),
    )


def _accuracies(cells: Sequence[Sequence[Record]]) -> tuple[np.ndarray, np.ndarray]:
    """Return test accuracies in percent and validation accuracies, `[configurations, splits]`."""
    test = 100 * np.array([[r.test_accuracy for r in cell] for cell in cells])
    return test, np.array([[r.val_accuracy for r in cell] for cell in cells])


@dataclass(frozen=True)
class MajorityBaseline:
    """The distribution of the mean test accuracy of predicting the majority class.

    `accuracy` holds the possible values of the mean over `splits` random splits, in percent and
    ascending; `probability` holds the probability of each value.
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
        # The published accuracy is rounded by at most half a unit of its last digit.
        return float(self.probability[self.accuracy >= accuracy - 0.005].sum())

    def best_of(self, draws: int) -> float:
        """Return the expected accuracy of the best of several draws of the splits, in percent."""
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
    """Return the accuracy distribution of the majority class of `y`, `[N]`, over random splits.

    `random_split` fixes how many nodes of each class are not used for training, and shuffles these
    nodes. The number of test nodes of the majority class is therefore hypergeometric.
    """
    y = np.asarray(y)
    split = random_split(y, 0)  # the class counts of the training nodes are the same for all seeds
    not_trained = np.bincount(y[~split.train.numpy()])
    tested = int(split.test.sum())
    one_split = hypergeom(not_trained.sum(), not_trained.max(), tested).pmf(np.arange(tested + 1))
    probability = np.ones(1)
    for _ in range(splits):
        probability = np.convolve(probability, one_split)
    accuracy = 100 * np.arange(probability.size) / (splits * tested)
    return MajorityBaseline(splits, accuracy, probability)
