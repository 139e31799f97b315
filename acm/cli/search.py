"""Choose hyperparameters by validation accuracy.

The command trains every configuration of a grid, by default the paper's grid, and prints the ten
best configurations. It reads no test label. The last line is the `acm run` command that tests the
best configuration. An interrupted search continues where it stopped.

example: acm search --dataset cora --model APPNP --lr 0.01,0.05 --options alpha=0.1,0.5,0.9
"""

import shlex

from acm.cli import interruptible
from acm.cli.options import HYPERPARAMETERS, add_shared, hyperparameters_of, workers_of

_CELL = ("dataset", "model", "split_scheme", "splits", "seed")


def add_arguments(parser) -> None:
    add_shared(parser, "search.csv", ranges=True)
    text = "grid: every configuration on every split (default); halving: keep the best third of the"
    text += " configurations after 1, 3 and 9 splits"
    parser.add_argument("--strategy", default="grid", choices=("grid", "halving"), help=text)


def main(args) -> None:
    from acm.experiments import search
    from acm.experiments.recipes import in_words
    from acm.kernels.memory import keep_freed_memory

    keep_freed_memory()
    workers, space = workers_of(args), hyperparameters_of(args)
    space = {n: v.split(",") if n not in HYPERPARAMETERS else v for n, v in space.items()}
    cell = {name: getattr(args, name) for name in _CELL}
    where = args.store, args.device, not args.quiet, workers
    variant = {"channels": args.channels, "mix": args.mix}
    interruptible(lambda: f"finished trials are in {args.store}")
    result = search(*cell.values(), space, args.strategy, *where, **variant)
    for c in sorted(result.surface, key=lambda c: (-c.splits, -c.accuracy, c.loss))[:10]:
        mean = f"{100 * c.accuracy:6.2f} ± {100 * c.std:5.2f} %" if c.accuracy >= 0 else "failed"
        splits = f"{c.splits} split{'s' * (c.splits > 1)}"
        print(f"validation {mean} on {splits}: {in_words(c.hyperparameters)}")
    print(f"{len(result.surface)} configurations, {result.trainings} trainings; see {args.store}")
    words = ["acm", "run"]
    for name, value in (cell | result.chosen).items():
        common = name in (*_CELL, *HYPERPARAMETERS)
        flag = name.replace("_", "-") if common else f"options={name}"
        words += [] if value is None else [f"--{flag}={value}"]
    words += [f"--channels={args.channels}"] if args.channels else []
    words += ["--no-mixing"] if args.mix is False else []
    print(f"to test the choice: {shlex.join(words)}")
