"""Write numbers and their differences for tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

#: What stands for a number that there is none of.
NONE = "–"


def signed(number: float, decimals: int = 2) -> str:
    """A difference with its sign, which is `−` and no hyphen; what rounds to nothing has none.

    >>> signed(-1.05), signed(2, 1), signed(-0.001), signed(float("nan"))
    ('−1.05', '+2.0', '0.00', '–')
    """
    if math.isnan(number):
        return NONE
    shown = f"{number:+.{decimals}f}"
    return shown.replace("-", "−") if shown.strip("+-0.") else shown[1:]


class SignedTable(pd.DataFrame):
    """A table of numbers that are shown as `signed` writes them.

    The numbers stay numbers; `attrs["signed"]` has the decimals by column.
    """

    @property
    def _constructor(self):
        return SignedTable

    @classmethod
    def of(cls, table: pd.DataFrame, decimals: Mapping[str, int]) -> SignedTable:
        """A table with columns that have a sign."""
        found = cls(table)
        found.attrs["signed"] = dict(decimals)
        return found

    def _shown(self) -> pd.DataFrame:
        columns = {name: d for name, d in self.attrs.get("signed", {}).items() if name in self}
        return pd.DataFrame(self).assign(
            **{name: [signed(x, d) for x in self[name]] for name, d in columns.items()}
        )

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_html_(self) -> str | None:
        return self._shown()._repr_html_()
