"""The classes of `acm.baselines`, by name, as the rows of the registry name them."""

from acm.registry import MODELS

CLASSES = {
    entry.make.__name__: entry.make
    for entry in MODELS.values()
    if str(entry.constructor).startswith("acm.baselines.")
}
#: Those that a table of the paper prints: each has its formula and sizes in the tests.
PAPERS = {entry.make.__name__ for entry in MODELS.values() if entry.tables} & CLASSES.keys()
