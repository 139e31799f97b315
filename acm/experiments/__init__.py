"""List the trials of a cell of a table, train the trials, and store their records."""

from acm.experiments.recipes import recipe
from acm.experiments.run import prepare, run_trial, run_trials, validate_trials
from acm.experiments.search import grid, search
from acm.experiments.store import Record, Store, Validation, results
from acm.experiments.trial import Trial, trials_of
from acm.experiments.workers import Workers

__all__ = [
    "Record",
    "Store",
    "Trial",
    "Validation",
    "Workers",
    "grid",
    "prepare",
    "recipe",
    "results",
    "run_trial",
    "run_trials",
    "search",
    "trials_of",
    "validate_trials",
]
