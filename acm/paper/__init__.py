"""The paper's tables as data: every published number and hyperparameter, with its place.

>>> from acm.paper import hyperparameters, published
>>> published("sota", model="ACM-GCN", dataset="cornell").text
'94.75 ± 3.8'
>>> hyperparameters("ACM-GCN", "cornell").weight_decay
0.01
"""

from acm.paper._errata import ERRATA_KINDS, Erratum, errata, errata_html
from acm.paper._optima import Hyperparameters, hyperparameters
from acm.paper._optima import all_rows as _optima
from acm.paper._ranges import SearchSpace, search_space
from acm.paper._ranges import all_rows as _ranges
from acm.paper._rows import Table, find_table, known_datasets, known_models, tables
from acm.paper._slips import Disagreement, disagreements, repeated
from acm.paper._values import Published, cells, published


def table(name: str) -> list[Published] | list[Hyperparameters] | list[SearchSpace]:
    """Every row of a published table, typed by the table's kind.

    Args:
        name: A key that `tables()` lists.

    Returns:
        Cells (`Published`) of a table of values, `Hyperparameters` of one of optima, and
        `SearchSpace` of one of search ranges.

    Raises:
        UsageError: For an unknown key.
    """
    found = find_table(name)
    rows = {"values": cells, "hyperparameters": _optima, "search": _ranges}[found.kind]
    return list(rows(found.key))


__all__ = [
    "ERRATA_KINDS",
    "Disagreement",
    "Erratum",
    "Hyperparameters",
    "Published",
    "SearchSpace",
    "Table",
    "disagreements",
    "errata",
    "errata_html",
    "hyperparameters",
    "known_datasets",
    "known_models",
    "published",
    "repeated",
    "search_space",
    "table",
    "tables",
]
