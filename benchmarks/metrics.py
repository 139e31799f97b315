"""Compare time and peak memory of the metrics with the N x N definition and with PyG.

    python benchmarks/metrics.py                          the ten graphs and 1e5 to 1e7 random edges
    python benchmarks/metrics.py --graphs cora --sizes 5

Every measurement runs in a separate process, by default with one thread. A time is the shortest of
`--repeat` calls, so that other load on the machine matters less. Compare times only within one run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time

from cell import count, script

DENSE_LIMIT = 8_000  # largest number of nodes for the N x N definition: 0.5 GB per matrix


def best(call, repeat: int) -> float:
    """Return the shortest time of `repeat` calls in seconds. If `repeat` > 1, warm up first."""
    if repeat > 1:
        call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def rss() -> float:
    """Return the current memory of this process in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def random_graph(exponent: int):
    """Return features, edges and classes of a random graph with `10**exponent` edges.

    It has a tenth as many nodes, and 5 classes. Every node has 10 of 1,000 features. About every
    fifth edge joins nodes of the same class, and the other edges join random nodes.
    """
    import torch

    torch.manual_seed(0)
    edges = 10**exponent
    n = edges // 10
    source, target = torch.randint(n, (2, edges))
    stay = torch.rand(edges) < 0.2
    target[stay] += (source[stay] - target[stay]) % 5  # the class of node v is v % 5
    target %= n  # n is a multiple of 5
    crow = torch.arange(0, 10 * n + 1, 10)
    x = torch.sparse_csr_tensor(
        crow, torch.randint(1000, (10 * n,)), torch.ones(10 * n), (n, 1000), check_invariants=False
    )
    return x, torch.stack([source, target]), torch.arange(n) % 5


def definition(x, edge_index, y) -> None:
    """Compute H_agg, both S_agg, DD and DD(Z) by their definitions, with N x N float64 matrices."""
    import torch
    from torch.nn.functional import one_hot

    n = len(y)
    a = torch.zeros(n, n, dtype=torch.float64)
    a[edge_index[0], edge_index[1]] = 1
    a += torch.eye(n)
    a /= a.sum(1, keepdim=True)
    x = (x if x.layout == torch.strided else x.to_dense()).double()
    x = x / x.abs().sum(1, keepdim=True).clamp(min=1e-300)
    z = one_hot(y).double()
    same = (y[:, None] == y).double()
    for rows in (a @ z, a @ x, x, x - a @ x, z - a @ z):
        s = rows @ rows.T
        within = (s * same).sum(1) / same.sum(1)
        across = (s * (1 - same)).sum(1) / (1 - same).sum(1)
        (within >= across).double().mean()


def measure(kind: str, graph: str, repeat: int) -> dict[str, float]:
    """Make one measurement in this process, and return its results by name."""
    from torch_geometric.utils import homophily

    from acm.data import load
    from acm.metrics import all_metrics, class_homophily, edge_homophily, node_homophily

    if graph.isdigit():
        x, edge_index, y = random_graph(int(graph))
    else:
        data = load(graph)
        x, edge_index, y = data.x, data.edge_index, data.y
    facts = {"nodes": len(y), "edges": edge_index.size(1), "before": rss()}
    if kind == "ours":
        facts["seconds"] = best(lambda: all_metrics(x, edge_index, y), repeat)
    elif kind == "definition":
        repeat = repeat if len(y) < 3000 else 1
        facts["seconds"] = best(lambda: definition(x, edge_index, y), repeat)
    elif kind == "counting":
        facts["seconds"] = best(
            lambda: [
                metric(edge_index, y)
                for metric in (edge_homophily, node_homophily, class_homophily)
            ],
            repeat,
        )
    else:
        facts["seconds"] = best(
            lambda: [
                homophily(edge_index, y, method=method)
                for method in ("edge", "node", "edge_insensitive")
            ],
            repeat,
        )
    return facts | {"peak": peak()}


def run(kind: str, graph: str, repeat: int, threads: int) -> dict[str, float]:
    """Make one measurement in a new process."""
    command = [sys.executable, __file__, "--one", kind, graph, "--repeat", str(repeat)]
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{kind} on {graph}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def line(graph: str, *how: int) -> tuple[dict[str, float], str]:
    """Make all measurements of one graph; return those of `acm` and a row of the table."""
    ours, counting, pyg = (run(kind, graph, *how) for kind in ("ours", "counting", "pyg"))
    dense = run("definition", graph, *how) if ours["nodes"] <= DENSE_LIMIT else None
    held = max(ours["peak"] - ours["before"], 1)
    cells = [
        f"10^{graph} random" if graph.isdigit() else graph,
        f"{ours['nodes']:,}",
        f"{ours['edges']:,}",
        f"{ours['seconds']:.3f}",
        f"{held:,.0f}",
        f"{ours['peak']:,.0f}",
    ]
    if dense is None:
        cells += ["does not fit"] * 2
    else:
        cells += [
            f"{dense['seconds'] / ours['seconds']:.0f}",
            f"{(dense['peak'] - dense['before']) / held:.0f}",
        ]
    cells += [f"{counting['seconds'] / pyg['seconds']:.1f}"]
    return ours, "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="*", help="graphs (default: the paper's ten graphs)")
    parser.add_argument(
        "--sizes",
        nargs="*",
        default=["5", "6", "7"],
        help="exponents k of random graphs with 10^k edges (default: 5 6 7)",
    )
    parser.add_argument("--repeat", type=count, default=3)
    parser.add_argument("--threads", type=count, default=1)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "GRAPH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(*args.one, args.repeat)))
        return
    from acm.data import PAPER_DATASETS

    print(
        "| graph | nodes | edges | all metrics, s | metrics, MB | whole process, MB"
        " | time of N x N / ours | memory of N x N / ours | time of our edge metrics / PyG |"
    )
    print("| --- |" + " ---: |" * 8)
    for graph in PAPER_DATASETS if args.graphs is None else args.graphs:
        print(line(graph, args.repeat, args.threads)[1], flush=True)
    points = []
    for size in args.sizes:
        ours, row = line(size, args.repeat if size < "7" else 1, args.threads)
        points.append(
            (
                math.log(ours["edges"]),
                math.log(ours["seconds"]),
                math.log(max(ours["peak"] - ours["before"], 1)),
            )
        )
        print(row, flush=True)
    print()
    if len(points) > 1:
        for name, k in (("time", 1), ("memory", 2)):
            mean = [sum(p[i] for p in points) / len(points) for i in (0, k)]
            slope = sum((p[0] - mean[0]) * (p[k] - mean[1]) for p in points) / sum(
                (p[0] - mean[0]) ** 2 for p in points
            )
            print(f"{name} grows as (number of edges) ^ {slope:.2f}")


if __name__ == "__main__":
    script(main)
