"""`acm models`: list the models, or show the card of one."""

from __future__ import annotations

import argparse


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
  recipes  how many of the paper's ten graphs have a printed optimum (random splits)

environment:
  ACM_MODELS   modules or .py files, separated by commas, that register models of your own""",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this model only")
    parser.add_argument(
        "--split-scheme",
        default="random",
        metavar="random|fixed",
        help="whose recipes to show (default: random)",
    )
    parser.set_defaults(main=main)


def main(args) -> None:
    """Print the list, or the card of one model."""
    from acm.errors import unknown
    from acm.experiments.recipes import SPLIT_SCHEMES
    from acm.registry import MODELS, model_name

    if args.split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", args.split_scheme, SPLIT_SCHEMES)
    if args.name is not None:
        from acm.report.pages.models import card_text

        print(card_text(model_name(args.name), args.split_scheme))
        return
    from acm.report.pages.models import origins

    width = max(map(len, MODELS))
    print(f"{'model':{width}}  {'tables':8}  stacks  recipes")
    for name, entry in MODELS.items():
        tables = ", ".join(map(str, entry.tables)) or ("later" if entry.beyond else "yours")
        stacks = "yes" if entry.stackable else "no"
        print(f"{name:{width}}  {tables:8}  {stacks:6}  {origins(name, args.split_scheme)}")
