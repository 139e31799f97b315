"""One prepared run for a machine with one GPU, in less than ten minutes.

    python benchmarks/gpu.py --pack build/graphs     where the data is: copy the graphs' files
    python benchmarks/gpu.py --graphs build/graphs   where the GPU is, that folder carried along
    python benchmarks/gpu.py --dry-run               all of it on the CPU, in small

Whether CPU and GPU agree; the time of an epoch for Table 2's variants; time against batch size;
then as many records of Table 3 as fit. Everything is written as soon as it is known.
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

#: Rows of Table 3 that have published hyperparameters, in the order of their worth.
MODELS = ("ACM-GCN", "ACMII-GCN", "GCN", "ACM-SGC-1", "ACM-SGC-2", "SGC-1", "SGC-2")
CHANNEL = {"LP": "low", "HP": "high", "Identity": "identity"}


def pack(folder: Path) -> float:
    """Copy the raw files of the ten graphs, with Deezer-Europe's splits; their size in MB."""
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
    """What is measured, where, how much of it, and until when."""

    def __init__(self, args: argparse.Namespace):
        import torch

        from acm.data import PAPER_DATASETS
        from acm.errors import UsageError

        dry = args.dry_run
        if not dry and not torch.cuda.is_available():
            raise UsageError("there is no CUDA device here: --dry-run needs none")
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
        """Seconds left of this share of the budget, 10 s of it kept back."""
        return self.end - (1 - share) * self.budget - min(10, self.budget / 10) - time.monotonic()

    def save(self, name: str, value) -> None:
        """Keep a figure."""
        self.summary[name] = value
        (self.out / "summary.json").write_text(json.dumps(self.summary, indent=1))

    def records(self, trials, store: str, device: str, seconds: float):
        """The trials' records, trained if the store lacks them; fewer if time runs out."""
        from acm.errors import UsageError
        from acm.experiments import Store
        from acm.experiments.run import batches, train_batch
        from acm.experiments.workers import cores

        kept, end = Store(self.out / store), time.monotonic() + seconds

        def on_epoch(*_) -> None:
            if time.monotonic() > end:
                raise InterruptedError

        try:
            there = kept.find(trials)
            todo = [trial for trial in trials if trial not in there]
            for batch in batches(todo, device, 1):
                rows = train_batch(batch, device, cores(), on_epoch=on_epoch)
                kept.extend([row for row in rows if not isinstance(row, UsageError)])
        except InterruptedError:
            pass  # the batch in flight is lost
        return list(kept.find(trials).values())


def agreement(run: Run) -> None:
    """The same draws, the same losses, the same accuracy on the CPU and on the GPU?"""
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
    """How `acm.experiments.trials_of` names a row of Table 2."""
    parts = row.components.split("+")
    if parts == ["LP"]:
        return {"model": row.name}
    channels = "+".join(CHANNEL[part] for part in parts if part in CHANNEL)
    return {"model": row.row.split()[0].replace("SGC-1", "ACM-SGC-1"), "channels": channels,
            "mix": "Mixing" in parts}  # fmt: skip


def times(run: Run) -> None:
    """Milliseconds an epoch of the 14 variants of Table 2's lower half, one trial and ten."""
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
                print("no time left for the other variants")
                break
            trials = trials_of(row.dataset, splits=2 if run.dry else None, **variant(row))
            one = few_epochs(trials[:1], run.epochs, 1, run.device)[0]
            ten = few_epochs(trials, run.epochs, len(trials), run.device)[0]
            name = f"{variant(row)['model']} {row.components}"
            write.writerow([row.dataset, name, row.mean, f"{one:.3f}", f"{ten:.3f}"])
            file.flush()
            print(f"{row.dataset}, {name}: {one:.2f} ms an epoch alone, {ten:.2f} a trial-epoch"
                  f" of {len(trials)}; paper {row.mean}", flush=True)  # fmt: skip


def curve(run: Run) -> None:
    """Time of a trial's epoch over batch sizes."""
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
                print(f"{graph}, batch of {batch}: {ms:.3f} ms a trial-epoch", flush=True)
    run.save("ms a trial-epoch by batch", points)


def cells(run: Run) -> None:
    """Records of Table 3, row by row, for as long as there is time."""
    from acm import paper
    from acm.experiments import trials_of

    order = sorted(run.graphs, key=lambda graph: graph == "deezer-europe")
    for model, graph in ((model, graph) for model in run.models for graph in order):
        if run.left() < 0:
            print(f"no time left from {model} on {graph} on")
            return
        start = time.monotonic()
        trials = trials_of(graph, model, splits=run.splits)
        records = run.records(trials, "runs.csv", run.device, run.left())
        if records:
            seen = [100 * record.test_accuracy for record in records]
            print(f"{model} on {graph}: {statistics.mean(seen):.2f} ± {statistics.pstdev(seen):.2f}"
                  f" ({len(records)} splits, {time.monotonic() - start:.1f} s); paper"
                  f" {paper.printed('sota', model=model, dataset=graph).text}",
                  flush=True)  # fmt: skip


def main() -> None:
    """Do it all; what fails is said and does not keep the rest from being done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, metavar="DIR", help="only pack the graphs there")
    parser.add_argument("--graphs", type=Path, metavar="DIR", help="where they are packed")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "build/gpu")))
    parser.add_argument("--budget", type=float, default=540, help="seconds in all")
    parser.add_argument("--dry-run", action="store_true", help="on the CPU, in small")
    args = parser.parse_args()
    if args.pack:
        print(f"{args.pack}: {pack(args.pack):.0f} MB")
        return
    if args.graphs:
        if not args.graphs.is_dir():
            parser.error(f"{args.graphs} is no folder: --pack makes it")
        os.environ["ACM_DATA_CACHE"] = str(args.graphs)
    run = Run(args)
    for piece in (agreement, times, curve, cells):
        start = time.monotonic()
        try:
            piece(run)
        except Exception:  # on a lent machine, the other pieces are still worth having
            traceback.print_exc()
            run.summary["failed"].append(piece.__name__)
        run.save(f"seconds of {piece.__name__}", round(time.monotonic() - start, 1))
    if run.device == "cuda":
        import torch

        run.save("peak GPU memory, GB", torch.cuda.max_memory_allocated() / 1e9)
    if run.summary["failed"]:
        raise SystemExit(f"failed: {', '.join(run.summary['failed'])}")


if __name__ == "__main__":
    script(main)
