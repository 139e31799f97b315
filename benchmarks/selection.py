"""What choosing by test adds when every configuration is tried on splits of its own.

    python benchmarks/selection.py --store results/wisconsin-selection.csv
    python benchmarks/selection.py --store results/cora-selection.csv --dataset cora

GCN over the ranges that the paper prints: 270 configurations, each on ten random splits that no
other one has, 2,700 trainings. Records are stored as they come; an interrupted run goes on where
it was. The results page reads them.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import replace

from cell import script

SPLITS = 10


def trials(dataset: str, model: str) -> list:
    """Every configuration of the paper's ranges, each on `SPLITS` splits of its own."""
    from acm.experiments import grid, trials_of

    space = grid(model, dataset)
    found = []
    for place, values in enumerate(itertools.product(*space.values())):
        own = trials_of(dataset, model, splits=SPLITS, hyperparameters=dict(zip(space, values)))
        found += [replace(trial, split=trial.split + SPLITS * place) for trial in own]
    return found


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
