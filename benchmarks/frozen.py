"""Write the results of this version to a file, and compare a later version with the file.

    python benchmarks/frozen.py write FILE.json                    compute and store all results
    python benchmarks/frozen.py check FILE.json --only metrics     compute the metrics and compare

The comparison is exact: numbers are stored in hexadecimal, and tensors as SHA-256 of their bytes.
Other processors round differently in training, so write and check on the same machine. Only the
functions `model_names`, `graph_names`, `train` and `metrics_of` call `acm`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

# The order of a sum, and so its rounding, depends on the number of threads: use one thread.
os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS")}


def model_names() -> list[str]:
    """Return the names of all models in the registry."""
    from acm.registry import MODELS

    return list(MODELS)


def graph_names() -> list[str]:
    """Return the names of all graphs that have raw files."""
    from acm.data.names import DATASETS

    return [name for name, graph in DATASETS.items() if graph.kind != "synthetic"]


def train(model: str, graph: str, splits: int) -> list[tuple]:
    """Train a model on the first random splits of a graph, and return one outcome per split.

    An outcome is (val_accuracy, test_accuracy, val_loss, best_epoch, epochs).
    """
    from acm.errors import UsageError
    from acm.experiments import Workers, recipe, run_trials, trials_of

    hyperparameters = {}
    try:
        recipe(model, graph)
    except UsageError:
        hyperparameters = {"lr": 0.01, "weight_decay": 5e-4, "dropout": 0.5}
    trials = trials_of(graph, model, "random", splits=splits, hyperparameters=hyperparameters)
    records = run_trials(trials, progress=False, workers=Workers("here", workers=1))
    return [record.outcome for record in records]


def metrics_of(graph: str) -> dict[str, list]:
    """Return every metric of a graph by name: its value and, for a `Score`, its ties."""
    from acm.data import load
    from acm.metrics import Score, all_metrics

    data = load(graph)
    return {
        name: [v, *v.interval, v.ties, v.sign, v.undecided] if isinstance(v, Score) else [v]
        for name, v in all_metrics(data.x, data.edge_index, data.y).items()
    }


def exact(value: object) -> str:
    """Convert a number, tensor or text to a text. Equal texts mean equal bits."""
    if not hasattr(value, "numpy"):
        return value.hex() if isinstance(value, float) else str(value)
    array = value.contiguous().numpy()
    return f"{array.dtype}{list(array.shape)} {hashlib.sha256(array.tobytes()).hexdigest()}"


def trained(models: list[str], graphs: list[str]) -> dict[str, list]:
    """Return the outcomes of all models on splits 0 and 1 of all graphs. An error is an outcome."""
    outcomes = {}
    for graph, model in ((graph, model) for graph in graphs for model in models):
        try:
            results = train(model, graph, splits=2)
        except Exception as error:
            results = [(f"{type(error).__name__}: {error}",)] * 2
        for split, result in enumerate(results):
            outcomes[f"{graph}, {model}, split {split}"] = [exact(value) for value in result]
    return outcomes


def small() -> dict[str, list]:
    """Return the outcomes of every model on two small graphs."""
    return trained(model_names(), ["cornell", "texas"])


def large() -> dict[str, list]:
    """Return the outcomes of two models on three larger graphs."""
    return trained(["ACM-GCN", "GCN"], ["chameleon", "film", "cora"])


def metrics() -> dict[str, list]:
    """Return every metric of every graph."""
    pairs = ((graph, metrics_of(graph)) for graph in graph_names())
    return {f"{g}, {name}": [*map(exact, v)] for g, named in pairs for name, v in named.items()}


def notebooks() -> dict[str, list]:
    """Return the SHA-256 of the text outputs of every code cell of the committed notebooks."""
    outcomes = {}
    for path in sorted(Path(__file__).resolve().parents[1].glob("book/nb/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for number, cell in enumerate(c for c in cells if c["cell_type"] == "code"):
            outputs = [o.get("text") or o.get("data") or o for o in cell["outputs"]]
            texts = [output for output in outputs if "image/png" not in output]
            digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()
            outcomes[f"{path.stem}, code cell {number}"] = [digest if texts else "no text"]
    return outcomes


GROUPS = {group.__name__: group for group in (small, large, metrics, notebooks)}


def main() -> int:
    """Write the outcomes of some groups, or compare them with frozen ones; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default=",".join(GROUPS), metavar="GROUP[,GROUP]")
    args = parser.parse_args()
    groups, now = args.only.split(","), {}
    if wrong := set(groups) - set(GROUPS):
        parser.error(f"unknown group {', '.join(wrong)}: the groups are {', '.join(GROUPS)}")
    # An empty cache makes the parsers read the raw files again.
    with tempfile.TemporaryDirectory() as os.environ["ACM_DATA_CACHE"]:
        for group in groups:
            now |= {f"{group}: {name}": outcome for name, outcome in GROUPS[group]().items()}
    if args.action == "write":
        args.file.write_text(json.dumps(now, indent=0, ensure_ascii=False), encoding="utf-8")
        print(f"{len(now)} outcomes written to {args.file}")
        return 0
    frozen = json.loads(args.file.read_text(encoding="utf-8"))
    names = [n for n in dict.fromkeys([*frozen, *now]) if n.split(":")[0] in groups]
    differing = [name for name in names if frozen.get(name) != now.get(name)]
    for name in differing[:20]:
        print(name, f"    frozen {frozen.get(name)}", f"    now    {now.get(name)}", sep="\n")
    print(f"{len(names) - len(differing)} outcomes agree, {len(differing)} differ")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
