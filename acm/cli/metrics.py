"""`acm metrics`: measure the homophily of a graph, one of the paper's or the user's own."""

from __future__ import annotations

import argparse
import json
from math import isnan
from pathlib import Path


def add_parser(subparsers) -> None:
    """Add `acm metrics` to the command line."""
    parser = subparsers.add_parser(
        "metrics",
        help="measure how homophilic a graph is",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Compute all homophily metrics of a graph, exactly and in linear time.",
        epilog="""\
GRAPH is a name of `acm data list` or a file:
  graph.npz     edge_index [2, E] or edges [E, 2]; y or node_labels [N]; perhaps x or node_features
  graph.pt      a PyG Data saved with torch.save, or its to_dict(); pickled code is never run
  edges.csv     two nodes a line, with --labels: a node and its label a line, or labels in order

A file with more columns needs the names or numbers of its columns. Lines above the data that begin
with # are comments. The first lines of the output say what was read.

An interval shows what ties leave open: from the share of nodes whose comparison holds strictly to
the share whose comparison holds with equality. A value that is 0 / 0 on this graph is nan, and null
in JSON. A graph without edges is refused.

examples:
  acm metrics texas
  acm metrics my_edges.csv --labels my_labels.csv --json
  acm metrics trades.csv --source buyer --target seller --labels firms.csv --label sector
  acm metrics chameleon --ties '>'               count ties of features as Table 7 does""",
    )
    parser.add_argument("graph", metavar="GRAPH", help="name of a graph, or a file")
    files = parser.add_argument_group("how to read an edge list")
    files.add_argument("--labels", type=Path, metavar="FILE", help="file of the labels")
    files.add_argument("--sep", metavar="S", help="separator of both files (default: , ; or blank)")
    files.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether both files begin with names of columns",
    )
    for name, text in (
        ("source", "where edges begin"),
        ("target", "where edges end"),
        ("node", "the labeled nodes"),
        ("label", "their labels"),
    ):
        files.add_argument(f"--{name}", metavar="COLUMN", help=f"column of {text}: name, or 0, 1 …")
    parser.add_argument(
        "--direction",
        choices=("undirected", "out", "in"),
        default="undirected",
        help="which nodes are neighbors (default: both ends of an edge)",
    )
    parser.add_argument(
        "--loops",
        choices=("remove", "keep", "add"),
        default="keep",
        help="self-loops in the aggregation (default: keep); edge counts never include them",
    )
    parser.add_argument(
        "--ties",
        choices=(">=", ">"),
        default=">=",
        help="whether equal means count as a success (default: >=, yes)",
    )
    parser.add_argument(
        "--raw-features", action="store_true", help="do not divide feature rows by their sums"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(main=main)


def main(args) -> None:
    """Print what was read, and all metrics."""
    from acm.metrics import all_metrics

    x, edge_index, y, description = _graph(args)
    conventions = {
        "direction": args.direction,
        "loops": args.loops,
        "ties": args.ties,
        "normalize_features": not args.raw_features,
    }
    rows = {n: _facts(v) for n, v in all_metrics(x, edge_index, y, **conventions).items()}
    nodes, classes = len(y), int(y.max()) + 1
    if args.json:
        result = {"graph": args.graph, "nodes": nodes, "classes": classes, "read": description}
        result |= {"conventions": conventions, "metrics": rows}
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return
    for line in description:
        print(line)
    plural = "s" * (nodes != 1), "es" * (classes != 1)
    print(f"{args.graph}: {nodes:,} node{plural[0]}, {classes} class{plural[1]}, {args.direction}")
    width = max(map(len, rows))
    for name, facts in rows.items():
        value = float("nan") if facts["value"] is None else facts["value"]
        line = f"{name:{width}}  {value:8.4f}"
        low, high = facts.get("interval", (0, 0))
        if low != high:
            line += f"  [{low:.4f}, {high:.4f}]  {facts['ties']:.2%} of nodes tie"
        if facts.get("undecided"):
            line += f", {facts['undecided']} of them undecided"
        print(line)


def _graph(args):
    from acm.data.names import DATASETS
    from acm.errors import UsageError, unknown

    options = ("labels", "sep", "header", "source", "target", "node", "label")
    if args.graph in DATASETS:
        for name in options:
            if getattr(args, name) is not None:
                raise UsageError(f"{args.graph} has its own labels and edges: leave --{name} out")
        from acm.data import load

        data = load(args.graph, directed=args.direction != "undirected")
        return data.x, data.edge_index, data.y, []
    path = Path(args.graph)
    if path.is_dir():
        raise UsageError(f"{path} is a folder: a file or a name of `acm data list` is needed")
    if not path.is_file():
        if path.suffix or "/" in args.graph:
            raise UsageError(f"there is no file {path}")
        raise unknown("data set", args.graph, DATASETS, ", and there is no such file")
    from acm.cli.graph_file import read_graph

    return read_graph(path, **{name: getattr(args, name) for name in options})


def _facts(value: float) -> dict[str, object]:
    """Return a metric's value and its ties in types that JSON has."""
    facts: dict[str, object] = {"value": None if isnan(value) else float(value)}
    if hasattr(value, "interval"):
        facts["interval"], facts["ties"] = list(value.interval), value.ties
        facts["undecided"] = int(value.undecided.sum())
    return facts
