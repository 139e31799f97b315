"""How long trainings went on, ours and the paper's: a check that no accuracy can pass by luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from acm import paper
from acm.errors import UsageError
from acm.report.comparison import Comparison
from acm.report.numbers import signed
from acm.report.table3 import Place
from acm.training import Protocol

#: Means of so unlike lengths are called different: the paper rounds its times to two or three
#: digits, and lengths of single trainings vary.
CLOSE = 0.15

#: The rule of nine graphs ends no training sooner: the epochs that its window asks for.
SOONEST = Protocol().window + 2


@dataclass(frozen=True)
class Lengths:
    """The mean number of epochs of a cell's trainings.

    Attributes:
        model, dataset: The cell.
        ours: Of our records.
        paper: The seconds of a training over those of an epoch, as the paper prints them.
    """

    model: str
    dataset: str
    ours: float
    paper: float

    @property
    def ratio(self) -> float:
        """Ours over the paper's."""
        return self.ours / self.paper

    @property
    def close(self) -> bool:
        """Whether neither is longer than the other by more than `CLOSE`."""
        return 1 / (1 + CLOSE) <= self.ratio <= 1 + CLOSE


def lengths(cells: Mapping[Place, Comparison]) -> list[Lengths]:
    """The lengths of those cells for which the paper prints both times.

    Args:
        cells: As `table_3` returns them.
    """
    found = []
    for (model, dataset), cell in cells.items():
        try:
            printed = paper.hyperparameters(model, dataset)
        except UsageError:
            continue
        if printed.epochs and cell.records[0].protocol == "random":
            found.append(Lengths(model, dataset, cell.epochs, printed.epochs))
    return found


def lengths_sentence(found: list[Lengths]) -> str:
    """How many agree, in words."""
    if not found:
        return "No cell that was run has its times printed."
    close = sum(each.close for each in found)
    longer = [each for each in found if each.paper > (1 + CLOSE) * SOONEST]
    as_long = sum(each.close for each in longer)
    return (
        f"Of {len(found)} cells whose times the paper prints {close}"
        f" ({100 * close / len(found):.0f} %) trained as long here as there, within"
        f" {100 * CLOSE:.0f} % of the mean number of epochs. None can stop before {SOONEST}, so"
        f" that lengths near that say little: of the {len(longer)} that went on for longer in the"
        f" paper, {as_long} did here as well."
    )


def lengths_table(found: list[Lengths]) -> pd.DataFrame:
    """Those that differ, the most different first."""
    differ = sorted(
        (each for each in found if not each.close), key=lambda e: -max(e.ratio, 1 / e.ratio)
    )
    return pd.DataFrame(
        {
            "model": [each.model for each in differ],
            "graph": [each.dataset for each in differ],
            "epochs, ours": [f"{each.ours:,.0f}" for each in differ],
            "epochs, paper": [f"{each.paper:,.0f}" for each in differ],
            "difference": [f"{signed(100 * (each.ratio - 1), 0)} %" for each in differ],
        }
    )
