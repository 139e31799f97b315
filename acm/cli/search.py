"""Choose hyperparameters by validation.

Every configuration of a grid is trained, by default of the paper's, and those with the best
validation accuracy are printed. No test label is read: the last line is the `acm run` command that
tests the chosen configuration. An interrupted search continues where it stopped.

example:
  acm search --dataset cora --model APPNP --lr 0.01,0.05 --weight-decay 0,5e-4 --dropout 0.5
             --options alpha=0.1,0.5,0.9
"""

import shlex
from functools import partial

from acm.cli import interruptible
from acm.cli.options import HYPERPARAMETERS, add_shared, hyperparameters_of, number, workers_of


def add_arguments(parser) -> None:
    """Add the shared options and those of the search."""
    add_shared(parser, "search.csv", ranges=True)
    add = parser.add_argument_group("how to search").add_argument
    text = "grid: every configuration on every split (default); halving: the better third goes on"
    text += " after the first, the third and the ninth split"
    add("--strategy", default="grid", choices=("grid", "halving"), help=text)
    add(
        "--top",
        type=partial(number, kind=int),
        default=10,
        metavar="N",
        help="how many to print (default: 10)",
    )


def main(args) -> None:
    """Search, print the best configurations, and the command that tests the first."""
    from acm.experiments import search
    from acm.experiments.recipes import in_words
    from acm.kernels.memory import keep_freed_memory

    keep_freed_memory()
    workers, space = workers_of(args), hyperparameters_of(args)
    space = {n: v.split(",") if n not in HYPERPARAMETERS else v for n, v in space.items()}
    cell = args.dataset, args.model, args.split_scheme, args.splits, args.seed
    where = args.store, args.device, not args.quiet, workers
    with interruptible(lambda: f"finished trials are in {args.store}"):
        result = search(*cell, space, args.strategy, *where)
    ranked = sorted(result.surface, key=lambda c: (-c.splits, -c.accuracy, c.loss))
    for c in ranked[: max(args.top, 0)]:
        mean = f"{100 * c.accuracy:6.2f} ± {100 * c.std:5.2f} %" if c.accuracy >= 0 else "failed"
        splits = f"{c.splits} split{'s' * (c.splits > 1)}"
        print(f"validation {mean} on {splits}: {in_words(c.hyperparameters)}")
    print(f"{len(result.surface)} configurations, {result.trainings} trainings, in {args.store}")
    words, options = ["acm", "run"], []
    names = ("dataset", "model", "split_scheme", "splits", "seed")
    for name, value in ({name: getattr(args, name) for name in names} | result.chosen).items():
        if name not in (*names, *HYPERPARAMETERS):
            options += ["--options"] * (not options) + [f"{name}={value}"]
        elif value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    print(f"to test the choice: {shlex.join(words + options)}")
