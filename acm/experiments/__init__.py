"""A cell of a table as a list of trials, and the store that keeps what they found."""

from acm.experiments.recipes import Recipe, recipe
from acm.experiments.run import Task, prepare, run_cell, run_trial, run_trials, validate_trials
from acm.experiments.search import Search, grid, search
from acm.experiments.store import Record, Store, Validation, results
from acm.experiments.trial import Trial, trials_of
from acm.experiments.workers import Workers

__all__ = [
    "Workers",
    "Recipe",
    "Record",
    "Search",
    "Store",
    "Task",
    "Trial",
    "Validation",
    "trials_of",
    "grid",
    "prepare",
    "recipe",
    "results",
    "run_trials",
    "run_cell",
    "run_trial",
    "search",
    "validate_trials",
]
