"""`acm metrics` on named graphs and on files of the user's own."""

import json

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from acm.cli import main
from acm.data import load
from acm.metrics import all_metrics

GRAPH = load("synthetic")
X, EDGES, Y = GRAPH.x, GRAPH.edge_index, GRAPH.y
DENSE = X if X.layout == torch.strided else X.to_dense()


def ran(capsys, *arguments):
    code = main(["metrics", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def metrics(capsys, *arguments):
    code, out, err = ran(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["metrics"]


def expected(x, **options):
    return {name: pytest.approx(value) for name, value in
            all_metrics(x, EDGES, Y, **options).items()}


def values(found):
    return {name: facts["value"] for name, facts in found.items()}


def test_a_named_graph(capsys):
    found = metrics(capsys, "synthetic", "--ties", ">", "--loops", "add", "--raw-features")
    assert values(found) == expected(X, ties=">", loops="add", normalize_features=False)
    assert {"value", "interval", "ties", "undecided"} == set(found["H_agg"])
    assert set(found["H_edge"]) == {"value"}


def test_as_a_table(capsys):
    code, out, _ = ran(capsys, "synthetic")
    score = all_metrics(X, EDGES, Y)["H_agg"]
    assert code == 0 and out.startswith("synthetic: ")
    (line,) = [line for line in out.splitlines() if line.startswith("H_agg ")]
    assert f"{score:.4f}" in line.split()[1]


@pytest.mark.parametrize("arrays", [
    {"edge_index": EDGES, "y": Y, "x": DENSE},
    {"edges": EDGES.T, "node_labels": Y, "node_features": DENSE},
])
def test_numpy_archive(tmp_path, capsys, arrays):
    np.savez(tmp_path / "graph.npz", **{name: a.numpy() for name, a in arrays.items()})
    assert values(metrics(capsys, tmp_path / "graph.npz")) == expected(X)


@pytest.mark.parametrize("wrap", [
    lambda data: data, lambda data: data.to_dict(), lambda data: (data.to_dict(), None, Data),
    lambda data: {"edge_index": data.edge_index, "y": data.y[:, None], "x": data.x, "name": "own"},
])
def test_saved_data(tmp_path, capsys, wrap):
    torch.save(wrap(Data(x=DENSE, edge_index=EDGES, y=Y)), tmp_path / "graph.pt")
    assert values(metrics(capsys, tmp_path / "graph.pt")) == expected(X)


class Hostile:
    def __reduce__(self):
        return (open, ("EXECUTED", "w"))


@pytest.mark.parametrize("content", [Hostile(), Data(x=X, edge_index=EDGES, y=Y, own=Hostile())])
def test_a_pickled_payload_is_not_executed(tmp_path, monkeypatch, capsys, content):
    monkeypatch.chdir(tmp_path)
    torch.save(content, "graph.pt")
    code, out, err = ran(capsys, "graph.pt")
    assert (code, out) == (2, "") and "not executed" in err and err.count("\n") == 1
    assert not (tmp_path / "EXECUTED").exists()


@pytest.mark.parametrize("separator", [",", "\t", " ", "; "])
@pytest.mark.parametrize("heading", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_edge_list(tmp_path, capsys, separator, heading, named):
    order = torch.randperm(len(Y)).tolist()
    node = {v: f"n{v}" if named else str(v) for v in range(len(Y))}
    lines = ["# a comment"] + ["source" + separator + "target"] * heading
    lines += [f"{node[a]}{separator}{node[b]}" for a, b in EDGES.T.tolist()]
    (tmp_path / "edges.txt").write_text("\n".join(lines) + "\n")
    if named:  # any order, labels as words
        lines = ["node" + separator + "label"] * heading
        lines += [f"{node[v]}{separator}class-{Y[v]}" for v in order]
    else:
        lines = ["label"] * heading + list(map(str, Y.tolist()))
    (tmp_path / "labels.txt").write_text("\n".join(lines))
    found = metrics(capsys, tmp_path / "edges.txt", "--labels", tmp_path / "labels.txt")
    assert values(found) == expected(None)


def files(folder):
    (folder / "edges.csv").write_text("0,1\n1,2\n")
    (folder / "late.csv").write_text("7,1\n1,0\n")
    (folder / "labels.csv").write_text("0\n1\n1\n")
    (folder / "few.csv").write_text("0\n1\n")
    (folder / "twice.csv").write_text("0,1\n0,1\n1,0\n2,1\n")
    (folder / "flat.csv").write_text("0\n1\n")
    (folder / "empty.csv").write_text("")
    (folder / "noise.npz").write_bytes(b"PK\x03\x04 not an archive")
    (folder / "noise.pt").write_bytes(b"\x80\x02 nothing of the kind")
    np.savez(folder / "bare.npz", edge_index=EDGES.numpy())
    np.savez(folder / "objects.npz", edge_index=np.array([{}], dtype=object), y=Y.numpy())
    np.savez(folder / "wide.npz", edges=EDGES.numpy(), y=Y.numpy())
    torch.save([1, 2], folder / "list.pt")


@pytest.mark.parametrize("arguments, words", [
    (["texass"], "unknown data set 'texass'"), (["nowhere.npz"], "no file nowhere.npz"),
    (["edges.csv"], "--labels"), (["edges.csv", "--labels", "nowhere.csv"], "no file nowhere.csv"),
    (["edges.csv", "--labels", "few.csv"], "edge 1 2, a node of which has no label"),
    (["late.csv", "--labels", "few.csv"], "edge 7 1, a node of which has no label"),
    (["edges.csv", "--labels", "twice.csv"], "node 0 twice"),
    (["flat.csv", "--labels", "labels.csv"], "one column"),
    (["empty.csv", "--labels", "labels.csv"], "not a table"),
    (["noise.npz"], "not a NumPy archive"), (["noise.pt"], "noise.pt"),
    (["bare.npz"], "no y or node_labels or labels"), (["objects.npz"], "plain arrays"),
    (["wide.npz"], "[E, 2] is needed"), (["list.pt"], "holds a list"),
    (["bare.npz", "--labels", "labels.csv"], "its own labels"),
    (["synthetic", "--labels", "labels.csv"], "its own labels"),
])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    code, out, err = ran(capsys, *arguments)
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1
