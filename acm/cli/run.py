"""`acm run`: train one cell of a table, and hold it against the paper."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

FAULT = "there is not enough memory for this"

_WORDS = (
    "allocate memory",
    "enough memory",
    "out of memory",
    "size calculation overflowed",
    "integer multiplication overflow",
)


def is_memory(error: Exception) -> bool:
    """Whether memory ran out, or could never do; PyTorch says so in words."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(words in said for words in _WORDS)


@contextmanager
def memory_for(model: str, sizes: Mapping[str, object]) -> Iterator[None]:
    """A block that turns memory running out into a `UsageError` that names what is too large.

    Args:
        model: What is trained, in any case.
        sizes: `hidden` and the model's own hyperparameters as they were asked for, text or number.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_memory(error):
            raise
        from acm.errors import UsageError

        raise UsageError(f"{FAULT}: {_advice(model, sizes)}") from error


def _advice(model: str, sizes: Mapping[str, object]) -> str:
    from acm.experiments.recipes import WIDTH, default_options
    from acm.registry import model_name

    model = model_name(model)
    usual = {
        name: n
        for name, n in ({"hidden": WIDTH} | default_options(model)).items()
        if type(n) is int
    }
    given = {name: int(sizes[name]) for name in usual if sizes.get(name) is not None}
    large = {name: n / usual[name] for name, n in given.items() if n > usual[name] > 0}
    if not large:
        return (
            f"the sizes of {model} are the usual ones, so fewer --processes or more memory may do"
        )
    said = [
        f"{'--hidden ' if name == 'hidden' else f'--options {name}='}{given[name]}"
        f" ({usual[name]} is usual)"
        for name in sorted(large, key=large.get, reverse=True)
    ]
    return f"a smaller {' or '.join(said)} may do"


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are one line and exit code 2, like every other refusal of `acm`."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where more stands, instead of the usage."""
        # In the standard words an option stands behind the word "argument".
        said = " ".join(message.removeprefix("argument ").split())
        self.exit(2, f"acm: {said} (`{self.prog} --help` tells more)\n")


def whole(text: str) -> int:
    """The type of an option that takes a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number is needed") from None


def number(text: str) -> float:
    """The type of an option that takes a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a number is needed") from None


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


def read_options_given(words: list[str]) -> dict[str, str]:
    """What `--options` gives the model's own hyperparameters, as text by their names.

    Raises:
        UsageError: If a word is not `NAME=X`, or the name that of an option or of another word.
    """
    from acm.errors import UsageError

    found = {}
    for word in words:
        if not all(word.partition("=")):
            raise UsageError(f"--options {word}: NAME=X is needed, such as layers=8")
        name, _, value = word.partition("=")
        if name in HYPERPARAMETERS:
            raise UsageError(f"--options {word}: that is --{name.replace('_', '-')} {value}")
        if name in found:
            raise UsageError(f"--options {word}: {name} is given twice, as {found[name]} as well")
        found[name] = value
    return found


def place(args):
    """The `acm.experiments.Workers` that the options ask for.

    Raises:
        UsageError: If they ask for more than one, or for what cannot be.
    """
    from acm.errors import UsageError
    from acm.experiments import Workers, workers
    from acm.experiments.workers import cores

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
        return Workers("dask", address=args.dask)
    if args.processes:
        return Workers("processes", args.processes)
    if args.threads:
        return Workers("here", args.threads)
    return Workers("processes") if _in_processes(args) and workers.possible() else None


def _in_processes(args) -> bool:
    """Whether processes are the default: not for a GPU, nor for a single training."""
    single = args.splits == 1 and not hasattr(args, "strategy")  # a search has many
    return args.device == "cpu" and args.threads is None and args.dask is None and not single


def warm_up(args) -> None:
    """Let processes, if there will be some, begin before this one imports PyTorch."""
    from acm.experiments import workers

    if _in_processes(args):
        with contextlib.suppress(OSError):  # it is said, if it matters, where one is needed
            workers.warm_up()


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
  acm run --dataset chameleon --model ACM-GCN --split-scheme fixed
  acm run --dataset film --model ACM-GCN --channels low+identity      an ablation of Table 2
  acm run --dataset cora --model GCNII --options layers=16 alpha=0.2""",
    )
    what = parser.add_argument_group("what to train")
    what.add_argument("--dataset", required=True, metavar="NAME", help="see `acm data list`")
    what.add_argument("--model", required=True, metavar="NAME", help="see below, in any case")
    what.add_argument(
        "--split-scheme",
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
        "--options",
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
    from acm.experiments import Store, trials_of
    from acm.experiments import run_trials as run_trials
    from acm.experiments.recipes import complete, read_options
    from acm.report import compare

    where = place(args)
    given = {name: getattr(args, name) for name in HYPERPARAMETERS} | read_options_given(
        args.options
    )
    with memory_for(args.model, given):  # the model is built here, to see whether it can be
        trials = trials_of(
            args.dataset,
            args.model,
            args.split_scheme,
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
    print(complete(first.model, first.dataset, first.split_scheme, given).sentence())
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
