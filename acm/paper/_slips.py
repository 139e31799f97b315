"""Where the paper's tables print different values for what should be one run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acm.paper._values import Published, cells

#: Pairs of tables that repeat each other, with the column of the second (results unless a time).
_REPEATS = (
    ("sota", "ablation", None),
    ("sota", "hyperparameters_baselines", "results"),
    ("sota", "hyperparameters_acm", "results"),
    ("ablation", "hyperparameters_baselines", "results"),
    ("ablation", "hyperparameters_acm", "results"),
    ("fixed", "hyperparameters_fixed", "results"),
    ("ablation_times", "hyperparameters_baselines", "average epoch time"),
    ("ablation_times", "hyperparameters_acm", "average epoch time"),
)


@dataclass(frozen=True)
class Disagreement:
    """Two cells for one model and data set that differ in mean or standard deviation."""

    model: str
    dataset: str
    first: Published
    second: Published

    @property
    def rounding(self) -> bool:
        """Whether one is the other printed with fewer decimals."""
        pairs = ((self.first.mean, self.second.mean), (self.first.std, self.second.std))
        return all(_rounds(a, b) or _rounds(b, a) for a, b in pairs)

    def __str__(self) -> str:
        return (
            f"{self.model} on {self.dataset}: {self.first.text} in {self.first.source}; "
            f"{self.second.text} in {self.second.source}"
        )


def _rounds(fine: float | None, coarse: float | None) -> bool:
    if fine is None or coarse is None:
        return fine is coarse
    decimals = len(repr(coarse).partition(".")[2].rstrip("0"))
    return abs(fine - coarse) <= 0.5 * 10**-decimals + 1e-9


def _pairs() -> Iterator[tuple[Published, Published]]:
    for one, other, column in _REPEATS:
        again = {(c.name, c.dataset): c for c in cells(other) if column in (None, c.column)}
        for cell in cells(one):
            if cell.dataset and (found := again.get((cell.name, cell.dataset))):
                yield cell, found


def repeated() -> list[tuple[Published, Published]]:
    """Every pair of cells in which the paper prints one run's outcome twice."""
    return [pair for pair in _pairs() if None not in (pair[0].mean, pair[1].mean)]


def disagreements() -> list[Disagreement]:
    """The pairs of `repeated()` that do not print the same mean and standard deviation.

    Returns:
        Accuracies first, then epoch times, each in the order of the tables.
    """
    return [
        Disagreement(first.name, first.dataset, first, second)
        for first, second in repeated()
        if (first.mean, first.std) != (second.mean, second.std)
    ]
