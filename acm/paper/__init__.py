"""Give every printed number and hyperparameter of the paper, with the place of its print.

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
    repeated,
)
from acm.paper.hyperparameters import (
    ROW_STATUSES,
    Hyperparameters,
    Note,
    SearchSpace,
    hyperparameters,
    optima,
    search_space,
    search_spaces,
)
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
    """Return every row of a printed table, typed by the kind of the table.

    Args:
        name: A key that `tables()` lists.

    Returns:
        `PrintedValue` for a table of values, `Hyperparameters` for a table of optima, and
        `SearchSpace` for a table of search ranges.

    Raises:
        UsageError: For an unknown key.
    """
    source = find_table(name)
    readers = {"values": printed_values, "hyperparameters": optima, "search": search_spaces}
    return list(readers[source.kind](source.key))


__all__ = [
    "ERRATA_KINDS",
    "Disagreement",
    "Erratum",
    "Hyperparameters",
    "Note",
    "PrintedValue",
    "ROW_STATUSES",
    "SearchSpace",
    "Table",
    "disagreements",
    "errata",
    "hyperparameters",
    "known_datasets",
    "known_models",
    "printed",
    "printed_values",
    "repeated",
    "search_space",
    "table",
    "tables",
]
