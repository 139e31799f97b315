"""A cell of a table as a list of trials, and the store that keeps what they found."""

from acm.experiments.batch import run_trial
from acm.experiments.places import Place
from acm.experiments.recipes import Recipe, recipe
from acm.experiments.record import Record, Validation
from acm.experiments.run import run, run_cell, validate
from acm.experiments.search import Search, grid, search
from acm.experiments.store import Store, results
from acm.experiments.task import Task, prepare
from acm.experiments.trial import Trial, cell

__all__ = [
    "Place",
    "Recipe",
    "Record",
    "Search",
    "Store",
    "Task",
    "Trial",
    "Validation",
    "cell",
    "grid",
    "prepare",
    "recipe",
    "results",
    "run",
    "run_cell",
    "run_trial",
    "search",
    "validate",
]
