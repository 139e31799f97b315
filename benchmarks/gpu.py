"""Compare CPU and GPU, and time the trainer on a machine with one GPU, in less than ten minutes.

    python benchmarks/gpu.py --pack build/graphs     on a machine with the data: copy the raw files
    python benchmarks/gpu.py --graphs build/graphs   on the machine with the GPU, with this folder
    python benchmarks/gpu.py --dry-run               the same on the CPU, with small sizes

The script compares results of CPU and GPU, times an epoch of the variants in Table 2, times several
batch sizes, and trains cells of Table 3 until the time is over. It writes each result at once.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import statistics
import sys
import time
import traceback
from pathlib import Path

from cell import script

#: Rows of Table 3 that have published hyperparameters, the most important rows first.
MODELS = ("ACM-GCN", "ACMII-GCN", "GCN", "ACM-SGC-1", "ACM-SGC-2", "SGC-1", "SGC-2")
CHANNEL = {"LP": "low", "HP": "high", "Identity": "identity"}


def pack(folder: Path) -> float:
    """Copy the raw files of the ten graphs and Deezer-Europe's splits; return their size in MB."""
    from acm.data import PAPER_DATASETS
    from acm.data.files import cached, locate, raw_files

    os.environ["ACM_DATA_CACHE"] = str(folder)
    for name in PAPER_DATASETS:
        for file in raw_files(name, splits=name == "deezer-europe"):
            cached(file).parent.mkdir(parents=True, exist_ok=True)
            if not cached(file).exists():
                shutil.copyfile(locate(file), cached(file))
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


class Run:
    """The settings of a run (device, graphs, sizes, deadline) and a summary of its results."""

    def __init__(self, args: argparse.Namespace):
        import torch

        from acm.data import PAPER_DATASETS
        from acm.errors import UsageError

        dry = args.dry_run
        if not dry and not torch.cuda.is_available():
            raise UsageError("there is no CUDA device: use --dry-run to run on the CPU")
        self.device = "cpu" if dry else "cuda"
        self.end = time.monotonic() + args.budget
        self.out, self.budget, self.dry = args.out, args.budget, dry
        self.out.mkdir(parents=True, exist_ok=True)
        self.graphs = ["cornell"] if dry else list(PAPER_DATASETS)
        self.epochs, self.splits = (2, 1) if dry else (50, None)
        self.models = ("GCN", "SGC-1") if dry else MODELS
        self.batches = (1, 2) if dry else (1, 2, 5, 10, 30, 100, 300)
        name = "CPU, dry run" if dry else torch.cuda.get_device_name()
        self.summary: dict = {"device": name, "torch": torch.__version__, "failed": []}
        print(f"{name}, torch {torch.__version__}, Python {sys.version.split()[0]}", flush=True)

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of the budget is used, minus a reserve of 10 s."""
        return self.end - (1 - share) * self.budget - min(10, self.budget / 10) - time.monotonic()

    def save(self, name: str, value) -> None:
        """Add a result to the summary, and write the summary to its file."""
        self.summary[name] = value
        (self.out / "summary.json").write_text(json.dumps(self.summary, indent=1))

    def records(self, trials, store: str, device: str, seconds: float):
        """Return records of the trials. Train missing trials, for at most `seconds` seconds."""
        from acm.errors import UsageError
        from acm.experiments import Store
        from acm.experiments.run import batches, train_batch
        from acm.experiments.workers import cores

        stored, end = Store(self.out / store), time.monotonic() + seconds

        def on_epoch(*_) -> None:
            if time.monotonic() > end:
                raise InterruptedError

        try:
            finished = stored.find(trials)
            todo = [trial for trial in trials if trial not in finished]
            for batch in batches(todo, device, 1):
                rows = train_batch(batch, device, cores(), on_epoch=on_epoch)
                stored.extend([row for row in rows if not isinstance(row, UsageError)])
        except InterruptedError:
            pass  # the unfinished batch is lost
        return list(stored.find(trials).values())


def agreement(run: Run) -> None:
    """Compare the random draws, the losses and the accuracies of the CPU and the GPU."""
    import torch
    from cell import few_epochs

    from acm.experiments import prepare, trials_of
    from acm.nn import Dropout
    from acm.registry import build
    from acm.training import Setting
    from acm.training.stack import Stack

    drawn, first = [], []
    trial = trials_of("cornell", "ACM-GCN", splits=1)[0]
    for device in ("cpu", run.device):
        layer = Dropout(trial.dropout or 0.5).to(device)
        layer.key = torch.tensor(0x2545F4914F6CDD1D, device=device)
        layer.counter = torch.tensor(7 * 2**44 + 2**36, device=device)
        drawn.append(layer.train()(torch.ones(1000, 100, device=device)).cpu())
        task = prepare(trial.dataset, device)
        model = build(trial.model, task.x.shape[1], task.num_classes).to(device)
        masks = task.split(trial)
        setting = Setting(masks.train, masks.val, trial.lr, trial.weight_decay, trial.entropy)
        first.append([w.cpu() for w in Stack(model, [setting]).state(0).values()])
    run.save("same dropout", torch.equal(*drawn))
    run.save("same initial weights", all(map(torch.equal, *first)))
    print(f"same dropout: {run.summary['same dropout']}, same initial weights:"
          f" {run.summary['same initial weights']}")  # fmt: skip
    losses = {}
    for graph in [g for g in ("cornell", "chameleon", "cora") if g in run.graphs]:
        one = trials_of(graph, "ACM-GCN", splits=1)
        curves = [few_epochs(one, run.epochs, 1, d)[1][0].history for d in ("cpu", run.device)]
        for name in ("train_loss", "val_loss"):
            off = [abs(a - b) for a, b in zip(*(getattr(c, name) for c in curves), strict=True)]
            steps = {str(n): off[n - 1] for n in (1, 10, 50) if n <= len(off)}
            losses[f"{graph} {name}"] = steps | {"most": max(off)}
            print(f"{graph}, {name} on CPU and GPU differ by {losses[f'{graph} {name}']}")
    run.save("losses differ by", losses)
    trials = trials_of("cornell", "ACM-GCN", splits=run.splits)
    start = time.monotonic()
    pair = [run.records(trials, "runs.csv", run.device, run.left(0.2)),
            run.records(trials, "cpu.csv", "cpu", run.left(0.35))]  # fmt: skip
    accuracy = [[record.test_accuracy for record in records] for records in pair]
    run.save("cornell, test accuracy on GPU and CPU", accuracy)
    if all(accuracy):
        means = " and ".join(f"{100 * statistics.mean(a):.2f}" for a in accuracy)
        print(
            f"cornell, mean test accuracy on GPU and CPU: {means}; {len(accuracy[0])} and"
            f" {len(accuracy[1])} splits in {time.monotonic() - start:.0f} s",
            flush=True,
        )


def variant(row) -> dict:
    """Return the arguments of `acm.experiments.trials_of` for a row of Table 2."""
    parts = row.components.split("+")
    if parts == ["LP"]:
        return {"model": row.name}
    channels = "+".join(CHANNEL[part] for part in parts if part in CHANNEL)
    return {"model": row.row.split()[0].replace("SGC-1", "ACM-SGC-1"), "channels": channels,
            "mix": "Mixing" in parts}  # fmt: skip


def times(run: Run) -> None:
    """Time an epoch of the 14 variants in Table 2's lower half, with one trial and all splits."""
    from cell import few_epochs

    from acm import paper
    from acm.experiments import trials_of

    rows = [row for row in paper.table("ablation_times") if row.dataset in run.graphs]
    rows.sort(key=lambda row: run.graphs.index(row.dataset))
    with open(run.out / "times.csv", "w", newline="") as file:
        write = csv.writer(file)
        write.writerow(["dataset", "variant", "paper_ms", "one_ms", "ten_ms"])
        for row in rows:
            if run.left(0.6) < 0:
                print("the time is over: the other variants are not measured")
                break
            trials = trials_of(row.dataset, splits=2 if run.dry else None, **variant(row))
            one = few_epochs(trials[:1], run.epochs, 1, run.device)[0]
            ten = few_epochs(trials, run.epochs, len(trials), run.device)[0]
            name = f"{variant(row)['model']} {row.components}"
            write.writerow([row.dataset, name, row.mean, f"{one:.3f}", f"{ten:.3f}"])
            file.flush()
            print(f"{row.dataset}, {name}: {one:.2f} ms per epoch for one trial, {ten:.2f} per"
                  f" trial for {len(trials)} trials; paper {row.mean}", flush=True)  # fmt: skip


def curve(run: Run) -> None:
    """Time one epoch per trial for several batch sizes."""
    from cell import few_epochs

    from acm.experiments import trials_of

    points = {}
    for graph in [g for g in ("cornell", "cora", "squirrel") if g in run.graphs]:
        trials = trials_of(graph, "ACM-GCN", splits=max(10, *run.batches))
        for batch in run.batches:
            if run.left(0.7) > 0:
                some = trials[: batch if run.dry else max(10, batch)]
                ms = few_epochs(some, 2 if run.dry else 11, batch, run.device)[0]
                points[f"{graph}, {batch}"] = ms
                print(f"{graph}, batch of {batch}: {ms:.3f} ms per trial and epoch", flush=True)
    run.save("ms per trial and epoch by batch", points)


def cells(run: Run) -> None:
    """Train the cells of Table 3, row by row, until the time is over."""
    from acm import paper
    from acm.experiments import trials_of

    order = sorted(run.graphs, key=lambda graph: graph == "deezer-europe")
    for model, graph in ((model, graph) for model in run.models for graph in order):
        if run.left() < 0:
            print(f"the time is over: {model} on {graph} and later cells are not trained")
            return
        start = time.monotonic()
        trials = trials_of(graph, model, splits=run.splits)
        records = run.records(trials, "runs.csv", run.device, run.left())
        if records:
            test = [100 * record.test_accuracy for record in records]
            print(f"{model} on {graph}: {statistics.mean(test):.2f} ± {statistics.pstdev(test):.2f}"
                  f" ({len(records)} splits, {time.monotonic() - start:.1f} s); paper"
                  f" {paper.printed('sota', model=model, dataset=graph).text}",
                  flush=True)  # fmt: skip


def main() -> None:
    """Run all measurements. If one measurement fails, report the error and go on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, metavar="DIR", help="only copy the graphs to DIR")
    parser.add_argument("--graphs", type=Path, metavar="DIR", help="folder made by --pack")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "build/gpu")))
    parser.add_argument("--budget", type=float, default=540, help="total seconds")
    parser.add_argument("--dry-run", action="store_true", help="small sizes on the CPU")
    args = parser.parse_args()
    if args.pack:
        print(f"{args.pack}: {pack(args.pack):.0f} MB")
        return
    if args.graphs:
        if not args.graphs.is_dir():
            parser.error(f"{args.graphs} is not a folder: create it with --pack")
        os.environ["ACM_DATA_CACHE"] = str(args.graphs)
    run = Run(args)
    for measure in (agreement, times, curve, cells):
        start = time.monotonic()
        try:
            measure(run)
        except Exception:  # GPU time is short, so the other measurements still run
            traceback.print_exc()
            run.summary["failed"].append(measure.__name__)
        run.save(f"seconds of {measure.__name__}", round(time.monotonic() - start, 1))
    if run.device == "cuda":
        import torch

        run.save("peak GPU memory, GB", torch.cuda.max_memory_allocated() / 1e9)
    if run.summary["failed"]:
        raise SystemExit(f"failed: {', '.join(run.summary['failed'])}")


if __name__ == "__main__":
    script(main)
