"""Write numbers and their differences for tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

#: The mark for a missing number.
NONE = "–"


def signed(number: float, decimals: int = 2) -> str:
    """Write a difference with its sign, `+` or `−`; a value that rounds to zero has no sign.

    >>> signed(-1.05), signed(2, 1), signed(-0.001), signed(float("nan"))
    ('−1.05', '+2.0', '0.00', '–')
    """
    if math.isnan(number):
        return NONE
    shown = f"{number:+.{decimals}f}"
    return shown.replace("-", "−") if shown.strip("+-0.") else shown[1:]


class SignedTable(pd.DataFrame):
    """A table whose numbers are shown as `signed` writes them.

    The numbers stay numbers; `attrs["signed"]` has the decimals by column.
    """

    @property
    def _constructor(self):
        return SignedTable

    @classmethod
    def of(cls, table: pd.DataFrame, decimals: Mapping[str, int]) -> SignedTable:
        """Return the table with the number of decimals for each signed column."""
        signed_table = cls(table)
        signed_table.attrs["signed"] = dict(decimals)
        return signed_table

    def _shown(self) -> pd.DataFrame:
        columns = {name: d for name, d in self.attrs.get("signed", {}).items() if name in self}
        return pd.DataFrame(self).assign(
            **{name: [signed(x, d) for x in self[name]] for name, d in columns.items()}
        )

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_html_(self) -> str | None:
        return self._shown()._repr_html_()


def left_out_sentence(counts: Mapping[str, int]) -> str:
    """Say how many records a table leaves out, and why.

    Args:
        counts: The number of records by reason, such as `{"another training rule": 3}`.

    Returns:
        One sentence; the empty text if no record is left out.

    >>> left_out_sentence({"another training rule": 3, "another numerics version": 0})
    'The table leaves out 3 records: 3 of another training rule.'
    """
    counts = {reason: count for reason, count in counts.items() if count}
    total = sum(counts.values())
    reasons = ", ".join(f"{count} of {reason}" for reason, count in counts.items())
    plural = "" if total == 1 else "s"
    return f"The table leaves out {total} record{plural}: {reasons}." if counts else ""
