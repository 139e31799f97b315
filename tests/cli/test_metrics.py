"""`acm metrics` on named graphs and on files of the user's own."""

import json

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

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
    return {
        name: pytest.approx(value) for name, value in all_metrics(x, EDGES, Y, **options).items()
    }


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


@pytest.mark.parametrize(
    "arrays",
    [
        {"edge_index": EDGES, "y": Y, "x": DENSE},
        {"edges": EDGES.T, "node_labels": Y, "node_features": DENSE},
    ],
)
def test_numpy_archive(tmp_path, capsys, arrays):
    np.savez(tmp_path / "graph.npz", **{name: a.numpy() for name, a in arrays.items()})
    assert values(metrics(capsys, tmp_path / "graph.npz")) == expected(X)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda data: data,
        lambda data: data.to_dict(),
        lambda data: (data.to_dict(), None, Data),
        lambda data: {
            "edge_index": data.edge_index,
            "y": data.y[:, None],
            "x": data.x,
            "name": "own",
        },
    ],
)
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
    (folder / "folder").mkdir()
    (folder / "sub.d" / "folder").mkdir(parents=True)
    np.save(folder / "one.npy", Y.numpy())
    (folder / "one.npy").rename(folder / "one.npz")
    edge_index, y, n = EDGES.numpy(), Y.numpy(), len(Y)
    for name, changed in {
        "words": {"x": np.full((n, 2), "a")},
        "complex": {"x": np.full((n, 2), 1j)},
        "dates": {"y": np.full(n, "2020-01-01", dtype="M8[D]")},
        "unlabelled": {"y": np.array(["a"] * (n - 1) + [""])},
        "minus": {"y": y - 1},
        "beyond": {"edge_index": np.full((2, 3), 2**63, dtype=np.uint64)},
    }.items():
        np.savez(folder / f"{name}.npz", **{"edge_index": edge_index, "y": y} | changed)
    whole = {"edge_index": EDGES, "y": Y, "x": DENSE}
    quantized = torch.quantize_per_tensor(DENSE.float(), 1.0, 0, torch.qint8)
    for name, changed in {
        "meta": {"y": Y.to("meta")},
        "nowhere_x": {"x": DENSE.to("meta")},
        "quantized": {"x": quantized},
    }.items():
        torch.save(whole | changed, folder / f"{name}.pt")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["texass"], "unknown data set 'texass', and there is no such file"),
        (["folder"], "folder is a folder"),
        (["sub.d/folder"], "is a folder"),
        (["edges.csv", "--labels", "folder"], "folder is a folder"),
        (["nowhere/at"], "no file"),
        (["nowhere.npz"], "no file nowhere.npz"),
        (["edges.csv"], "--labels"),
        (["edges.csv", "--labels", "nowhere.csv"], "no file nowhere.csv"),
        (["edges.csv", "--labels", "few.csv"], "line 2: the edge 1 2 has a node without a label"),
        (["late.csv", "--labels", "few.csv"], "line 1: the edge 7 1 has a node without a label"),
        (["edges.csv", "--labels", "twice.csv"], "node 0 twice"),
        (["flat.csv", "--labels", "labels.csv"], "one column"),
        (["empty.csv", "--labels", "labels.csv"], "not a table"),
        (["noise.npz"], "not a NumPy archive"),
        (["noise.pt"], "noise.pt"),
        (["bare.npz"], "no y or node_labels or labels"),
        (["objects.npz"], "plain arrays"),
        (["wide.npz"], "[E, 2] is needed"),
        (["list.pt"], "holds a list"),
        (["one.npz"], "one bare array"),
        (["words.npz"], "x is of type <U1: real numbers"),
        (["complex.npz"], "x is of type complex128"),
        (["dates.npz"], "y is of type datetime64[D]"),
        (["unlabelled.npz"], "has no label in y"),
        (["minus.npz"], "run from -1"),
        (["beyond.npz"], "edge_index has 9223372036854775808, which does not fit int64"),
        (["meta.pt"], "y is a meta tensor"),
        (["nowhere_x.pt"], "x is a meta tensor"),
        (["quantized.pt"], "x is a quantized tensor"),
        (["bare.npz", "--labels", "labels.csv"], "its own labels"),
        (["synthetic", "--labels", "labels.csv"], "its own labels"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    code, out, err = ran(capsys, *arguments)
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1


def described(capsys, *arguments):
    code, out, err = ran(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    return found["nodes"], found["classes"], found["metrics"]["H_edge"]["value"]


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.astype(np.uint16),
        lambda a: a.astype(np.uint32),
        lambda a: a.astype(np.uint64),
        lambda a: a.astype(">i8"),
        lambda a: a.astype(">i2"),
    ],
)
def test_any_type_of_integer_in_an_archive(tmp_path, capsys, convert):
    np.savez(tmp_path / "graph.npz", edge_index=convert(EDGES.numpy()), y=convert(Y.numpy()))
    assert values(metrics(capsys, tmp_path / "graph.npz")) == expected(None)


@pytest.mark.parametrize("kind", [">f4", ">f8", np.longdouble, np.float32, bool, ">u2"])
def test_any_type_of_number_as_features(tmp_path, capsys, kind):
    x = (DENSE > 0).double()
    np.savez(tmp_path / "graph.npz", edge_index=EDGES, y=Y, x=x.numpy().astype(kind))
    assert values(metrics(capsys, tmp_path / "graph.npz")) == expected(x)


@pytest.mark.parametrize(
    "change",
    [
        lambda y: np.char.add("class-", y.astype(str)),
        lambda y: np.array([b"\xe0", b"\xe1", b"\xe2", b"\xe3", b"\xe4", b"\xe5"])[y],
        lambda y: y * 3_000_000 + 10**6,
        lambda y: y.astype(np.uint64) + np.uint64(2**63),
        lambda y: y + 2**62,
    ],
)
def test_labels_of_an_archive_are_renumbered(tmp_path, capsys, change):
    np.savez(tmp_path / "graph.npz", edge_index=EDGES, y=change(Y.numpy()))
    assert values(metrics(capsys, tmp_path / "graph.npz")) == expected(None)


NUMBERS, WORDS = "0,1\n1,2\n2,3\n", "a,b\nb,c\nc,d\n"


@pytest.mark.parametrize(
    "edges, labels",
    [
        *[(NUMBERS, heading + "0\n0\n1\n1\n") for heading in ("", "y\n", "Label\n", "klasse\n")],
        *[
            (NUMBERS, heading + "0,0\n1,0\n2,1\n3,1\n")
            for heading in ("", "id,y\n", "id,klasse\n", ",label\n", "Knoten,Klasse\n")
        ],
        *[(NUMBERS, heading + "x\nx\nz\nz\n") for heading in ("", "y\n", "# klasse\n")],
        (NUMBERS, "p\np\nq\nq\n"),
        (NUMBERS, "0\n0\n3000000\n3000000"),
        (
            NUMBERS,
            "4611686018427387904\n4611686018427387904\n4611686018427387905\n4611686018427387905\n",
        ),
        (NUMBERS, "0\n0\n99999999999999999999\n99999999999999999999\n"),
        (NUMBERS, "1.0\n1\n2.5\n2.5\n"),
        (NUMBERS, "id,y\n0,x\n1,x\n2,y\n3,y\n"),
        (NUMBERS, "x,y\n0,x\n1,x\n2,z\n3,z\n"),
        (WORDS, "a,x\nb,x\nc,z\nd,z\n"),
        (WORDS, "name,kind\na,x\nb,x\nc,z\nd,z\n"),
        (WORDS, "wer,was\na,0\nb,0\nc,1\nd,1\n"),
        (WORDS, "# wer,was\na,x\nb,x\nc,z\nd,z\n"),
        ("from,to\n" + WORDS, "a,x\nb,x\nc,z\nd,z\n"),
        ("von,nach\n" + NUMBERS, "0\n0\n1\n1\n"),
    ],
)
def test_headings_and_labels_of_text_files(tmp_path, capsys, edges, labels):
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "labels.csv").write_text(labels)
    found = described(capsys, tmp_path / "edges.csv", "--labels", tmp_path / "labels.csv")
    assert found == (4, 2, pytest.approx(2 / 3))


@pytest.mark.parametrize(
    "edges, labels, words",
    [
        ("8,9\n" + NUMBERS, "0\n0\n1\n1\n", "line 1: the edge 8 9 has a node without a label"),
        ("8,x\n" + NUMBERS, "0\n0\n1\n1\n", "begins with '8 x'"),
        ("von,nach\n" + WORDS, "a,x\nb,x\nc,z\nd,z\n", "if the line is a heading, add --header"),
        (NUMBERS + "3\n", "0\n0\n1\n1\n", "line 4: the edge 3  has a node"),
        (WORDS, "wer,was\na,x\nb,x\nc,z\nd,z\n", "begins with 'wer was'"),
        (WORDS, "name,x\na,x\nb,x\nc,z\nd,z\n", "begins with 'name x'"),
        (NUMBERS, ",0\n0,0\n1,0\n2,1\n3,1\n", "begins with ' 0'"),
        (NUMBERS, "9,label\n0,0\n1,0\n2,1\n3,1\n", "begins with '9 label'"),
        (NUMBERS, "klasse\np\np\nq\nq\n", "begins with 'klasse'"),
        (NUMBERS, "class\nclass\nq\nq\n", "begins with 'class'"),
        *[
            (NUMBERS, f"# labels\n0,1\n\n1,0\n2,{label}\n3,1\n", "line 5: node 2 has no label")
            for label in ("", "nan", "inf", "-inf", "NA", "1e999")
        ],
        (NUMBERS, "0\n0\nnan\n1\n", "line 3: node 2 has no label"),
        (NUMBERS, "0\n0\n\n1\n1\n", "line 3: node 2 has no label"),
        (NUMBERS, "0,1\n1,0\n2,-1\n3,1\n", "line 3: node 2 has the label -1"),
        (NUMBERS, "0,1\n1,0\n,1\n3,1\n", "line 3: the label 1 has no node"),
    ],
)
def test_what_is_unclear_in_a_text_file_is_refused(tmp_path, capsys, edges, labels, words):
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "labels.csv").write_text(labels)
    code, out, err = ran(capsys, tmp_path / "edges.csv", "--labels", tmp_path / "labels.csv")
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "edges, labels, options, homophily, read",
    [
        # pandas writes its index: as a column of its own, and as the names of the nodes.
        (",source,target\n0,0,1\n1,1,2\n2,2,3\n", "0\n0\n1\n1\n", [], 2 / 3, "not used: ''"),
        (",source,target\n0,3,1\n1,3,0\n", ",label\n3,a\n1,b\n0,b\n", [], 0, "node: ''"),
        (NUMBERS, ",node,label\n0,0,x\n1,1,x\n2,2,z\n3,3,z\n", [], 2 / 3, "not used: ''"),
        (WORDS, "name,age,label\na,9,x\nb,8,x\nc,7,z\nd,6,z\n", [], 2 / 3, "not used: 'age'"),
        (NUMBERS, "C#\nC#\nC\nC++\n", ["--no-header"], 1 / 3, "4 lines"),
        (NUMBERS, "New York\nNew York\nNew Jersey\nNew Jersey\n", [], 2 / 3, "4 lines"),
        (NUMBERS, "a\n#b\na\n#b\n", ["--no-header"], 0, "4 lines"),
        ("0 1 5\n1 2 6\n2 3 7\n", "0\n0\n1\n1\n", ["--source=0", "--target=1"], 2 / 3, "column 2"),
        ("a;b\nb;c\nc;d\n", "a;x\nb;x\nc;z\nd;z\n", ["--sep=;", "--no-header"], 2 / 3, "3 edges"),
    ],
)  # fmt: skip
def test_files_of_pandas_and_odd_labels(tmp_path, capsys, edges, labels, options, homophily, read):
    (tmp_path / "edges.csv").write_text(edges)
    (tmp_path / "labels.csv").write_text(labels)
    arguments = [tmp_path / "edges.csv", "--labels", tmp_path / "labels.csv", *options, "--json"]
    code, out, err = ran(capsys, *arguments)
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["metrics"]["H_edge"]["value"] == pytest.approx(homophily)
    assert read in " ".join(result["read"])


def test_a_graph_of_several_kinds_of_nodes_is_refused_by_name(tmp_path, capsys):
    data = HeteroData()
    data["a"].x = torch.ones(2, 2)
    torch.save(data, tmp_path / "graph.pt")
    code, out, err = ran(capsys, tmp_path / "graph.pt")
    assert (code, out) == (2, "") and "HeteroData" in err and err.count("\n") == 1


def test_0_by_0_is_null_in_json_and_nan_in_the_table(tmp_path, capsys):
    (tmp_path / "edges.csv").write_text("0,1\n1,2\n")
    (tmp_path / "labels.csv").write_text("0\n0\n0\n1\n")
    arguments = tmp_path / "edges.csv", "--labels", tmp_path / "labels.csv"
    found = values(metrics(capsys, *arguments))
    assert found["h_adj"] is found["LI_edge"] is found["LI_node"] is None and found["H_edge"] == 1
    assert [
        line.split() for line in ran(capsys, *arguments)[1].splitlines() if line.startswith("h_adj")
    ] == [["h_adj", "nan"]]
