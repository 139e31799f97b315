"""Options that `acm run` and `acm search` share: hyperparameters, and where trainings run."""

from __future__ import annotations

import argparse

#: The names of the hyperparameters of every model; `acm.experiments` is too slow to import here.
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")


def whole(text: str) -> int:
    """Convert an option to a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number is needed") from None


def number(text: str) -> float:
    """Convert an option to a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a number is needed") from None


def add_cell_options(parser) -> None:
    """Add the options that say which cell of a table is trained."""
    parser.add_argument("--dataset", required=True, metavar="NAME", help="see `acm data list`")
    parser.add_argument("--model", required=True, metavar="NAME", help="see `acm models`")
    parser.add_argument(
        "--split-scheme",
        default="random",
        metavar="random|fixed|sparse",
        help="new random splits by a quota of 60 %% training nodes per class, the ten fixed ones,"
        " or 2.5/2.5/95 (default: random)",
    )
    parser.add_argument(
        "--splits",
        type=whole,
        metavar="N",
        help="how many splits (default: as in the paper, 10; 5 on deezer-europe)",
    )
    parser.add_argument(
        "--seed",
        type=whole,
        default=0,
        metavar="S",
        help="seed of initial weights and dropout (default: 0)",
    )


def add_worker_options(parser, store: str) -> None:
    """Add the options that say where trainings run and where their records are kept."""
    parser.add_argument(
        "--store",
        default=store,
        metavar="FILE",
        help=f"CSV file that keeps the records (default: {store})",
    )
    parser.add_argument("--device", default="cpu", metavar="NAME", help="cpu (default) or cuda")
    parser.add_argument(
        "--threads", type=whole, metavar="N", help="train in N threads of this process"
    )
    parser.add_argument(
        "--processes", type=whole, metavar="N", help="train in N processes (default: one per core)"
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="train on a Dask cluster, such as tcp://10.0.0.1:8786"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def read_options(words: list[str]) -> dict[str, str]:
    """Return the values that `--options` gives, as text by name.

    Raises:
        UsageError: If a word is not `NAME=X`, names a common hyperparameter, or comes twice.
    """
    from acm.errors import UsageError

    options: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if not name or not value:
            raise UsageError(f"--options {word}: NAME=X is needed, such as layers=8")
        if name in HYPERPARAMETERS:
            raise UsageError(f"--options {word}: use --{name.replace('_', '-')} {value}")
        if name in options:
            raise UsageError(f"--options {word}: {name} is already given as {options[name]}")
        options[name] = value
    return options


def workers_of(args):
    """Return the `Workers` that the options ask for, or None for the default.

    Raises:
        UsageError: If the options ask for two kinds, or for more than there are cores.
    """
    from acm.errors import UsageError
    from acm.experiments import Workers
    from acm.experiments.workers import cores

    kinds = [name for name in ("threads", "processes", "dask") if getattr(args, name) is not None]
    if len(kinds) > 1:
        raise UsageError(f"--{kinds[0]} and --{kinds[1]}: give one of them")
    if args.device.split(":")[0] not in ("cpu", "cuda"):
        raise UsageError(f"--device is {args.device!r}: cpu or cuda is needed")
    for name in ("threads", "processes"):
        count = getattr(args, name)
        if count is not None and not 1 <= count <= cores():
            raise UsageError(f"--{name} is {count}: from 1 to {cores()}, the number of cores")
    if args.dask is not None:
        return Workers("dask", address=args.dask)
    if args.processes:
        return Workers("processes", args.processes)
    if args.threads:
        return Workers("here", args.threads)
    # A single training and a GPU gain nothing from processes.
    single = args.splits == 1 and not hasattr(args, "strategy")
    return None if single or args.device != "cpu" else Workers("processes")
