"""Measure how time and memory of one epoch of ACM-GCN grow with the size of a random graph.

    python benchmarks/scale.py           up to a million nodes and ten million edges
    python benchmarks/scale.py --quick   small graphs

An epoch is a training step and an evaluation. Edges are undirected: each edge is stored twice, and
each node also has a self-loop. Every measurement runs in a separate process. The sizes alternate,
so that other load on the machine affects all sizes equally. A time is the fastest epoch of a run,
and the median over `--runs`.
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

#: A series: which sizes grow, the start (nodes, edges, features, trials), and the growing values.
#: The series of edges have so many edges that the edges dominate the time. In the first series the
#: features of 20,000 nodes (5 MB at width 64) fit into the cache. In the second series, with
#: 100,000 nodes, they do not fit.
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
    """Return (nodes, edges, features, trials) of one point. If both grow, a node has ten edges."""
    now = dict(zip(COLUMNS, start)) | dict.fromkeys(growing(name), value)
    return tuple((now | {"edges": 10 * value} if len(growing(name)) > 1 else now).values())


def growing(name: str) -> list[str]:
    """Return the names of the sizes that grow in a series."""
    return name.removesuffix(BEYOND).split(" and ")


def random_graph(nodes: int, edges: int, features: int):
    """Return normal features, the filter of a graph with `edges` random edges, and classes."""
    import torch

    from acm.filters import low_pass

    torch.manual_seed(0)
    source, target = torch.randint(nodes, (2, edges))
    edge_index = torch.stack([torch.cat([source, target]), torch.cat([target, source])])
    return torch.randn(nodes, features), low_pass(edge_index, nodes), torch.arange(nodes) % CLASSES


def measure(nodes: int, edges: int, features: int, trials: int, epochs: int) -> dict[str, float]:
    """Train in this process; return the seconds of the fastest epoch (not the first) and memory."""
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
    """Make one measurement in a new process."""
    return own_process(__file__, ["--one", *map(str, (*point, epochs))], str(point))


def by_turns(points: Sequence[tuple[int, ...]], runs: int, epochs: int) -> dict[tuple, dict]:
    """Measure all points `runs` times, and return the median time and peak memory of each point."""
    measured: dict[tuple, list[dict]] = {at: [] for at in points}
    for _ in range(runs):
        for at, rows in measured.items():
            rows.append(run(at, epochs))
    return {
        at: max(rows, key=lambda row: row["peak"])
        | {"seconds": statistics.median(row["seconds"] for row in rows)}
        for at, rows in measured.items()
    }


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return `b` of the least-squares fit `log cost = a + b log size`."""
    points = [(math.log(s), math.log(c)) for s, c in zip(sizes, costs)]
    mean = [sum(p[i] for p in points) / len(points) for i in (0, 1)]
    over = sum((p[0] - mean[0]) * (p[1] - mean[1]) for p in points)
    return over / sum((p[0] - mean[0]) ** 2 for p in points)


def exponent_beyond(sizes: Sequence[float], costs: Sequence[float]) -> tuple[float, float]:
    """Return `b` of the least-squares fit `cost = a + c size^b`, and the standard error of `b`.

    The constant `a` is a cost that does not depend on the size. The fit minimizes relative
    deviations, because the noise of a time is proportional to the time. If the cost does not grow
    with the size, `b` is undetermined: the result is NaN with an infinite standard error.
    """
    import numpy as np
    from scipy.optimize import OptimizeWarning, curve_fit

    def cost(size, a, c, b):
        return a + c * size**b

    share, start = np.array(sizes) / max(sizes), (min(costs) / 2, max(costs), 1.0)
    try:
        with warnings.catch_warnings(action="error", category=OptimizeWarning):
            (*_, b), covariance = curve_fit(cost, share, costs, start, sigma=costs)
    except (RuntimeError, OptimizeWarning):  # no convergence, or every exponent fits
        return math.nan, math.inf
    return float(b), float(covariance[2, 2] ** 0.5)


def growth(name: str, points: dict[int, dict]) -> str:
    """Return a sentence with the fitted exponents of a series."""
    values = sorted(points)
    seconds = [points[v]["seconds"] for v in values]
    text = f"{name}: time grows as their number ^ {exponent(values, seconds):.2f}"
    text += f", between the last two ^ {exponent(values[-2:], seconds[-2:]):.2f}"
    if growing(name) == ["edges"] and len(values) > 3:
        b, error = exponent_beyond(values, seconds)
        fit = f" ^ {b:.2f} ± {error:.2f}" if math.isfinite(b) else ": no growth"
        text += f", with a constant cost fitted{fit}"
    memory = [max(points[v]["peak"] - points[v]["before"], 1) for v in values]
    return text + f"; memory ^ {exponent(values, memory):.2f}"


def main() -> None:
    """Measure every series, and print the points and the exponents."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small graphs, two series")
    parser.add_argument("--series", nargs="+", choices=SERIES, help="default: all")
    parser.add_argument("--runs", type=count, default=3, help="number of runs of every point")
    parser.add_argument("--epochs", type=count, default=4, help="number of timed epochs per run")
    parser.add_argument("--memory", type=float, default=16, help="limit in GB: exit code 1 above")
    parser.add_argument("--json", metavar="FILE", help="also write the results to FILE")
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
    print("| nodes | edges | features | trials | ms per epoch | training, MB | peak, MB |")
    print("|" + " ---: |" * 7)
    for at, row in done.items():
        cells = [f"{size:,}" for size in at] + [f"{1000 * row['seconds']:,.1f}"]
        cells += [f"{row['peak'] - row['before']:,.0f}", f"{row['peak']:,.0f}"]
        print("| " + " | ".join(cells) + " |")
    lines = [
        growth(name, {v: done[at] for v, at in values.items()})
        for name, (_, values) in series.items()
    ]
    print("\n" + "\n".join(lines))
    most = max(row["peak"] for row in done.values()) / 1000
    print(f"largest peak memory: {most:.1f} GB")
    if args.json:
        with open(args.json, "w") as file:
            rows = [dict(zip(COLUMNS, at)) | row for at, row in done.items()]
            json.dump({"points": rows, "growth": lines}, file, indent=1)
    if most > args.memory:
        raise SystemExit(f"the peak memory is above {args.memory:g} GB")


if __name__ == "__main__":
    script(main)
