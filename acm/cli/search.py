"""`acm search`: choose hyperparameters by validation. No test label is read."""

from __future__ import annotations

import argparse
import shlex

from acm.cli import interruptible
from acm.cli.options import (
    HYPERPARAMETERS,
    add_cell_options,
    add_worker_options,
    read_options,
    whole,
    workers_of,
)


def add_parser(subparsers) -> None:
    """Add `acm search` to the command line."""
    parser = subparsers.add_parser(
        "search",
        help="choose hyperparameters by validation",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
Train every configuration of a grid, by default the paper's, and print those with the best
validation accuracy. No test label is read: the last line is the `acm run` command that tests the
chosen configuration.""",
        epilog="""\
examples:
  acm search --dataset cornell --model ACM-GCN --processes 2
  acm search --dataset texas --model GCN --strategy halving
  acm search --dataset cora --model MLP-2 --lr 0.01,0.05 --weight-decay 0,5e-4 --dropout 0.5
  acm search --dataset texas --model APPNP --lr 0.05 --weight-decay 5e-4 --dropout 0.5
             --options alpha=0.1,0.5,0.9""",
    )
    cell = parser.add_argument_group("what to train")
    add_cell_options(cell)
    cell.add_argument(
        "--strategy",
        default="grid",
        metavar="grid|halving",
        help="train every configuration on every split (default), or keep the better third after"
        " the first, the third and the ninth split",
    )
    values = parser.add_argument_group("ranges, separated by commas (default: the paper's)")
    for name in HYPERPARAMETERS:
        values.add_argument(f"--{name.replace('_', '-')}", metavar="X,X", help=f"values of {name}")
    values.add_argument(
        "--options",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=X,X",
        help="values of hyperparameters of this model only (default: the recipe's)",
    )
    group = parser.add_argument_group("how to run it")
    group.add_argument("--top", type=whole, default=10, metavar="N", help="how many to print")
    add_worker_options(group, "search.csv")
    parser.set_defaults(main=main)


def main(args) -> None:
    """Search, print the best configurations, and the command that tests the first."""
    from acm.experiments import search
    from acm.experiments.recipes import in_words
    from acm.kernels.memory import keep_freed_memory

    keep_freed_memory()
    space, workers = _space(args), workers_of(args)
    try:
        with interruptible():
            result = search(
                args.dataset,
                args.model,
                args.split_scheme,
                args.splits,
                args.seed,
                space,
                args.strategy,
                args.store,
                args.device,
                not args.quiet,
                workers,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted: finished trials are in {args.store}; the same command continues there"
        ) from None
    ranked = sorted(result.surface, key=lambda c: (-c.splits, -c.accuracy, c.loss))
    for c in ranked[: max(args.top, 0)]:
        mean = f"{100 * c.accuracy:6.2f} ± {100 * c.std:5.2f} %" if c.accuracy >= 0 else "failed"
        splits = f"{c.splits} split{'s' * (c.splits > 1)}"
        print(f"validation {mean} on {splits}: {in_words(c.hyperparameters)}")
    print(f"{len(result.surface)} configurations, {result.trainings} trainings, in {args.store}")
    words = ["acm", "run", "--dataset", args.dataset, "--model", args.model]
    words += ["--split-scheme", args.split_scheme]
    words += ["--splits", str(args.splits)] if args.splits else []
    for name in HYPERPARAMETERS:
        words += [f"--{name.replace('_', '-')}", str(result.chosen[name])]
    options = [f"{n}={value}" for n, value in result.chosen.items() if n not in HYPERPARAMETERS]
    words += ["--options", *options] if options else []
    words += ["--seed", str(args.seed)] if args.seed else []
    print(f"to test the choice: {shlex.join(words)}")


def _space(args) -> dict[str, list]:
    from acm.errors import UsageError

    space: dict[str, list] = {n: v.split(",") for n, v in read_options(args.options).items()}
    for name in HYPERPARAMETERS:
        text = getattr(args, name)
        if text is None:
            continue
        kind = int if name == "hidden" else float
        try:
            space[name] = [kind(value) for value in text.split(",")]
        except ValueError as error:
            numbers = "whole numbers" if name == "hidden" else "numbers"
            raise UsageError(
                f"--{name.replace('_', '-')} is {text!r}: {numbers} separated by commas are needed"
            ) from error
    return space
