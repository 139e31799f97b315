"""One epoch of ACM-GCN on random graphs: how time and memory grow, one size at a time.

    python benchmarks/scale.py           up to a million nodes and ten million edges
    python benchmarks/scale.py --quick   the same series in small

An epoch is a training step and an evaluation. Edges are undirected ones: each is stored twice, and
the filter has a self-loop for each node besides. Every measurement runs in a process of its own,
all points by turns, so that whatever else the machine does hits all alike; times are medians over
`--runs` of the fastest epoch.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
import warnings
from collections.abc import Sequence

from cell import count, held, own_process, script

CLASSES, HIDDEN = 5, 64
COLUMNS = ("nodes", "edges", "features", "trials")

#: What grows, from where all start, and through which values. There are so many edges that what
#: they cost is a multiple of what nodes do. They grow twice: on nodes whose features (5 MB at a
#: width of 64) stay in a cache, and on five times as many, where what is gathered comes from the
#: memory in the end.
BEYOND = " beyond the cache"
SERIES = {
    "nodes": ((10**4, 10**5, 64, 1), (10**4, 10**5, 10**6)),
    "edges": ((2 * 10**4, 0, 64, 1), tuple(k * 10**6 for k in (1, 2, 3, 5, 7, 10))),
    "edges" + BEYOND: ((10**5, 0, 64, 1), (2 * 10**6, 5 * 10**6, 10**7)),
    "features": ((10**4, 10**5, 64, 1), (64, 256, 1024, 4096)),
    "trials": ((10**4, 10**5, 64, 1), (1, 3, 10, 30)),
    "nodes and edges": ((10**4, 10**5, 64, 1), (10**4, 10**5, 10**6)),
}
QUICK = {
    "nodes": ((100, 1000, 8, 1), (100, 1000)),
    "edges": ((100, 0, 8, 1), (1000, 10000)),
}


def sizes(name: str, start: tuple[int, ...], value: int) -> tuple[int, ...]:
    """Nodes, edges, features and trials of a point of a series; ten edges a node if both grow."""
    now = dict(zip(COLUMNS, start)) | dict.fromkeys(growing(name), value)
    return tuple((now | {"edges": 10 * value} if len(growing(name)) > 1 else now).values())


def growing(name: str) -> list[str]:
    """The sizes that grow in a series."""
    return name.removesuffix(BEYOND).split(" and ")


def random_graph(nodes: int, edges: int, features: int):
    """Dense normal features, the filter of `edges` undirected random edges, and classes."""
    import torch

    from acm.filters import low_pass

    torch.manual_seed(0)
    source, target = torch.randint(nodes, (2, edges))
    edge_index = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    return torch.randn(nodes, features), low_pass(edge_index, nodes), torch.arange(nodes) % CLASSES


def measure(nodes: int, edges: int, features: int, trials: int, epochs: int) -> dict[str, float]:
    """One measurement, in this process: the fastest epoch, the first left out."""
    import torch

    from acm.experiments.run import on_threads
    from acm.experiments.workers import cores
    from acm.registry import build
    from acm.training import Setting, TrainingProtocol, train

    x, low, y = random_graph(nodes, edges, features)
    before, part = held(), torch.arange(nodes) % 10
    settings = [Setting(part < 6, (6 <= part) & (part < 8), 0.01, 5e-4, t) for t in range(trials)]
    stamps: list[float] = []
    with on_threads(cores()):
        train(
            build("ACM-GCN", features, CLASSES, HIDDEN, 0.5),
            x,
            low,
            y,
            settings,
            protocol=TrainingProtocol(max_epochs=epochs + 1, window=None),
            batch=trials,
            stack=True,
            keep_weights=False,
            on_epoch=lambda *_: stamps.append(time.perf_counter()),
        )
    seconds = min(b - a for a, b in zip(stamps, stamps[1:]))
    return {"seconds": seconds, "before": before, "peak": max(before, held(peak=True))}


def run(point: Sequence[int], epochs: int) -> dict[str, float]:
    """One measurement, in a process of its own."""
    return own_process(__file__, ["--one", *map(str, (*point, epochs))], str(point))


def by_turns(points: Sequence[tuple[int, ...]], runs: int, epochs: int) -> dict[tuple, dict]:
    """Of each point the median time over so many runs, and the run that took most memory."""
    seen: dict[tuple, list[dict]] = {at: [] for at in points}
    for _ in range(runs):
        for at, rows in seen.items():
            rows.append(run(at, epochs))
    return {
        at: max(rows, key=lambda row: row["peak"])
        | {"seconds": statistics.median(row["seconds"] for row in rows)}
        for at, rows in seen.items()
    }


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """`b` of the least-squares fit `log cost = a + b log size`."""
    points = [(math.log(s), math.log(c)) for s, c in zip(sizes, costs)]
    mean = [sum(p[i] for p in points) / len(points) for i in (0, 1)]
    over = sum((p[0] - mean[0]) * (p[1] - mean[1]) for p in points)
    return over / sum((p[0] - mean[0]) ** 2 for p in points)


def exponent_beyond(sizes: Sequence[float], costs: Sequence[float]) -> tuple[float, float]:
    """`b` of the fit `cost = a + c size^b`, of what the size adds, and its standard error.

    There is a cost that any edges bring, however many: what an epoch without any takes is less.
    Times vary in proportion to themselves, so it is relative deviations that are least squares.
    Where the sizes cost alike, there is no `b` to be found: not a number, with an infinite error.
    """
    import numpy as np
    from scipy.optimize import OptimizeWarning, curve_fit

    def cost(size, a, c, b):
        return a + c * size**b

    share, start = np.array(sizes) / max(sizes), (min(costs) / 2, max(costs), 1.0)
    try:
        with warnings.catch_warnings(action="error", category=OptimizeWarning):
            (*_, b), covariance = curve_fit(cost, share, costs, start, sigma=costs)
    except (RuntimeError, OptimizeWarning):  # it went on for too long, or any exponent would do
        return math.nan, math.inf
    return float(b), float(covariance[2, 2] ** 0.5)


def growth(name: str, seen: dict[int, dict]) -> str:
    """The fitted exponents of a series in a sentence."""
    values = sorted(seen)
    seconds = [seen[v]["seconds"] for v in values]
    text = f"{name}: time grows as their number ^ {exponent(values, seconds):.2f}"
    text += f", between the last two ^ {exponent(values[-2:], seconds[-2:]):.2f}"
    if growing(name) == ["edges"] and len(values) > 3:
        b, error = exponent_beyond(values, seconds)
        told = f" ^ {b:.2f} ± {error:.2f}" if math.isfinite(b) else ", no growth to be fitted"
        text += f", beyond what any of them cost{told}"
    memory = [max(seen[v]["peak"] - seen[v]["before"], 1) for v in values]
    return text + f"; memory ^ {exponent(values, memory):.2f}"


def main() -> None:
    """Measure every series, and print points and exponents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small graphs, few series")
    parser.add_argument("--series", nargs="+", choices=SERIES, help="by default all")
    parser.add_argument("--runs", type=count, default=3, help="of every point, by turns")
    parser.add_argument("--epochs", type=count, default=4, help="timed ones, of which the fastest")
    parser.add_argument("--memory", type=float, default=16, help="GB that no run may exceed")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument("--one", type=int, nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(*args.one)))
        return
    series = {
        name: (start, {value: sizes(name, start, value) for value in values})
        for name, (start, values) in (QUICK if args.quick else SERIES).items()
        if not args.series or name in args.series
    }
    points = [at for _, values in series.values() for at in values.values()]
    done = by_turns(list(dict.fromkeys(points)), args.runs, args.epochs)
    print("| nodes | edges | features | trials | ms an epoch | its memory, MB | peak, MB |")
    print("|" + " ---: |" * 7)
    for at, seen in done.items():
        cells = [f"{size:,}" for size in at] + [f"{1000 * seen['seconds']:,.1f}"]
        cells += [f"{seen['peak'] - seen['before']:,.0f}", f"{seen['peak']:,.0f}"]
        print("| " + " | ".join(cells) + " |")
    lines = [
        growth(name, {v: done[at] for v, at in values.items()})
        for name, (_, values) in series.items()
    ]
    print("\n" + "\n".join(lines))
    most = max(seen["peak"] for seen in done.values()) / 1000
    print(f"most memory: {most:.1f} GB")
    if args.json:
        with open(args.json, "w") as file:
            rows = [dict(zip(COLUMNS, at)) | seen for at, seen in done.items()]
            json.dump({"points": rows, "growth": lines}, file, indent=1)
    if most > args.memory:
        raise SystemExit(f"more than {args.memory:g} GB")


if __name__ == "__main__":
    script(main)
