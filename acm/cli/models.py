"""List the models that `acm run` can train, or show one model.

With NAME, the output is the model's equation, how the model handles heterophily, and the source of
its hyperparameters. Columns of the list: `tables`, the paper's tables that have the model;
`stacks`, whether several trials can train at once; `optima`, the number of graphs for which the
paper prints hyperparameters. The environment variable ACM_MODELS adds your own models: it lists
modules or .py files, separated by commas.
"""

from collections import Counter


def add_arguments(parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="show this model only")
    text = "show the hyperparameters for these splits (default: random)"
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
