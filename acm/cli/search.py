"""`acm search`: choose hyperparameters by validation, without a look at a test label."""

from __future__ import annotations

import argparse
import shlex

from acm.cli.run import (
    HYPERPARAMETERS,
    add_options,
    memory_for,
    place,
    read_options_given,
    warm_up,
    whole,
)


def add_parser(subparsers) -> None:
    """Register `acm search`."""
    parser = subparsers.add_parser(
        "search",
        help="choose hyperparameters by validation",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
Train every configuration of a grid, by default the paper's, and print those that validation
prefers. No test label is read: the last line is the `acm run` command that tests the choice.""",
        epilog="""\
examples:
  acm search --dataset cornell --model ACM-GCN --processes 2
  acm search --dataset texas --model GCN --strategy halving
  acm search --dataset cora --model MLP-2 --lr 0.01,0.05 --weight-decay 0,5e-4 --dropout 0.5
  acm search --dataset texas --model APPNP --lr 0.05 --weight-decay 5e-4 --dropout 0.5
             --options alpha=0.1,0.5,0.9""",
    )
    what = parser.add_argument_group("what to train")
    what.add_argument("--dataset", required=True, metavar="NAME", help="see `acm data list`")
    what.add_argument("--model", required=True, metavar="NAME", help="see `acm run --help`")
    what.add_argument(
        "--split-scheme", default="random", metavar="random|fixed|sparse", help="see `acm run`"
    )
    what.add_argument("--splits", type=whole, metavar="N", help="how many splits (default: 10)")
    what.add_argument("--seed", type=whole, default=0, metavar="S", help="see `acm run`")
    what.add_argument(
        "--strategy",
        default="grid",
        metavar="grid|halving",
        help="every configuration on every split (default), or only the better third goes on"
        " after the first split, and again after the third and the ninth",
    )
    values = parser.add_argument_group("ranges, joined by commas (default: the paper's)")
    for name in HYPERPARAMETERS:
        values.add_argument(f"--{name.replace('_', '-')}", metavar="X,X", help=f"values of {name}")
    values.add_argument(
        "--options",
        action="extend",
        nargs="+",
        default=[],
        metavar="NAME=X,X",
        help="values of the model's own hyperparameters (default: the recipe's)",
    )
    how = parser.add_argument_group("how to run it")
    how.add_argument(
        "--store",
        default="search.csv",
        metavar="FILE",
        help="CSV file that keeps the trials (default: search.csv)",
    )
    how.add_argument("--top", type=whole, default=10, metavar="N", help="how many to print")
    add_options(how)
    parser.set_defaults(run=run)


def run(args) -> int:
    """Search, print the best configurations, and say how to test the first."""
    warm_up(args)
    from acm.experiments import search
    from acm.experiments.recipes import in_words

    space, where = _space(args), place(args)
    # Too large for the memory is the largest of a range, if any of it is.
    with memory_for(args.model, {"hidden": max(space.get("hidden", [0]))}):
        found = search(
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
            where,
        )
    ranked = sorted(found.surface, key=lambda c: (-c.splits, -c.accuracy, c.loss))
    for c in ranked[: max(args.top, 0)]:
        seen = f"{100 * c.accuracy:6.2f} ± {100 * c.std:5.2f} %" if c.accuracy >= 0 else "no number"
        print(
            f"validation {seen} on {c.splits} split{'s' if c.splits > 1 else ''}:"
            f" {in_words(c.hyperparameters)}"
        )
    print(f"{len(found.surface)} configurations, {found.trainings} trainings; kept: {args.store}")
    words = ["acm", "run", "--dataset", args.dataset, "--model", args.model]
    words += ["--split-scheme", args.split_scheme] + (
        ["--splits", str(args.splits)] if args.splits else []
    )
    for name in HYPERPARAMETERS:
        words += [f"--{name.replace('_', '-')}", str(found.chosen[name])]
    rest = [f"{n}={value}" for n, value in found.chosen.items() if n not in HYPERPARAMETERS]
    words += ["--options", *rest] if rest else []
    words += ["--seed", str(args.seed)] if args.seed else []
    print(f"to test the choice: {shlex.join(words)}")
    return 0


def _space(args) -> dict[str, list]:
    from acm.errors import UsageError

    space: dict[str, list] = {
        n: text.split(",") for n, text in read_options_given(args.options).items()
    }
    for name in HYPERPARAMETERS:
        text = getattr(args, name)
        if text is None:
            continue
        try:
            kind = int if name == "hidden" else float
            space[name] = [kind(value) for value in text.split(",")]
        except ValueError as error:
            numbers = "whole numbers" if name == "hidden" else "numbers"
            raise UsageError(
                f"--{name.replace('_', '-')} is {text!r}: {numbers} joined by commas are needed"
            ) from error
    return space
