"""`acm run`: train one cell of a table, and compare it with the paper."""

from __future__ import annotations

import argparse
import textwrap

from acm.cli import interruptible
from acm.cli.options import (
    HYPERPARAMETERS,
    add_cell_options,
    add_worker_options,
    number,
    read_options,
    whole,
    workers_of,
)


def add_parser(subparsers) -> None:
    """Add `acm run` to the command line."""
    from acm.models import MODELS  # needs no PyTorch

    names = ", ".join(MODELS)
    models = textwrap.indent(textwrap.fill(names, 96, break_on_hyphens=False), "  ")
    parser = subparsers.add_parser(
        "run",
        help="train one cell of a table and compare it with the paper's",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
Train a model on several splits of a graph by the released training rule, keep one record per
split, and compare the mean test accuracy with the paper's. Records in the store are not trained
again, so an interrupted run continues where it stopped.""",
        epilog=f"""\
models:
{models}

examples:
  acm run --dataset texas --model ACMII-GCN
  acm run --dataset cora --model GCN --splits 3 --lr 0.01 --weight-decay 5e-4 --dropout 0.5
  acm run --dataset chameleon --model ACM-GCN --split-scheme fixed
  acm run --dataset film --model ACM-GCN --channels low+identity      an ablation of Table 2
  acm run --dataset cora --model GCNII --options layers=16 alpha=0.2""",
    )
    cell = parser.add_argument_group("what to train")
    add_cell_options(cell)
    cell.add_argument("--channels", metavar="C+C", help="use some of low+high+identity only")
    cell.add_argument(
        "--no-mixing",
        dest="mix",
        action="store_const",
        const=False,
        help="add the channels instead of mixing them node by node",
    )
    values = parser.add_argument_group("hyperparameters (default: the paper's optimum)")
    values.add_argument("--lr", type=number, metavar="X", help="learning rate")
    values.add_argument("--weight-decay", type=number, metavar="X", help="weight decay")
    values.add_argument("--dropout", type=number, metavar="P", help="from 0 to below 1")
    values.add_argument("--hidden", type=whole, metavar="N", help="width of the hidden layer")
    values.add_argument(
        "--options",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=X",
        help="hyperparameters of this model only, such as layers=8 (see `acm models NAME`)",
    )
    add_worker_options(parser.add_argument_group("how to run it"), "runs.csv")
    parser.set_defaults(main=main)


def main(args) -> None:
    """Train the cell, print one line per split, and the comparison."""
    from acm.experiments import Store, run_trials, trials_of
    from acm.experiments.recipes import complete
    from acm.kernels.memory import keep_freed_memory
    from acm.report.comparison import compare

    keep_freed_memory()
    workers = workers_of(args)
    values = {name: getattr(args, name) for name in HYPERPARAMETERS} | read_options(args.options)
    trials = trials_of(
        args.dataset,
        args.model,
        args.split_scheme,
        args.splits,
        args.seed,
        values,
        args.channels,
        args.mix,
    )
    store = Store(args.store)
    if len(store.find(trials)) < len(trials):
        store.check()
    first = trials[0]
    settings = [
        f"lr {first.lr:g}",
        f"weight decay {first.weight_decay:g}",
        f"dropout {first.dropout:g}",
        f"hidden {first.hidden}",
        *(option.replace("=", " ") for option in first.options.split()),
    ]
    if first.channels:
        settings.append(f"channels {first.channels}{'' if first.mix else ', not mixed'}")
    print(f"{first.model} on {first.dataset}: {', '.join(settings)}")
    print(complete(first.model, first.dataset, first.split_scheme, values).sentence())
    try:
        with interruptible():
            records = run_trials(trials, store, args.device, not args.quiet, workers)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted: {len(store.find(trials))} of {len(trials)} trials are in {args.store};"
            " the same command continues there"
        ) from None
    for record in records:
        print(
            f"split {record.split:2}: test {100 * record.test_accuracy:6.2f} %,"
            f" validation {100 * record.val_accuracy:6.2f} %, epoch {record.best_epoch} of"
            f" {record.epochs}, {record.seconds:.1f} s"
        )
    print(compare(records).sentence())
