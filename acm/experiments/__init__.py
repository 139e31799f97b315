"""Cells of a table as lists of trials, their training, and the store of their records."""

from acm.experiments.recipes import Recipe, recipe
from acm.experiments.record import Record, Validation
from acm.experiments.run import run_cell, run_trial, run_trials, validate_trials
from acm.experiments.search import Search, grid, search
from acm.experiments.store import Store, results
from acm.experiments.task import Task, prepare
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
