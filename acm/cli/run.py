"""Train a model on a graph, and compare its test accuracy with the paper.

The model is trained on several splits, with the training rule that the paper uses for this graph.
Trials in the store are not trained again, so an interrupted run continues where it stopped.

example: acm run --dataset cora --model GCNII --splits 3 --lr 0.01 --options layers=16 alpha=0.2
"""

import sys

from acm.cli import interruptible
from acm.cli.options import HYPERPARAMETERS, add_shared, hyperparameters_of, workers_of


def add_arguments(parser) -> None:
    add_shared(parser, "runs.csv")


def main(args) -> None:
    from acm.experiments import Store, recipe, run_trials, trials_of
    from acm.experiments.recipes import in_words, read_options
    from acm.experiments.trial import shares_of
    from acm.kernels.memory import keep_freed_memory
    from acm.report.comparison import compare

    keep_freed_memory()
    workers, values = workers_of(args), hyperparameters_of(args)
    cell = args.dataset, args.model, args.split_scheme
    trials = trials_of(*cell, args.splits, args.seed, values, args.channels, args.mix)
    store, first = Store(args.store), trials[0]
    settings = {name: getattr(first, name) for name in HYPERPARAMETERS}
    settings |= read_options(first.model, first.options)
    if first.channels:
        settings["channels"] = first.channels + ", not mixed" * (not first.mix)
    print(f"{first.model} on {first.dataset}: {in_words(settings)}")
    print(recipe(first.model, first.dataset, first.split_scheme, values).sentence())
    print(shares_of(first))
    total = f"of {len(trials)} trials are in {args.store}"
    interruptible(lambda: f"{len(store.find(trials))} {total}")
    if reused := store.find(trials):
        origins = "; ".join(sorted({f"{r.device}, commit {r.commit}" for r in reused.values()}))
        print(f"{len(reused)} {total} and are not trained again: {origins}", file=sys.stderr)
    for reason, count in store.left_out().items():
        print(f"{args.store}: {count} records are not used: {reason}", file=sys.stderr)
    records = run_trials(trials, store, args.device, not args.quiet, workers)
    for r in records:
        accuracy = f"test {100 * r.test_accuracy:6.2f} %, validation {100 * r.val_accuracy:6.2f} %"
        print(
            f"split {r.split:2}: {accuracy}, epoch {r.best_epoch} of {r.epochs}, {r.seconds:.1f} s"
        )
    print(compare(records).sentence())
