"""A cell of a table as a list of trials, and the store that keeps what they found."""

from acm.experiments.record import Record
from acm.experiments.run import Task, prepare, run, run_cell, run_trial
from acm.experiments.store import Store, results
from acm.experiments.trial import Trial, cell

__all__ = [
    "Record",
    "Store",
    "Task",
    "Trial",
    "cell",
    "prepare",
    "results",
    "run",
    "run_cell",
    "run_trial",
]
