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
  recipes  how many of the paper's ten graphs have a published optimum (random splits)

environment:
  ACM_MODELS   modules or .py files, with commas between them, that register models of your own""",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="tell of this one")
    parser.add_argument(
        "--protocol",
        default="random",
        metavar="random|fixed",
        help="whose recipes to tell of (default: random)",
    )
    parser.set_defaults(run=run)


def run(args) -> None:
    """Print the list or the card."""
    from acm.errors import unknown
    from acm.experiments.recipes import PROTOCOLS
    from acm.nn import MODELS, model_name

    if args.protocol not in PROTOCOLS:
        raise unknown("protocol", args.protocol, PROTOCOLS)
    if args.name is not None:
        _card(MODELS[model_name(args.name)], args.protocol)
        return
    width = max(map(len, MODELS))
    print(f"{'model':{width}}  {'tables':8} {'weights':>9}  stacks  recipes")
    for name, entry in MODELS.items():
        tables = ", ".join(map(str, entry.tables)) or ("beyond" if entry.beyond else "own")
        weights, stacks = _looked_at(entry)
        recipes = _summary(name, args.protocol)
        print(f"{name:{width}}  {tables:8} {weights:>9}  {stacks:6}  {recipes}")


def _card(entry, protocol: str) -> None:
    from acm.data.names import PAPER_DATASETS
    from acm.errors import UsageError
    from acm.experiments.options import own
    from acm.experiments.recipes import recipe

    tables = ", ".join(map(str, entry.tables))
    where = f"Tables {tables}" if len(entry.tables) > 1 else f"Table {tables}"
    there = where if tables else "beyond this paper" if entry.beyond else "a model of your own"
    print(f"{entry.name} ({there})\n\n  {entry.equation}\n")
    if entry.heterophily:
        print(f"heterophily  {entry.heterophily}")
    if entry.source:
        print(f"paper        {entry.source}")
    mixed = "mixed node by node" if entry.mix else "not mixed"
    if entry.channels:
        print(f"channels     {'+'.join(entry.channels)}, {mixed}")
    own_values = own(entry.name)
    if own_values:
        print(f"its own      {', '.join(f'{n} ({v})' for n, v in own_values.items())}")
    weights, stacks = _looked_at(entry)
    print(f"weights      {weights} on Cora\nstacks       {stacks}")
    print(f"\nrecipes ({protocol} splits)")
    for dataset in PAPER_DATASETS:
        try:
            r = recipe(entry.name, dataset, protocol)
        except UsageError:
            print(f"  {dataset:13}  none: give lr, weight_decay and dropout")
            continue
        values = f"lr {r.lr:g}, weight decay {r.weight_decay:g}, dropout {r.dropout:g}"
        more = f", {r.options.replace(' ', ', ').replace('=', ' ')}" if r.options else ""
        print(f"  {dataset:13}  {values}, hidden {r.hidden}{more}\n{'':17}{r.sentence()}")


#: Of Cora: features, classes, nodes.
_CORA = 1433, 7, 2708


def _looked_at(entry) -> tuple[str, str]:
    """The number of weights on Cora, and whether trainings can be stacked."""
    import torch

    from acm.errors import UsageError
    from acm.experiments.options import arguments, own, write_options
    from acm.experiments.recipes import recipe
    from acm.filters import low_pass
    from acm.nn import build
    from acm.training import Setting
    from acm.training.stack import own_generator, stackable

    try:
        r = recipe(entry.name, "cora")
        hidden, options = r.hidden, r.options
    except UsageError:
        hidden, options = 64, write_options(own(entry.name))
    given = arguments(entry.name, options)
    features, classes, nodes = _CORA
    with own_generator(torch.device("cpu")):
        try:
            model = build(entry.name, features, classes, hidden, num_nodes=nodes, **given)
            small = build(entry.name, 3, 2, 4, num_nodes=4, **given)
        except UsageError as error:  # what it needs is not installed
            return "-", str(error)
    weights = sum(p.numel() for p in model.parameters())
    ring = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    graph = getattr(small, "operator", low_pass)(ring, 4)
    nodes = torch.arange(4)
    setting = Setting(nodes < 2, nodes == 2, 0.01, 0.0, 0)
    x = torch.rand(4, 3, generator=torch.Generator().manual_seed(0))
    return f"{weights:,}", "yes" if stackable(small, x, graph, setting) else "no"


def _summary(name: str, protocol: str) -> str:
    """How many of the ten graphs have which kind of recipe."""
    from collections import Counter

    from acm.data.names import PAPER_DATASETS
    from acm.errors import UsageError
    from acm.experiments.recipes import ORIGINS, recipe

    found: Counter[str] = Counter()
    for dataset in PAPER_DATASETS:
        try:
            found[recipe(name, dataset, protocol).origin] += 1
        except UsageError:
            found["none"] += 1
    return ", ".join(f"{found[o]} {o}" for o in (*ORIGINS, "none") if found[o])
