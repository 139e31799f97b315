"""Measure the homophily of a graph, exactly and in linear time.

GRAPH is a name from `acm data list`, or a file:
  graph.npz     edge_index [2, E] or edges [E, 2]; y or node_labels [N]; x or node_features if any
  graph.pt      a PyG Data saved with torch.save, or its to_dict(); pickled code is never run
  edges.csv     two nodes per line; the --labels file has a node and a label, or a label, per line

Lines above a table that begin with "# " are comments. The first output lines report what was read.
If nodes tie, brackets show two values: all ties count as failures, and all ties count as successes.
A value that is 0 / 0 is printed as nan, and as null in JSON. A graph without edges is refused.
"""

import argparse
import json
from math import isnan
from pathlib import Path

from acm.data.names import DATASETS
from acm.errors import UsageError, unknown

_TABLE_OPTIONS = ("labels", "sep", "header", "source", "target", "node", "label")


def add_arguments(parser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="name of a graph, or a path")
    add = parser.add_argument_group("how to read an edge list").add_argument
    add("--labels", type=Path, metavar="FILE", help="file of the node labels")
    add("--sep", metavar="S", help="separator of both files (default: , ; tab or blank)")
    text = "line 1 of both files has column names (default: detect the known names)"
    add("--header", action=argparse.BooleanOptionalAction, help=text)
    for name in _TABLE_OPTIONS[-4:]:
        add(f"--{name}", metavar="COLUMN", help=f"column name, or number from 0 (default: {name})")
    add = parser.add_argument_group("conventions").add_argument
    for flag, choices, text in (
        ("--direction", ("undirected", "out", "in"), "edge direction that defines neighbors"),
        ("--loops", ("keep", "remove", "add"), "self-loops; edge metrics always ignore them"),
        ("--ties", (">=", ">"), "whether equal means count as a success"),
    ):
        add(flag, choices=choices, default=choices[0], help=f"{text} (default: {choices[0]})")
    text = "the same as --direction out"
    add("--directed", dest="direction", action="store_const", const="out", help=text)
    add("--raw-features", action="store_true", help="do not divide feature rows by their sums")
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(args) -> None:
    from acm.cli.graph_file import counts
    from acm.metrics import all_metrics

    x, edge_index, y, read = _graph(args)
    conventions = {name: getattr(args, name) for name in ("direction", "loops", "ties")}
    conventions["normalize_features"] = not args.raw_features
    scores = all_metrics(x, edge_index, y, **conventions)
    read += [counts(edge_index, len(y))] if read else []
    nodes, classes = len(y), int(y.max()) + 1
    if args.json:
        result = {"graph": args.graph, "nodes": nodes, "classes": classes, "read": read}
        result["conventions"] = conventions
        result["metrics"] = {name: _facts(score) for name, score in scores.items()}
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return
    print(*read, f"{args.graph}: {nodes:,} nodes, {classes} classes, {args.direction}", sep="\n")
    for name, score in scores.items():
        line = f"{name:13}  {score:8.4f}"
        low, high = getattr(score, "interval", (0, 0))
        if low != high:
            line += f"  [{low:.4f}, {high:.4f}]  {score.ties:.2%} of nodes tie"
            undecided = int(score.undecided.sum())
            line += f", {undecided} of them undecided" if undecided else ""
        print(line)


def _graph(args) -> tuple:
    """Return features, edges, classes, and lines that report what was read from a file."""
    from acm.cli.graph_file import read_archive, read_tables

    path = Path(args.graph)
    if not path.is_file() and args.graph.lower() not in DATASETS:
        raise unknown("data set", args.graph, DATASETS, ", and there is no such file")
    options = {option: getattr(args, option) for option in _TABLE_OPTIONS}
    if path.is_file() and path.suffix.lower() not in (".npz", ".pt", ".pth"):
        return read_tables(path, **options)
    if any(value is not None for value in options.values()):
        raise UsageError(f"{path} is not an edge list: do not use --{', --'.join(options)}")
    if path.is_file():
        return read_archive(path)
    from acm.data import load

    data = load(args.graph.lower(), directed=args.direction != "undirected")
    return data.x, data.edge_index, data.y, []


def _facts(score: float) -> dict[str, object]:
    """Convert a metric's value, interval and ties to types that JSON has."""
    facts: dict[str, object] = {"value": None if isnan(score) else float(score)}
    if hasattr(score, "interval"):
        facts |= {"interval": list(score.interval), "ties": score.ties}
        facts["undecided"] = int(score.undecided.sum())
    return facts
