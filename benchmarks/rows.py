"""Train the models of Table 3 on its graphs, or measure their peak memory.

    python benchmarks/rows.py --store results/sota.csv     run the missing trials with the recipes
    python benchmarks/rows.py --memory                     measure the peak memory of every training

Each record is stored when its trial ends, so an interrupted run resumes. The memory is measured
on the largest graphs: one split, a few epochs, and a separate process for each model.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from cell import count, few_epochs, held, script

#: From the fastest graph to the slowest.
GRAPHS = (
    *("texas", "wisconsin", "cornell", "cora", "citeseer", "chameleon"),
    *("film", "squirrel", "pubmed", "deezer-europe"),
)
HEAVIEST = ("pubmed", "deezer-europe")


def cells(
    graphs: Sequence[str] | None = None, models: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """Return (graph, model) of every cell, in the order of the runs.

    Args:
        graphs, models: Names of the graphs and models to include; by default all.

    Raises:
        UsageError: If a model does not exist.
    """
    from acm.registry import model_name
    from acm.report.cells import ROWS

    models = [model_name(model) for model in models or ROWS]
    return [
        (graph, model)
        for graph in GRAPHS
        for model in ROWS
        if graph in (graphs or GRAPHS) and model in models
    ]


def run(args: argparse.Namespace) -> None:
    """Run all trials of the selected cells that are not in the store."""
    from acm.errors import UsageError
    from acm.experiments import Store, Workers, run_trials, trials_of
    from acm.report import compare
    from acm.report.cells import PRINTED

    store = Store(args.store)
    for graph, model in cells(args.graphs, args.models):
        trials = trials_of(graph, model, PRINTED[model, graph].split_scheme, args.splits)
        start = time.perf_counter()
        missing = len(trials) - len(store.find(trials))
        try:
            records = run_trials(trials, store, progress=False, workers=Workers("processes"))
        except UsageError as error:  # a loss became NaN or infinite: continue with the next cell
            print(f"{graph}, {model}: {error}", flush=True)
            continue
        if missing:
            seconds = time.perf_counter() - start
            print(f"{compare(records).sentence()} [{seconds:.1f} s]", flush=True)


def memory(args: argparse.Namespace) -> None:
    """Measure the memory of every model on the largest graphs, and print a table."""
    from acm.report.cells import ROWS

    graphs = args.graphs or HEAVIEST
    print("| model | " + " | ".join(f"{graph}, GB | ms" for graph in graphs) + " |")
    print("|---|" + "---:|" * 2 * len(graphs))
    for model in args.models or ROWS:
        cells = [_in_new_process(graph, model) for graph in graphs]
        print(f"| {model} | " + " | ".join(cells) + " |", flush=True)


def _in_new_process(graph: str, model: str) -> str:
    command = [sys.executable, __file__, "--one", graph, model]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or f"failed: {(done.stderr.splitlines() or ['?'])[-1]} | "


def one(graph: str, model: str) -> None:
    """Train for a few epochs, and print the peak memory in GB and the milliseconds per epoch."""
    from acm.experiments import trials_of
    from acm.experiments.run import on_threads
    from acm.experiments.workers import cores

    with on_threads(cores()):
        ms, _ = few_epochs(trials_of(graph, model, splits=1), 4)
    print(f"{held(peak=True) / 1000:.2f} | {ms:.0f}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--store", metavar="FILE", help="CSV file of the records")
    what.add_argument("--memory", action="store_true", help="measure memory instead")
    what.add_argument("--one", nargs=2, metavar=("GRAPH", "MODEL"), help=argparse.SUPPRESS)
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, metavar="NAME", help="these only")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="these only")
    parser.add_argument("--splits", type=count, metavar="N", help="default: the paper's, 10 or 5")
    args = parser.parse_args()
    if args.one:
        one(*args.one)
    elif args.memory:
        memory(args)
    else:
        run(args)


if __name__ == "__main__":
    script(main)
