"""Time a cell of Table 3 with `acm`, with the authors' dense method, and with plain PyG.

    python benchmarks/cell.py cornell cora film squirrel    ten splits of each graph, and ratios
    python benchmarks/cell.py --curve cornell               time per epoch for several batch sizes

Every measurement runs in a separate process. The three methods alternate, so that other load on the
machine affects them equally. Results are medians over `--runs`. Compare only within one run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

KINDS = ("engine", "dense", "pyg")
BATCHES = (1, 2, 5, 10, 30, 100)
SHARE = 0.6  # largest fraction of the free memory that a baseline may need


def held(peak: bool = False) -> float:
    """Return the current or the peak memory of this process in MB."""
    # The peak of `getrusage` includes the parent's memory at the fork, so it is not used. The
    # kernel updates its counters late, so this peak can be a few pages below an earlier reading.
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["VmHWM" if peak else "VmRSS"].split()[0]) * 1024 / 1e6


def count(text: str) -> int:
    """Convert an option to a whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: 1 or more is needed")
    return number


def timed(text: str) -> int:
    """Convert an option to a number of epochs, at least 2, because the first epoch is not timed."""
    if count(text) < 2:
        raise argparse.ArgumentTypeError(f"{text}: 2 or more are needed (the first is not timed)")
    return int(text)


def script(main: Callable[[], None]) -> None:
    """Run the main function of a script. Wrong input prints one line and exits with code 2."""
    from acm.errors import UsageError

    try:
        main()
    except UsageError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("interrupted: run the same command to continue from the store", file=sys.stderr)
        raise SystemExit(130) from None


def few_epochs(trials: Sequence, epochs: int, batch: int | None = None, device: str = "cpu"):
    """Train stackable trials for a few epochs with the trainer of `acm`.

    Args:
        trials: `acm.experiments.Trial`s of one model on one graph.
        epochs: Number of epochs, at least 2. Early stopping is off.
        batch: Number of trials that are stacked in one batch.
        device: Device to train on.

    Returns:
        Milliseconds per trial and epoch, without the first epoch of each batch; and the fits.
    """
    from acm.experiments.run import train_trials
    from acm.experiments.trial import training_protocol

    stamps: list[tuple[int, float]] = []
    *_, fits = train_trials(
        trials,
        device,
        protocol=replace(training_protocol(trials[0].dataset), max_epochs=epochs, window=None),
        batch=batch,
        keep_weights=False,
        keep_going=True,  # a diverging trial takes the same time
        on_epoch=lambda epoch, _: stamps.append((epoch, time.perf_counter())),
    )
    seconds = sum(b[1] - a[1] for a, b in zip(stamps, stamps[1:]) if b[0])
    return 1000 * seconds / (epochs - 1) / len(trials), fits


def measure(kind: str, graph: str, args: argparse.Namespace) -> dict[str, float | str]:
    """Make one measurement in this process, and return its results by name."""
    from acm.experiments import prepare

    task = prepare(graph)
    before, (nodes, features) = held(), task.x.shape
    if kind == "load":
        return {"nodes": nodes, "entries of the filter": task.graph().col.numel()}
    if kind == "engine":
        figures = _engine(graph, args)
    else:  # float32: features and dropped features, and the two filters
        needed = 8 * nodes * features + (8 * nodes**2 if kind == "dense" else 0)
        if needed > SHARE * _free():
            return {"skipped": f"needs {needed / 1e9:.0f} GB"}
        figures = _baseline(kind, task, args)
    return figures | {"before": before, "peak": max(before, held(peak=True) + _of_workers())}


def _of_workers() -> float:
    """Return the peak memory of the finished workers in MB, as that of the largest for each."""
    from acm.experiments.workers import cores

    return cores() * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6


def _free() -> int:
    import psutil

    return psutil.virtual_memory().available


def _engine(graph: str, args: argparse.Namespace) -> dict[str, float]:
    from acm.experiments import run_trials, trials_of
    from acm.experiments.workers import Workers

    few_epochs(trials_of(graph, args.model, splits=2), 2)  # compiles the loops
    workers = Workers("processes")  # as `acm run` does
    start = time.perf_counter()
    trials = trials_of(graph, args.model, splits=args.splits)
    records = run_trials(trials, progress=False, workers=workers)
    seconds = time.perf_counter() - start
    epochs = sum(record.epochs for record in records)
    return {
        "seconds": seconds,
        "splits": len(records),
        "epochs": epochs,
        # Without the start of the processes, which takes seconds on every graph.
        "ms": 1000 * sum(record.seconds for record in records) / workers.size / epochs,
        "accuracy": statistics.mean(record.test_accuracy for record in records),
    }


def _baseline(kind: str, task, args: argparse.Namespace) -> dict[str, float]:
    import torch
    from baselines import BASELINES, epochs

    from acm.experiments import trials_of
    from acm.experiments.workers import cores

    x = task.x if isinstance(task.x, torch.Tensor) else task.x.to_dense()
    (trial,) = trials_of(task.name, args.model, splits=1)
    split = task.split(trial)
    shape = x.shape[1], task.num_classes, trial.hidden, trial.dropout
    model = BASELINES[kind](task.graph(), *shape)
    hyperparameters = trial.lr, trial.weight_decay
    # If the graph is small or other programs use the cores, several threads can be slower than one
    # thread. Therefore both are timed, and the baseline gets the faster time.
    tries = []
    for threads in sorted({1, cores()}):
        torch.set_num_threads(threads)
        end = time.perf_counter() + args.seconds / 2

        def more(seconds: list[float], end=end) -> bool:  # the first epoch warms up
            return len(seconds) < 2 or (len(seconds) < 200 and time.perf_counter() < end)

        seconds = epochs(model, x, task.y, split.train, split.val, *hyperparameters, more)[1:]
        tries.append((1000 * statistics.median(seconds), threads))
    return dict(zip(("ms", "threads"), min(tries)))


def curve(graph: str, args: argparse.Namespace) -> list[dict[str, float]]:
    """Time one epoch per trial for several batch sizes, in this process."""
    from acm.experiments import trials_of
    from acm.experiments.run import on_threads
    from acm.experiments.workers import cores

    trials = trials_of(graph, args.model, splits=args.trials)
    points = []
    for threads in sorted({1, cores()} if args.device == "cpu" else {1}):
        with on_threads(threads):
            few_epochs(trials[:2], 2, device=args.device)
            for batch in (b for b in args.batches if b <= len(trials)):
                ms, _ = few_epochs(trials, args.epochs, batch, args.device)
                points.append({"threads": threads, "batch": batch, "ms": ms})
            ms, _ = few_epochs(trials, args.epochs, None, args.device)
            points.append({"threads": threads, "batch": "chosen", "ms": ms})
    return points


def own_process(script: str, arguments: Sequence[str], what: str):
    """Run a script in a new process, and return the JSON that it prints. `what` names it."""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["killed: is there enough memory?"]
        print(f"{what}: {lines[-1]}", file=sys.stderr)
        raise SystemExit(done.returncode if done.returncode > 0 else 1)
    return json.loads(done.stdout.splitlines()[-1])


def run(arguments: Sequence[str], args: argparse.Namespace):
    """Make one measurement of this script in a new process."""
    return own_process(__file__, ["--model", args.model, *arguments], " ".join(arguments))


def compare(graph: str, args: argparse.Namespace) -> dict:
    """Make all measurements of one graph, and return their medians over the runs."""
    options = ["--seconds", str(args.seconds)]
    options += [] if args.splits is None else ["--splits", str(args.splits)]
    facts = run(["--one", "load", graph], args)
    kinds = [k for k in KINDS if k == "engine" or (args.model == "ACM-GCN" and args.baselines)]
    measured: dict[str, list[dict]] = {kind: [] for kind in kinds}
    for _ in range(args.runs):
        for kind in kinds:
            measured[kind].append(run(["--one", kind, graph, *options], args))
    result = {"graph": graph, "model": args.model, "runs": args.runs, **facts}
    for kind, rows in measured.items():
        reason = next((row["skipped"] for row in rows if "skipped" in row), None)
        result[kind] = {"skipped": reason} if reason else {
            name: statistics.median(row[name] for row in rows) for name in rows[0]
        }  # fmt: skip
        if not reason and kind != "engine":
            result[kind]["ratio"] = result[kind]["ms"] / result["engine"]["ms"]
    return result


def line(result: dict) -> str:
    """Return the row of a graph in the printed table."""
    engine = result["engine"]
    cells = [
        result["graph"],
        f"{engine['seconds']:.2f} ({engine['splits']:.0f})",
        f"{engine['epochs']:,.0f}",
        f"{engine['ms']:.2f}",
        f"{100 * engine['accuracy']:.2f}",
        f"{engine['peak']:,.0f}",
    ]
    for kind in KINDS[1:]:
        row = result.get(kind, {"skipped": "not run"})
        cells += [row["skipped"]] * 3 if "skipped" in row else [
            f"{row['ms']:.1f}", f"{row['ratio']:.1f}", f"{row['peak']:,.0f}"
        ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def options() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", help="names of graphs")
    parser.add_argument("--model", default="ACM-GCN")
    parser.add_argument("--runs", type=count, default=3)
    parser.add_argument("--splits", type=count, help="number of splits (default: the paper's)")
    parser.add_argument("--seconds", type=float, default=8, help="time limit per baseline")
    parser.add_argument("--no-baselines", dest="baselines", action="store_false")
    parser.add_argument("--json", metavar="FILE", help="also write the results to FILE")
    parser.add_argument("--curve", metavar="GRAPH", help="time GRAPH for several batch sizes")
    parser.add_argument("--trials", type=count, default=100, help="for --curve")
    parser.add_argument("--epochs", type=timed, default=11, help="for --curve")
    parser.add_argument("--batches", type=count, nargs="+", default=BATCHES, help="for --curve")
    parser.add_argument("--device", default="cpu", help="for --curve")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "GRAPH"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if bool(args.graphs) + bool(args.curve) + bool(args.one) != 1:
        parser.error("give the names of graphs, or --curve with one graph")
    return args


def main() -> None:
    """Make the measurements and print a table."""
    args = options()
    if args.one:
        print(json.dumps(measure(*args.one, args)))
        return
    results = []
    if args.curve:
        results = curve(args.curve, args)
        print("| threads | batch | ms per trial and epoch |\n| ---: | ---: | ---: |")
        for point in results:
            print(f"| {point['threads']} | {point['batch']} | {point['ms']:.3f} |")
    else:
        print(
            "| graph | s (splits) | epochs | ms per trial and epoch | test % | peak MB |"
            " dense, ms per epoch | dense / ours | peak MB |"
            " PyG, ms per epoch | PyG / ours | peak MB |"
        )
        print("| --- |" + " ---: |" * 11)
    for graph in args.graphs:
        results.append(compare(graph, args))
        print(line(results[-1]), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    script(main)
