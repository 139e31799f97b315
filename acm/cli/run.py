"""`acm run`: train one cell of a table, and hold it against the paper."""

from __future__ import annotations

import argparse

from acm.cli.memory import memory_for
from acm.cli.parser import number, whole
from acm.cli.places import HYPERPARAMETERS, add_options, place, read_own, warm_up


def add_parser(subparsers) -> None:
    """Register `acm run`."""
    parser = subparsers.add_parser(
        "run",
        help="train one cell of a table and compare it with the paper's",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
Train a model on several splits of a graph by the released protocol, keep a record of each, and
hold the mean test accuracy against the paper's. What was run before is read from the store, so a
run that was interrupted goes on where it was.""",
        epilog="""\
models:
  MLP-1, MLP-2, SGC-1, SGC-2, GCN, Snowball-2, Snowball-3, GCNII, GCNII*
  ACM-SGC-1, ACM-SGC-2, ACM-GCN, ACM-Snowball-2, ACM-Snowball-3, ACM-GCNII, ACM-GCNII*
  ACMII-GCN, ACMII-Snowball-2, ACMII-Snowball-3
  GAT, APPNP, GPRGNN, H2GCN, MixHop, GCN+JK, GAT+JK, FAGCN, GraphSAGE, Geom-GCN
  ACM-GCN+, ACM-GCN++ (beyond the paper); `acm models NAME` tells of one

examples:
  acm run --dataset texas --model ACMII-GCN
  acm run --dataset cora --model GCN --splits 3 --lr 0.01 --weight-decay 5e-4 --dropout 0.5
  acm run --dataset chameleon --model ACM-GCN --protocol fixed
  acm run --dataset film --model ACM-GCN --channels low+identity      an ablation of Table 2
  acm run --dataset cora --model GCNII --own layers=16 alpha=0.2""",
    )
    what = parser.add_argument_group("what to train")
    what.add_argument("--dataset", required=True, metavar="NAME", help="see `acm data list`")
    what.add_argument("--model", required=True, metavar="NAME", help="see below, in any case")
    what.add_argument(
        "--protocol",
        default="random",
        metavar="random|fixed|sparse",
        help="60/20/20 splits drawn anew, the ten fixed ones, or 2.5/2.5/95 (default: random)",
    )
    what.add_argument(
        "--splits",
        type=whole,
        metavar="N",
        help="how many splits (default: as the paper, 10; 5 on deezer-europe)",
    )
    what.add_argument(
        "--seed",
        type=whole,
        default=0,
        metavar="S",
        help="of initial weights and dropout (default: 0)",
    )
    what.add_argument(
        "--channels", metavar="C+C", help="leave channels out: some of low+high+identity"
    )
    what.add_argument(
        "--no-mixing",
        dest="mix",
        action="store_const",
        const=False,
        help="add the channels up instead of mixing them node by node",
    )
    values = parser.add_argument_group("hyperparameters (default: the paper's optimum)")
    values.add_argument("--lr", type=number, metavar="X", help="learning rate")
    values.add_argument("--weight-decay", type=number, metavar="X", help="weight decay")
    values.add_argument("--dropout", type=number, metavar="P", help="from 0 to below 1")
    values.add_argument("--hidden", type=whole, metavar="N", help="width of the hidden layer")
    values.add_argument(
        "--own",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=X",
        help="hyperparameters of the model's own, such as layers=8 (see `acm models NAME`)",
    )
    how = parser.add_argument_group("how to run it")
    how.add_argument(
        "--store",
        default="runs.csv",
        metavar="FILE",
        help="CSV file that keeps the records (default: runs.csv)",
    )
    add_options(how)
    parser.set_defaults(run=run)


def run(args) -> int:
    """Run the cell, print a line a split, and the comparison."""
    warm_up(args)
    from acm.experiments import Store, cell
    from acm.experiments import run as run_trials
    from acm.experiments.options import read_options
    from acm.experiments.recipes import complete
    from acm.report import compare

    where = place(args)
    given = {name: getattr(args, name) for name in HYPERPARAMETERS} | read_own(args.own)
    with memory_for(args.model, given):  # the model is built here, to see whether it can be
        trials = cell(
            args.dataset,
            args.model,
            args.protocol,
            args.splits,
            args.seed,
            given,
            args.channels,
            args.mix,
        )
    store = Store(args.store)
    if len(store.find(trials)) < len(trials):
        store.check()
    first = trials[0]
    what = [
        f"lr {first.lr:g}",
        f"weight decay {first.weight_decay:g}",
        f"dropout {first.dropout:g}",
        f"hidden {first.hidden}",
        *(option.replace("=", " ") for option in first.options.split()),
    ]
    if first.channels:
        what.append(f"channels {first.channels}{'' if first.mix else ', not mixed'}")
    print(f"{first.model} on {first.dataset}: {', '.join(what)}")
    print(complete(first.model, first.dataset, first.protocol, given).sentence())
    sizes = {"hidden": first.hidden} | read_options(first.model, first.options)
    try:
        with memory_for(first.model, sizes):
            records = run_trials(trials, store, args.device, not args.quiet, where)
    except KeyboardInterrupt:
        kept = len(store.find(trials))
        raise KeyboardInterrupt(
            f"interrupted: {kept} of {len(trials)} trials are in {args.store}; the same"
            " command goes on from there"
        ) from None
    for record in records:
        print(
            f"split {record.split:2}: test {100 * record.test_accuracy:6.2f} %,"
            f" validation {100 * record.val_accuracy:6.2f} %, epoch {record.best_epoch} of"
            f" {record.epochs}, {record.seconds:.1f} s"
        )
    print(compare(records).sentence())
    return 0
