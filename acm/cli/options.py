"""Define the options that `acm run` and `acm search` share."""

import os
import re
from argparse import ArgumentTypeError
from functools import partial

from acm.errors import UsageError

#: Hyperparameters that every model has, repeated here because `acm.experiments` loads slowly.
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")


def number(text: str, kind: type = float, several: bool = False):
    """Convert a text to a number or a list of numbers. Refuse `1_0`, which Python reads as 10."""
    if several:
        return [number(part, kind) for part in text.split(",")]
    try:
        return kind(text.replace("_", "no number"))
    except ValueError:
        name = "number" if kind is float else "whole number"
        raise ArgumentTypeError(f"{text!r}: a {name} is needed") from None


def add_shared(parser, store: str, ranges: bool = False) -> None:
    """Add the shared options to a parser. With `ranges`, hyperparameters take several values."""
    whole = partial(number, kind=int)
    add = parser.add_argument_group("what to train").add_argument
    add("--dataset", required=True, type=str.lower, metavar="NAME", help="see `acm data list`")
    add("--model", required=True, metavar="NAME", help="see `acm models`")
    text = "random (default): train on 60 %% of the nodes, equally many of each class, validate on"
    text += " 20 %%; fixed: the published splits; sparse: train on 2.5 %%, validate on 2.5 %%"
    add("--split-scheme", default="random", choices=("random", "fixed", "sparse"), help=text)
    add("--splits", type=whole, metavar="N", help="number of splits (default: the paper's)")
    add("--seed", type=whole, default=0, metavar="S", help="for weights and dropout (default: 0)")
    text = f"hyperparameters (default: the paper's {'ranges' if ranges else 'optimum'})"
    example = "example: --dropout 0,0.5" if ranges else None
    add = parser.add_argument_group(text, example).add_argument
    for name in HYPERPARAMETERS:
        kind = partial(number, kind=int if name == "hidden" else float, several=ranges)
        add(f"--{name.replace('_', '-')}", type=kind, metavar="X,X" if ranges else "X")
    text = "hyperparameters of this model only, such as layers=8 (see `acm models NAME`)"
    add("--options", action="extend", nargs="+", default=[], metavar="NAME=X", help=text)
    add = parser.add_argument_group("ablations").add_argument
    add("--channels", metavar="C+C", help="use only some of low+high+identity")
    text = "sum the channels instead of weighting them for each node"
    add("--no-mixing", dest="mix", action="store_const", const=False, help=text)
    group = parser.add_argument_group("how to run it")
    text = f"CSV file that stores the records (default: {store})"
    group.add_argument("--store", default=store, metavar="FILE", help=text)
    group.add_argument("--device", default="cpu", metavar="NAME", help="cpu (default) or cuda")
    group.add_argument("--quiet", action="store_true", help="no progress bar")
    add = group.add_mutually_exclusive_group().add_argument
    cores = {"type": whole, "choices": range(1, (os.cpu_count() or 1) + 1), "metavar": "N"}
    add("--threads", **cores, help="train in N threads of this process")
    add("--processes", **cores, help="train in N processes (default: one per core)")
    add("--dask", metavar="ADDRESS", help="train on the Dask cluster at, say, tcp://10.0.0.1:8786")


def hyperparameters_of(args) -> dict:
    """Return the hyperparameters of the command line by name; values of `--options` are texts."""
    values = {name: getattr(args, name) for name in HYPERPARAMETERS}
    for word in args.options:
        name, _, value = word.partition("=")
        if not name or not value or re.search(r"\d_\d", value):
            raise UsageError(f"--options {word}: NAME=X is needed, such as layers=8")
        if name in values:
            raise UsageError(f"--options {word}: {name} is given twice, or has a separate option")
        values[name] = value
    return {name: value for name, value in values.items() if value is not None}


def workers_of(args):
    """Return the `Workers` that the options select, or None to train in this process."""
    from acm.experiments import Workers

    if args.threads or args.processes:
        return Workers("here" if args.threads else "processes", args.threads or args.processes)
    if args.dask is not None:
        return Workers("dask", address=args.dask)
    # Several processes do not speed up a single training or a GPU.
    single = args.splits == 1 and not hasattr(args, "strategy")
    return None if single or args.device != "cpu" else Workers("processes")
