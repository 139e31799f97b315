"""How far the luck of the splits alone takes a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from acm.data import random_split
from acm.data.names import check_whole

#: A printed number is off by at most so many points.
_ROUNDED = 0.005


@dataclass(frozen=True)
class SplitLuck:
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


def split_luck(y: Sequence[int], splits: int = 10) -> SplitLuck:
    """The luck of always saying the class that training leaves most nodes of.

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
    return SplitLuck(splits, 100 * np.arange(many.size) / (splits * tested), many)
