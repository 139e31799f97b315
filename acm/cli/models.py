"""`acm models`: which models there are, and the card of each."""

from __future__ import annotations

import argparse


def add_parser(subparsers) -> None:
    """Register `acm models`."""
    parser = subparsers.add_parser(
        "models",
        help="list the models of the tables, or tell of one",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="""\
Every model that `acm run` knows: the rows of Tables 2, 3 and 8, what is beyond them, and models of
your own. With a name: its equation, what it does with heterophily, its hyperparameters, and where
those of each graph come from.""",
        epilog="""\
columns:
  tables   of the paper that print the model
  weights  how many there are on Cora, with the recipe for it
  stacks   whether many trainings of it run at once
  recipes  how many of the paper's ten graphs have a printed optimum (random splits)

environment:
  ACM_MODELS   modules or .py files, with commas between them, that register models of your own""",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="tell of this one")
    parser.add_argument(
        "--split-scheme",
        default="random",
        metavar="random|fixed",
        help="whose recipes to tell of (default: random)",
    )
    parser.set_defaults(run=run)


def run(args) -> None:
    """Print the list or the card."""
    from acm.errors import unknown
    from acm.experiments.recipes import SPLIT_SCHEMES
    from acm.registry import MODELS, model_name
    from acm.report.pages.models import card_text, origins, size, stacks

    if args.split_scheme not in SPLIT_SCHEMES:
        raise unknown("split scheme", args.split_scheme, SPLIT_SCHEMES)
    if args.name is not None:
        print(card_text(model_name(args.name), args.split_scheme))
        return
    width = max(map(len, MODELS))
    print(f"{'model':{width}}  {'tables':8} {'weights':>9}  stacks  recipes")
    for name, entry in MODELS.items():
        tables = ", ".join(map(str, entry.tables)) or ("beyond" if entry.beyond else "own")
        recipes = origins(name, args.split_scheme)
        print(f"{name:{width}}  {tables:8} {size(name):>9}  {stacks(name):6}  {recipes}")
