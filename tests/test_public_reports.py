"""Situations that stand behind public bug reports of this field, each as a small case.

The docstring of a case names the kind of report. Inputs are ours.
"""

import csv
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.func import functional_call
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

import acm
from acm.errors import UsageError
from acm.metrics import all_metrics, class_homophily, edge_homophily, node_homophily
from acm.nn import ACMConv

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def command(*words, cwd=None):
    """Run `python -m acm` from a folder."""
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(acm.__file__))}
    return subprocess.run(
        [sys.executable, "-m", "acm", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "variant", "nodes"),
    [
        ("chameleon", "chameleon_filtered", (2277, 890)),
        ("squirrel", "squirrel_filtered", (5201, 2223)),
    ],
)
def test_variants_of_a_graph_have_their_own_names_and_counts(name, variant, nodes):
    """Data: "my Chameleon has another number of nodes"."""
    assert tuple(acm.data.load(n).num_nodes for n in (name, variant)) == nodes


@pytest.mark.data
def test_cornell_has_the_features_of_texas_and_the_corrected_one_does_not():
    """Data: two graphs with the same features."""
    cornell, texas, corrected = map(acm.data.load, ("cornell", "texas", "cornell_corrected"))
    same = torch.equal(cornell.x.to_dense(), texas.x.to_dense())
    assert same and not torch.equal(cornell.y, corrected.y)


@pytest.mark.data
def test_the_fixed_splits_are_not_60_20_20_though_they_are_called_so():
    """Splits: a file named 0.6_0.2 holds 48/32/20."""
    split = acm.data.fixed_split("texas", 0)
    shares = [part.double().mean().item() for part in split]
    assert shares == pytest.approx([0.48, 0.32, 0.20], abs=0.01)


@pytest.mark.data
def test_film_and_its_other_name_are_told_apart_with_a_suggestion():
    """Splits: a script stops since the splits of Film are named after Actor."""
    with pytest.raises(UsageError, match="unknown data set 'actor'.*film"):
        acm.data.fixed_split("actor", 0)
    assert acm.data.fixed_split("film", 9).train.any()


def test_the_quota_rule_leaves_small_classes_without_test_nodes():
    """Splits: "60/20/20" that never tests a class."""
    y = torch.tensor([0] * 90 + [1] * 10)
    split = acm.data.random_split(y, 0)
    assert not (y[split.test] == 1).any() and split.train.sum() == 30 + 10


def test_a_class_without_nodes_counts_as_a_class_that_adds_nothing():
    """Metrics: labels 0 and 2 without a 1, so the mean is over two classes or over three."""
    edges = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    y = torch.tensor([0, 0, 1, 1])
    assert float(class_homophily(edges, y)) == pytest.approx(1 / 3)
    assert float(class_homophily(edges, 2 * y)) == pytest.approx(1 / 6)


def test_the_class_measure_is_a_mean_over_c_minus_1():
    """Metrics: a sum over classes in place of a mean, as in an early release of LINKX."""
    y = torch.tensor([0, 0, 1, 1, 2, 2])
    pairs = torch.tensor([[0, 2, 4], [1, 3, 5]])
    assert float(class_homophily(to_undirected(pairs), y)) == pytest.approx(3 * (1 - 1 / 3) / 2)


def test_isolated_nodes_are_left_out_of_the_node_measure():
    """Metrics: 0/0 of a node without neighbors becomes nan or counts as 0."""
    y = torch.tensor([0, 0, 1, 1])
    assert float(node_homophily(PATH, y)) == pytest.approx((1 + 1 / 2 + 0) / 3)


def test_a_graph_without_edges_has_no_homophily():
    """Metrics: an empty edge list gives 0, or an error far away."""
    with pytest.raises(UsageError, match="0 / 0"):
        edge_homophily(torch.empty(2, 0, dtype=torch.long), torch.tensor([0, 1]))


def test_repeated_and_one_directional_edges_count_once():
    """Metrics: an edge that a file has twice, or once in each direction, weighs double."""
    y = torch.tensor([0, 0, 1])
    messy = torch.cat([PATH, PATH[:, :1], PATH[:, :1]], dim=1)
    once = torch.tensor([[0, 1], [1, 2]])
    assert float(edge_homophily(messy, y)) == float(edge_homophily(PATH, y)) == 0.5
    assert float(edge_homophily(to_undirected(once), y)) == 0.5


def test_one_split_has_no_spread_and_no_verdict(tmp_path):
    """Tables: one lucky split is held against a mean of ten."""
    from acm.experiments import run_trials, trials_of
    from acm.report.comparison import compare

    trials = trials_of("synthetic", "GCN", splits=1, hyperparameters={"hidden": 4})
    (record,) = run_trials(trials, progress=False)
    assert math.isnan(compare([record]).std)
    assert compare([record]).verdict == "not comparable"


def test_html_in_place_of_a_graph_is_named(tmp_path):
    """Download: an error page is saved as the graph."""
    page = tmp_path / "graph.npz"
    page.write_text("<!DOCTYPE html><html><body>404</body></html>")
    ran = command("metrics", str(page))
    assert ran.returncode == 2 and len(ran.stderr.strip().splitlines()) == 1
    assert "Traceback" not in ran.stderr


def test_a_saved_graph_loads_without_arbitrary_code(tmp_path):
    """Loading: torch.load refuses PyG's classes since weights_only is the default."""
    y = torch.tensor([0, 0, 1])
    torch.save(Data(edge_index=PATH, y=y, num_nodes=3), tmp_path / "graph.pt")
    ran = command("metrics", str(tmp_path / "graph.pt"))
    assert ran.returncode == 0, ran.stderr
    assert ".5" in ran.stdout


def test_hyperparameters_as_text_become_numbers_or_are_refused():
    """Search: a learning rate from a file is the text '0.01', and the optimizer takes it."""
    from acm.experiments import trials_of

    (trial,) = trials_of("synthetic", "GCN", splits=1, hyperparameters={"lr": "0.01"})
    assert trial.lr == 0.01 and isinstance(trial.lr, float)
    with pytest.raises(UsageError, match="lr='fast'"):
        trials_of("synthetic", "GCN", hyperparameters={"lr": "fast"})


def test_a_store_of_another_folder_is_found_by_its_path(tmp_path):
    """Paths: a script writes beside itself, not where it was started."""
    words = "run --dataset synthetic --model SGC-1 --splits 1 --store runs.csv --quiet".split()
    ran = command(*words, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert [p.name for p in tmp_path.glob("*.csv")] == ["runs.csv"]


@pytest.mark.parametrize("index", [True, False])
def test_the_index_column_of_pandas_is_no_node(tmp_path, index):
    """Own data: a CSV file that pandas wrote with its index has one column more."""
    import pandas as pd

    edges = pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3]})
    edges.to_csv(tmp_path / "edges.csv", index=index)
    labels = pd.DataFrame({"node": range(4), "label": ["a", "a", "b", "b"]})
    labels.to_csv(tmp_path / "labels.csv", index=index)
    ran = command("metrics", "edges.csv", "--labels", "labels.csv", cwd=tmp_path)
    if ran.returncode == 0:
        assert "0.6667" in ran.stdout
    else:
        assert ran.returncode == 2 and len(ran.stderr.strip().splitlines()) == 1


def test_second_derivatives_of_the_layer_are_right():
    """Autograd: a fused operation is differentiated twice and gives zero."""
    torch.manual_seed(0)
    x, conv = torch.randn(3, 3), ACMConv(3, 2)

    def loss(weight, **more):
        out = functional_call(conv, {"weight": weight}, (x, PATH), more)
        return (out[0] if more else out).pow(2).sum()

    weight = conv.weight.detach()
    fused = torch.autograd.functional.hessian(loss, weight)
    plain = torch.autograd.functional.hessian(
        lambda w: loss(w, return_channel_weights=True), weight
    )
    assert fused.abs().max() > 0
    torch.testing.assert_close(fused, plain)


def test_the_layer_runs_in_mixed_precision():
    """Mixed precision: operands of two types under autocast."""
    x, conv = torch.randn(3, 3), ACMConv(3, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = conv(x, PATH)
    torch.testing.assert_close(out.float(), conv(x, PATH), rtol=0.1, atol=0.1)


def test_float64_as_default_type_changes_no_metric_and_no_layer():
    """Types: a default type of float64 meets a constant of float32."""
    torch.set_default_dtype(torch.float64)
    try:
        out = ACMConv(3, 2)(torch.randn(3, 3), PATH)
        values = all_metrics(None, PATH, torch.tensor([0, 0, 1]))
    finally:
        torch.set_default_dtype(torch.float32)
    assert out.dtype == torch.float64
    assert float(values["H_edge"]) == 0.5


def test_a_csv_of_records_has_plain_numbers(tmp_path):
    """Records: numbers that are written as tensor(0.5) or np.float64(0.5)."""
    from acm.experiments import Store, run_trials, trials_of

    values = {"lr": np.float64(0.05)}
    trials = trials_of("synthetic", "SGC-1", splits=1, hyperparameters=values)
    run_trials(trials, Store(tmp_path / "runs.csv"), progress=False)
    with open(tmp_path / "runs.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert float(row["lr"]) == 0.05 and "(" not in row["lr"] + row["test_accuracy"]
