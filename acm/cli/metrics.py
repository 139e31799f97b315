"""`acm metrics`: how homophilic a graph is, the user's own included."""

from __future__ import annotations

import argparse
import json
from math import isnan
from pathlib import Path


def add_parser(subparsers) -> None:
    """Register `acm metrics`."""
    parser = subparsers.add_parser(
        "metrics",
        help="measure how homophilic a graph is",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="All homophily metrics of a graph, exactly and in linear time.",
        epilog="""\
GRAPH is a name of `acm data list` or a file:
  graph.npz     edge_index [2, E] or edges [E, 2]; y or node_labels [N]; perhaps x or node_features
  graph.pt      a PyG Data saved with torch.save, or its to_dict(); no pickled code is run
  edges.csv     two nodes a line, with --labels: a node and its label a line, or labels in order

The interval shows what ties leave open: the share of nodes for which a comparison holds strictly,
and the share for which it holds at all. Where rounding leaves nodes undecided, their number stands
behind it. A value that is 0 / 0 on this graph is nan, and null in JSON. Labels of a file are
numbered by their distinct values.

examples:
  acm metrics texas
  acm metrics my_edges.csv --labels my_labels.csv --json
  acm metrics chameleon --ties '>'               as Table 7 counts ties of features""",
    )
    parser.add_argument("graph", metavar="GRAPH", help="name of a data set, or a file")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="labels of an edge list")
    parser.add_argument(
        "--direction",
        choices=("undirected", "out", "in"),
        default="undirected",
        help="whose neighbour a node is (default: that of both ends)",
    )
    parser.add_argument(
        "--loops",
        choices=("remove", "keep", "add"),
        default="keep",
        help="self-loops in the aggregation (default: keep); edges that are counted have none",
    )
    parser.add_argument(
        "--ties",
        choices=(">=", ">"),
        default=">=",
        help="whether equal means count as a success (default: >=, they do)",
    )
    parser.add_argument(
        "--raw-features",
        action="store_true",
        help="take features as they are instead of dividing rows by their sums",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(args) -> None:
    from acm.metrics import all_metrics

    x, edge_index, y = _graph(args)
    found = all_metrics(
        x,
        edge_index,
        y,
        direction=args.direction,
        loops=args.loops,
        ties=args.ties,
        normalize_features=not args.raw_features,
    )
    rows = {name: _facts(value) for name, value in found.items()}
    nodes, classes = len(y), int(y.max()) + 1
    if args.json:
        conventions = {
            "direction": args.direction,
            "loops": args.loops,
            "ties": args.ties,
            "normalize_features": not args.raw_features,
        }
        print(
            json.dumps(
                {
                    "graph": args.graph,
                    "nodes": nodes,
                    "classes": classes,
                    "conventions": conventions,
                    "metrics": rows,
                },
                indent=1,
                ensure_ascii=False,
            )
        )
        return
    print(
        f"{args.graph}: {nodes:,} node{'s' * (nodes != 1)}, {classes}"
        f" class{'es' * (classes != 1)}, {args.direction}"
    )
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

    path = Path(args.graph)
    if args.graph in DATASETS:
        if args.labels is not None:
            raise UsageError(f"{args.graph} has its own labels: leave --labels out")
        from acm.data import load

        data = load(args.graph, directed=args.direction != "undirected")
        return data.x, data.edge_index, data.y
    if path.is_file():
        from acm.cli.graph_file import read_graph

        return read_graph(path, args.labels)
    if path.is_dir():
        raise UsageError(
            f"{args.graph} is a folder and no data set: a file or a name of"
            " `acm data list` is needed"
        )
    if path.suffix or "/" in args.graph:
        raise UsageError(f"there is no file {path}")
    raise unknown("data set", args.graph, DATASETS, ", and there is no such file")


def _facts(value: float) -> dict[str, object]:
    """A metric's value, and what is known of its ties, in types that JSON has."""
    facts: dict[str, object] = {"value": None if isnan(value) else float(value)}
    if hasattr(value, "interval"):
        facts |= {
            "interval": list(value.interval),
            "ties": value.ties,
            "undecided": int(value.undecided.sum()),
        }
    return facts
