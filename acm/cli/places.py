"""Options that `acm run` and `acm search` share: where trainings run, for the most part."""

from __future__ import annotations

import contextlib

from acm.cli.parser import whole

#: Named here as well as in `acm.experiments`, whose import would slow down `acm --help`.
HYPERPARAMETERS = ("lr", "weight_decay", "dropout", "hidden")


def add_options(parser) -> None:
    """Add the options to a parser or a group of it."""
    parser.add_argument("--device", default="cpu", metavar="NAME", help="cpu (default) or cuda")
    parser.add_argument(
        "--threads",
        type=whole,
        metavar="N",
        help="CPU threads, each with trials of its own; the results do not depend on it",
    )
    parser.add_argument(
        "--processes",
        type=whole,
        metavar="N",
        help="processes instead, which is faster (default: as many as there are cores)",
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="workers of a Dask cluster, such as tcp://10.0.0.1:8786"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def read_own(words: list[str]) -> dict[str, str]:
    """What `--own` gives the model's own hyperparameters, as text by their names.

    Raises:
        UsageError: If a word is not `NAME=X`, or the name that of an option or of another word.
    """
    from acm.errors import UsageError

    found = {}
    for word in words:
        if not all(word.partition("=")):
            raise UsageError(f"--own {word}: NAME=X is needed, such as layers=8")
        name, _, value = word.partition("=")
        if name in HYPERPARAMETERS:
            raise UsageError(f"--own {word}: that is --{name.replace('_', '-')} {value}")
        if name in found:
            raise UsageError(f"--own {word}: {name} is given twice, as {found[name]} as well")
        found[name] = value
    return found


def place(args):
    """The `acm.experiments.Place` that the options ask for.

    Raises:
        UsageError: If they ask for more than one, or for what cannot be.
    """
    from acm import workers
    from acm.errors import UsageError
    from acm.experiments import Place
    from acm.experiments.places import cores

    asked = [name for name in ("threads", "processes", "dask") if getattr(args, name) is not None]
    if len(asked) > 1:
        raise UsageError(f"--{asked[0]} and --{asked[1]}: one of them is enough")
    if args.device.split(":")[0] not in ("cpu", "cuda"):
        raise UsageError(f"--device is {args.device!r}: cpu or cuda is needed")
    for name in ("threads", "processes"):
        number = getattr(args, name)
        if number is not None and not 1 <= number <= cores():
            raise UsageError(f"--{name} is {number}: from 1 to {cores()}, the cores there are")
    if args.dask is not None:
        return Place("dask", address=args.dask)
    if args.processes:
        return Place("processes", args.processes)
    if args.threads:
        return Place("here", args.threads)
    return Place("processes") if _in_processes(args) and workers.possible() else None


def _in_processes(args) -> bool:
    """Whether processes are the default: not for a GPU, nor for a single training."""
    single = args.splits == 1 and not hasattr(args, "strategy")  # a search has many
    return args.device == "cpu" and args.threads is None and args.dask is None and not single


def warm_up(args) -> None:
    """Let processes, if there will be some, begin before this one imports PyTorch."""
    from acm import workers

    if _in_processes(args):
        with contextlib.suppress(OSError):  # it is said, if it matters, where one is needed
            workers.warm_up()
