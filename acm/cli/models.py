"""List the models that `acm run` can train, or show one.

With a name: its equation, what it does with heterophily, and the source of its hyperparameters.
Columns of the list: the paper's tables that print the model, whether many trainings of it run at
once, and on how many of the paper's ten graphs the optimum is printed. The environment variable
ACM_MODELS names modules or .py files, separated by commas, that register models of your own.
"""

from collections import Counter


def add_arguments(parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this model only")
    text = "of which splits to show hyperparameters (default: random)"
    parser.add_argument("--split-scheme", default="random", choices=("random", "fixed"), help=text)


def main(args) -> None:
    from acm.paper import table
    from acm.paper.hyperparameters import SPLIT_SCHEMES
    from acm.registry import MODELS, model_name

    if args.name is not None:
        from acm.report.pages.models import card_text

        print(card_text(model_name(args.name), args.split_scheme))
        return
    optima = Counter(row.model for key in SPLIT_SCHEMES[args.split_scheme] for row in table(key))
    width = max(map(len, MODELS))
    print(f"{'model':{width}}  {'tables':8}  stacks  optima")
    for name, entry in MODELS.items():
        tables = ", ".join(map(str, entry.tables)) or ("later" if entry.beyond else "yours")
        stacks = "yes" if entry.stackable else "no"
        print(f"{name:{width}}  {tables:8}  {stacks:6}  {optima[name] or '-'}")
