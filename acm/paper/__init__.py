"""Read every number and hyperparameter that the paper prints, and where it prints them.

>>> from acm.paper import hyperparameters, printed
>>> printed("sota", model="ACM-GCN", dataset="cornell").text
'94.75 ± 3.8'
>>> hyperparameters("ACM-GCN", "cornell").weight_decay
0.01
"""

from acm.paper.errata import ERRATA_KINDS, Erratum, disagreements, errata
from acm.paper.hyperparameters import Hyperparameters, hyperparameters, search_space, table
from acm.paper.tables import PrintedValue, printed, printed_values, tables

__all__ = [
    "ERRATA_KINDS",
    "Erratum",
    "Hyperparameters",
    "PrintedValue",
    "disagreements",
    "errata",
    "hyperparameters",
    "printed",
    "printed_values",
    "search_space",
    "table",
    "tables",
]
