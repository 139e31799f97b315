"""Measure how much selection by test accuracy, or a favorable split, raises a result."""

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
    """The mean test accuracy of a configuration that was chosen among several, in percent.

    `best_test` is the accuracy of the configuration that is best by test accuracy, and `best_val`
    of the one that is best by validation accuracy. For `same` and `fresh`, we divide the splits
    into two halves in every way, and choose by test accuracy on the first half. `same` is the mean
    accuracy of the chosen configuration on the first half, and `fresh` on the second half.
    """

    configurations: int
    splits: int
    best_test: float
    best_val: float
    same: float
    fresh: float

    @property
    def optimism(self) -> float:
        """The accuracy on the half used for the choice minus that on the other half, in points."""
        return self.same - self.fresh

    def sentence(self) -> str:
        """Return the result as a sentence."""
        return (
            f"{self.configurations} configurations were trained on {self.splits} splits. The best"
            f" by test accuracy has a mean test accuracy of {self.best_test:.2f} %, the best by"
            f" validation accuracy {self.best_val:.2f} %. If test accuracy on half of the splits"
            f" decides, the chosen configuration has {self.same:.2f} % on this half and"
            f" {self.fresh:.2f} % on the other half: the selection adds {self.optimism:.2f} points."
        )


def selection_optimism(records: Sequence[Record]) -> Selection:
    """Measure by how many points selection by test accuracy overstates the result.

    `records` belong to two or more configurations, all on the same two or more splits.
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
    """The result of choosing by test accuracy if every configuration has separate splits.

    Accuracies are mean test accuracies in percent. `best`, `std` over the splits, and
    `hyperparameters` describe the best configuration by test accuracy. `by_validation` is the
    accuracy of the best configuration by validation. `typical` is the median of all configurations.
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
            f"{self.configurations} configurations were trained, each on {self.splits} separate"
            f" splits. The best by test accuracy ({in_words(self.hyperparameters)}) has"
            f" {self.best:.2f} ± {self.std:.2f} %, the best by validation accuracy"
            f" {self.by_validation:.2f} %, and the median is {self.typical:.2f} %."
        )


def chosen_by_test(records: Sequence[Record]) -> ChosenByTest:
    """Choose the best configuration by test accuracy; all must have equally many splits."""
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
    """Return test accuracies in percent and validation fractions, `[configurations, splits]`."""
    test = 100 * np.array([[r.test_accuracy for r in cell] for cell in cells])
    return test, np.array([[r.val_accuracy for r in cell] for cell in cells])


@dataclass(frozen=True)
class MajorityBaseline:
    """The distribution of the mean test accuracy if a model predicts the majority class.

    `accuracy` has the possible means over `splits` random splits, in percent, in ascending order.
    `probability` has the probability of each mean.
    """

    splits: int
    accuracy: np.ndarray
    probability: np.ndarray

    @property
    def mean(self) -> float:
        """The expected value of the mean accuracy, in percent."""
        return float(self.accuracy @ self.probability)

    @property
    def std(self) -> float:
        """The standard deviation of the mean accuracy, in points."""
        return float(np.sqrt((self.accuracy - self.mean) ** 2 @ self.probability))

    def reached(self, accuracy: float) -> float:
        """Return the probability that the mean is `accuracy` percent or more."""
        # A printed accuracy has two decimals, so the exact value may be 0.005 lower.
        return float(self.probability[self.accuracy >= accuracy - 0.005].sum())

    def best_of(self, draws: int) -> float:
        """Return the expected maximum of `draws` means, each over new splits, in percent."""
        below = np.cumsum(self.probability) ** draws
        return float(self.accuracy @ np.diff(below, prepend=0))

    def sentence(self, accuracy: float, draws: int) -> str:
        """Return in words how likely random splits give a printed accuracy."""
        return (
            f"A model that predicts the majority class has a mean test accuracy over {self.splits}"
            f" splits of {self.mean:.2f} ± {self.std:.2f} %. This mean is {accuracy:.2f} % or more"
            f" with probability {self.reached(accuracy):.4f}. The highest mean of {draws} draws of"
            f" {self.splits} splits is {self.best_of(draws):.2f} % on average."
        )


def majority_baseline(y: Sequence[int], splits: int = 10) -> MajorityBaseline:
    """Return the distribution of majority-class accuracy for labels `y`, `[N]`, on random splits.

    `random_split` takes a fixed number of training nodes of each class, and divides the other nodes
    at random. So the number of test nodes of the majority class is hypergeometric.
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
