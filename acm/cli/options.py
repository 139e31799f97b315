"""Options that `acm run` and `acm search` share."""

import os
import re
from argparse import ArgumentTypeError
from functools import partial

from acm.errors import UsageError

#: The names of the hyperparameters of every model; `acm.experiments` is too slow to import here.
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")


def number(text: str, kind: type = float, several: bool = False):
    """Convert an option to a number, or to a list of them; Python would take `1_0` as 10."""
    if several:
        return [number(part, kind) for part in text.split(",")]
    try:
        return kind(text.replace("_", "no number"))
    except ValueError:
        name = "number" if kind is float else "whole number"
        raise ArgumentTypeError(f"{text!r}: a {name} is needed") from None


def add_shared(parser, store: str, ranges: bool = False) -> None:
    """Add the shared options; with `ranges` a hyperparameter takes several values."""
    whole = partial(number, kind=int)
    add = parser.add_argument_group("what to train").add_argument
    add("--dataset", required=True, type=str.lower, metavar="NAME", help="see `acm data list`")
    add("--model", required=True, metavar="NAME", help="see `acm models`")
    text = "random (default): train on 60 %% of the nodes by equal quotas of the classes, validate"
    text += " on 20 %%; fixed: the published splits; sparse: train and validate on 2.5 %% each"
    add("--split-scheme", default="random", choices=("random", "fixed", "sparse"), help=text)
    add("--splits", type=whole, metavar="N", help="how many splits (default: as in the paper)")
    add("--seed", type=whole, default=0, metavar="S", help="of initial weights and dropout (0)")
    values = "ranges, such as 0,5e-4" if ranges else "optimum"
    add = parser.add_argument_group(f"hyperparameters (default: the paper's {values})").add_argument
    for name in HYPERPARAMETERS:
        kind = partial(number, kind=int if name == "hidden" else float, several=ranges)
        add(f"--{name.replace('_', '-')}", type=kind, metavar="X,X" if ranges else "X")
    text = "of this model only, such as layers=8 (see `acm models NAME`)"
    add("--options", action="extend", nargs="+", default=[], metavar="NAME=X", help=text)
    group = parser.add_argument_group("how to run it")
    text = f"CSV file that keeps the records (default: {store})"
    group.add_argument("--store", default=store, metavar="FILE", help=text)
    group.add_argument("--device", default="cpu", metavar="NAME", help="cpu (default) or cuda")
    group.add_argument("--quiet", action="store_true", help="no progress bar")
    add = group.add_mutually_exclusive_group().add_argument
    cores = {"type": whole, "choices": range(1, (os.cpu_count() or 1) + 1), "metavar": "N"}
    add("--threads", **cores, help="train in N threads of this process")
    add("--processes", **cores, help="train in N processes (default: one per core)")
    add("--dask", metavar="ADDRESS", help="train on a Dask cluster, such as tcp://10.0.0.1:8786")


def hyperparameters_of(args) -> dict:
    """Return the hyperparameters that were asked for, by name; those of `--options` as text."""
    values = {name: getattr(args, name) for name in HYPERPARAMETERS}
    for word in args.options:
        name, _, value = word.partition("=")
        if not name or not value or re.search(r"\d_\d", value):
            raise UsageError(f"--options {word}: NAME=X is needed, such as layers=8")
        if name in values:
            raise UsageError(f"--options {word}: {name} is given twice, or is an option itself")
        values[name] = value
    return {name: value for name, value in values.items() if value is not None}


def workers_of(args):
    """Return the `Workers` that the options ask for, or None for the default."""
    from acm.experiments import Workers

    if args.threads or args.processes:
        return Workers("here" if args.threads else "processes", args.threads or args.processes)
    if args.dask is not None:
        return Workers("dask", address=args.dask)
    # A single training and a GPU gain nothing from processes.
    single = args.splits == 1 and not hasattr(args, "strategy")
    return None if single or args.device != "cpu" else Workers("processes")
