"""Measure how homophilic a graph is, exactly and in linear time.

GRAPH is a name of `acm data list` or a file:
  graph.npz     edge_index [2, E] or edges [E, 2]; y or node_labels [N]; perhaps x or node_features
  graph.pt      a PyG Data saved with torch.save, or its to_dict(); pickled code is never run
  edges.csv     two nodes a line, with --labels: a node and its label a line, or labels in order

Lines above a table that begin with "# " are comments. The first lines of the output say what was
read. An interval goes from the value without the nodes that tie to the value with them. A value
that is 0 / 0 on this graph is nan, and null in JSON. A graph without edges is refused.
"""

import argparse
import json
from math import isnan
from pathlib import Path

from acm.data.names import DATASETS
from acm.errors import UsageError, unknown

_TABLE_OPTIONS = ("labels", "sep", "header", "source", "target", "node", "label")


def add_arguments(parser) -> None:
    parser.add_argument("graph", metavar="GRAPH", help="name of a graph, or a file")
    add = parser.add_argument_group("how to read an edge list").add_argument
    add("--labels", type=Path, metavar="FILE", help="file of the labels")
    add("--sep", metavar="S", help="separator of both files (default: , ; tab or blank)")
    text = "both files begin with names of columns (default: if the first line has such a name)"
    add("--header", action=argparse.BooleanOptionalAction, help=text)
    for name in _TABLE_OPTIONS[-4:]:
        add(f"--{name}", metavar="COLUMN", help=f"its name, or 0, 1, … (default: {name})")
    add = parser.add_argument_group("conventions").add_argument
    for flag, choices, text in (
        ("--direction", ("undirected", "out", "in"), "which nodes are neighbors"),
        ("--loops", ("keep", "remove", "add"), "self-loops in aggregations; edges count without"),
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
    """Return features, edges, classes, and lines that say what was read from a file."""
    from acm.cli.graph_file import read_archive, read_tables

    path = Path(args.graph)
    if not path.is_file() and args.graph.lower() not in DATASETS:
        raise unknown("data set", args.graph, DATASETS, ", and there is no such file")
    options = {option: getattr(args, option) for option in _TABLE_OPTIONS}
    if path.is_file() and path.suffix.lower() not in (".npz", ".pt", ".pth"):
        return read_tables(path, **options)
    if any(value is not None for value in options.values()):
        raise UsageError(f"{path} is no edge list: leave --{', --'.join(options)} out")
    if path.is_file():
        return read_archive(path)
    from acm.data import load

    data = load(args.graph.lower(), directed=args.direction != "undirected")
    return data.x, data.edge_index, data.y, []


def _facts(score: float) -> dict[str, object]:
    """Return a metric's value and its ties in types that JSON has."""
    facts: dict[str, object] = {"value": None if isnan(score) else float(score)}
    if hasattr(score, "interval"):
        facts |= {"interval": list(score.interval), "ties": score.ties}
        facts["undecided"] = int(score.undecided.sum())
    return facts
