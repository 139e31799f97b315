"""The paper's tables as data: every published number and hyperparameter, with its place.

>>> from acm.paper import hyperparameters, printed
>>> printed("sota", model="ACM-GCN", dataset="cornell").text
'94.75 ± 3.8'
>>> hyperparameters("ACM-GCN", "cornell").weight_decay
0.01
"""

from acm.paper.errata import (
    ERRATA_KINDS,
    Disagreement,
    Erratum,
    disagreements,
    errata,
    errata_html,
    repeated,
)
from acm.paper.hyperparameters import Hyperparameters, SearchSpace, hyperparameters, search_space
from acm.paper.hyperparameters import all_rows as _ranges
from acm.paper.hyperparameters import all_rows__optima as _optima
from acm.paper.tables import (
    PrintedValue,
    Table,
    find_table,
    known_datasets,
    known_models,
    printed,
    printed_values,
    tables,
)


def table(name: str) -> list[PrintedValue] | list[Hyperparameters] | list[SearchSpace]:
    """Every row of a published table, typed by the table's kind.

    Args:
        name: A key that `tables()` lists.

    Returns:
        Cells (`PrintedValue`) of a table of values, `Hyperparameters` of one of optima, and
        `SearchSpace` of one of search ranges.

    Raises:
        UsageError: For an unknown key.
    """
    found = find_table(name)
    rows = {"values": printed_values, "hyperparameters": _optima, "search": _ranges}[found.kind]
    return list(rows(found.key))


__all__ = [
    "ERRATA_KINDS",
    "Disagreement",
    "Erratum",
    "Hyperparameters",
    "PrintedValue",
    "SearchSpace",
    "Table",
    "disagreements",
    "errata",
    "errata_html",
    "hyperparameters",
    "known_datasets",
    "known_models",
    "printed",
    "repeated",
    "search_space",
    "table",
    "tables",
]
