"""`acm models`: list the models, or show the card of one."""

from __future__ import annotations

import argparse
import contextlib


def add_parser(subparsers) -> None:
    """Add `acm models` to the command line."""
    parser = subparsers.add_parser(
        "models",
        help="list the models of the tables, or show one",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
List every model that `acm run` can train: the rows of Tables 2, 3 and 8, later models, and your
own. With a name: its equation, what it does with heterophily, its hyperparameters, and their
source for each graph.""",
        epilog="""\
columns:
  tables   the paper's tables that print the model
  stacks   whether many trainings of it run at once
  optima   on how many of the paper's ten graphs the optimum is printed

environment:
  ACM_MODELS   modules or .py files, separated by commas, that register models of your own""",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this model only")
    parser.add_argument(
        "--split-scheme",
        default="random",
        metavar="random|fixed",
        help="of which splits to show hyperparameters (default: random)",
    )
    parser.set_defaults(main=main)


def main(args) -> None:
    """Print the list, or the card of one model."""
    from acm.errors import unknown
    from acm.paper.hyperparameters import SPLIT_SCHEMES
    from acm.registry import MODELS, model_name

    if args.name is not None:
        from acm.report.pages.models import card_text

        print(card_text(model_name(args.name), args.split_scheme))
        return
    if args.split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", args.split_scheme, SPLIT_SCHEMES)
    width = max(map(len, MODELS))
    print(f"{'model':{width}}  {'tables':8}  stacks  optima")
    for name, entry in MODELS.items():
        tables = ", ".join(map(str, entry.tables)) or ("later" if entry.beyond else "yours")
        stacks = "yes" if entry.stackable else "no"
        print(f"{name:{width}}  {tables:8}  {stacks:6}  {_optima(name, args.split_scheme) or '-'}")


def _optima(model: str, split_scheme: str) -> int:
    """Return on how many of the paper's graphs the optimum of a model is printed."""
    from acm.data.names import PAPER_DATASETS
    from acm.errors import UsageError
    from acm.paper import hyperparameters

    count = 0
    for dataset in PAPER_DATASETS:
        with contextlib.suppress(UsageError):
            count += bool(hyperparameters(model, dataset, split_scheme))
    return count
