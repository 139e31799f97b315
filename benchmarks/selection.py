"""Measure how much selection by test accuracy adds if configurations have different splits.

    python benchmarks/selection.py --store results/wisconsin-selection.csv
    python benchmarks/selection.py --store results/cora-selection.csv --dataset cora

The script trains GCN with the 270 configurations of the printed ranges. Each configuration has ten
random splits that no other configuration has, so there are 2,700 trainings. Each record is stored
when its trial ends, so an interrupted run resumes. The results page reads the records.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import replace

from cell import script

SPLITS = 10


def trials(dataset: str, model: str) -> list:
    """Return the trials of all configurations. No two configurations have a split in common."""
    from acm.experiments import grid, trials_of

    space = grid(model, dataset)
    shifted = []
    for number, values in enumerate(itertools.product(*space.values())):
        same_values = trials_of(
            dataset, model, splits=SPLITS, hyperparameters=dict(zip(space, values))
        )
        shifted += [replace(trial, split=trial.split + SPLITS * number) for trial in same_values]
    return shifted


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True, metavar="FILE", help="CSV file of the records")
    parser.add_argument("--dataset", default="wisconsin", metavar="NAME")
    parser.add_argument("--model", default="GCN", metavar="NAME")
    args = parser.parse_args()
    from acm.experiments import Store, run_trials
    from acm.report.pages.results import chosen_by_test

    records = run_trials(trials(args.dataset, args.model), Store(args.store))
    print(chosen_by_test(records).sentence())


if __name__ == "__main__":
    script(main)
