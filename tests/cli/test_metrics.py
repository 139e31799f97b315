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
    assert (code, out) == (2, "") and "content is not executed" in err and err.count("\n") == 1
    assert not (tmp_path / "EXECUTED").exists()


def written(folder, edges, labels):
    (folder / "edges.csv").write_text(edges)
    (folder / "labels.csv").write_text(labels)
    return folder / "edges.csv", "--labels", folder / "labels.csv"


@pytest.mark.parametrize("separator", [",", "\t", " ", "; "])
@pytest.mark.parametrize("heading", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_edge_list(tmp_path, capsys, separator, heading, named):
    node = {v: f"n{v}" if named else str(v) for v in range(len(Y))}
    edges = ["# a comment"] + ["source" + separator + "target"] * heading
    edges += [f"{node[a]}{separator}{node[b]}" for a, b in EDGES.T.tolist()]
    if named:  # any order, labels as words
        labels = ["node" + separator + "label"] * heading
        labels += [f"{node[v]}{separator}class-{Y[v]}" for v in torch.randperm(len(Y)).tolist()]
    else:
        labels = ["label"] * heading + list(map(str, Y.tolist()))
    arguments = written(tmp_path, "\n".join(edges) + "\n", "\n".join(labels))
    assert values(metrics(capsys, *arguments)) == expected(None)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "0,1\n1,2\n", "0\n1\n1\n")
    (tmp_path / "noise.npz").write_bytes(b"PK\x03\x04 not an archive")
    (tmp_path / "noise.pt").write_bytes(b"\x80\x02 nothing of the kind")
    (tmp_path / "noise.txt").write_bytes(b"\xff\x00")
    (tmp_path / "graph.graphml").write_text("<graphml/>")
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "one.npy", Y.numpy())
    (tmp_path / "one.npz").write_bytes((tmp_path / "one.npy").read_bytes())
    edge_index, y, n = EDGES.numpy(), Y.numpy(), len(Y)
    np.savez(tmp_path / "bare.npz", edge_index=edge_index)
    for name, changed in {
        "objects": {"edge_index": np.array([{}], dtype=object)},
        "wide": {"edge_index": edge_index.T},
        "words": {"x": np.full((n, 2), "a")},
        "complex": {"x": np.full((n, 2), 1j)},
        "dates": {"y": np.full(n, "2020-01-01", dtype="M8[D]")},
        "reals": {"y": np.full(n, 0.5)},
        "two": {"y": np.ones((n, 2), dtype=int)},
        "missing": {"y": np.array(["a"] * (n - 1) + [""])},
        "minus": {"y": y - 1},
        "beyond": {"edge_index": np.full((2, 3), 2**63, dtype=np.uint64)},
    }.items():
        np.savez(tmp_path / f"{name}.npz", **{"edge_index": edge_index, "y": y} | changed)
    several = HeteroData()
    several["a"].x = torch.ones(2, 2)
    data = {"edge_index": EDGES, "y": Y}
    torch.save(several, tmp_path / "hetero.pt")
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save((data, {"y": torch.tensor([0, 3])}, Data), tmp_path / "slices.pt")
    torch.save(data | {"y": Y.to("meta")}, tmp_path / "meta.pt")


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["texass"], "unknown data set 'texass', and there is no such file"),
        (["folder"], "no such file"),
        (["nowhere/at.npz"], "no such file"),
        (["edges.csv", "--labels", "folder"], "--labels"),
        (["edges.csv"], "--labels"),
        (["edges.csv", "--labels", "nowhere.csv"], "--labels"),
        (["noise.txt", "--labels", "labels.csv"], "noise.txt is not a table"),
        (["graph.graphml", "--labels", "labels.csv"], "graph.graphml is not read"),
        (["one.npy", "--labels", "labels.csv"], "one.npy is not read"),
        (["noise.npz"], "noise.npz is not a graph"),
        (["noise.pt"], "noise.pt is not a graph"),
        (["bare.npz"], "edge_index and y are needed"),
        (["objects.npz"], "Object arrays cannot be loaded"),
        (["wide.npz"], "[2, E] are needed"),
        (["one.npz"], "its ndarray is not a Data"),
        (["list.pt"], "its list is not a Data"),
        (["hetero.pt"], "its HeteroData is not a Data"),
        (["slices.pt"], "its tuple is not a Data"),
        (["words.npz"], "numpy.str_"),
        (["complex.npz"], "real numbers"),
        (["dates.npz"], "labels are datetime64[D]"),
        (["reals.npz"], "labels are float64"),
        (["two.npz"], "not a class for each node"),
        (["missing.npz"], "has no label ('')"),
        (["minus.npz"], "has no label ('-1')"),
        (["beyond.npz"], "edge_index names nodes"),
        (["meta.pt"], "meta"),
        (["bare.npz", "--labels", "labels.csv"], "bare.npz is not an edge list"),
        (["synthetic", "--no-header"], "synthetic is not an edge list"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(files, capsys, arguments, words):
    code, out, err = ran(capsys, *arguments)
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.astype(np.uint16),
        lambda y: np.char.add("class-", y.astype(str)),
        lambda y: y * 3_000_000 + 10**6,
        lambda y: y.astype(np.uint64) + np.uint64(2**63),
        lambda y: y + 2**62,
    ],
)
def test_labels_of_an_archive_are_renumbered(tmp_path, capsys, change):
    edges = EDGES.numpy().astype(np.uint16)
    np.savez(tmp_path / "graph.npz", edge_index=edges, y=change(Y.numpy()))
    assert values(metrics(capsys, tmp_path / "graph.npz")) == expected(None)


@pytest.mark.parametrize("kind", [np.float32, bool, np.uint16])
def test_any_type_of_number_as_features(tmp_path, capsys, kind):
    x = (DENSE > 0).double()
    np.savez(tmp_path / "graph.npz", edge_index=EDGES, y=Y, x=x.numpy().astype(kind))
    assert values(metrics(capsys, tmp_path / "graph.npz")) == expected(x)


NUMBERS, WORDS = "0,1\n1,2\n2,3\n", "a,b\nb,c\nc,d\n"
BUYERS = ["--source=buyer", "--target=seller", "--node=firm", "--label=sector"]


@pytest.mark.parametrize(
    "edges, labels, options",
    [
        *[(NUMBERS, heading + "0\n0\n1\n1\n", []) for heading in ("", "label\n", "Label\n")],
        *[
            (NUMBERS, heading + "0,0\n1,0\n2,1\n3,1\n", [])
            for heading in ("", "node,Label\n", "\ufeffnode,label\n", "# wer,was\n")
        ],
        *[(NUMBERS, heading + "x\nx\nz\nz\n", []) for heading in ("", "label\n", "# klasse\n")],
        (NUMBERS, "0\n0\n3000000\n3000000", []),
        (NUMBERS, f"{2**62}\n{2**62}\n{2**62 + 1}\n{2**62 + 1}\n", []),
        (NUMBERS, "0,x\n\n1,x\n2,z\n3,z\n\n", []),
        (WORDS, "a,x\nb,x\nc,z\nd,z\n", []),
        (WORDS, '"a","x"\nb,x\nc,z\nd,z\n', []),
        ("Target,Source\n" + WORDS, "a,x\nb,x\nc,z\nd,z\n", []),
        ("von,nach\n" + NUMBERS, "klasse\n0\n0\n1\n1\n", ["--header"]),
        ("von,nach\n" + WORDS, "wer,was\na,x\nb,x\nc,z\nd,z\n", ["--header"]),
        ("0 1 5\n1 2 6\n2 3 7\n", "0\n0\n1\n1\n", ["--source=0", "--target=1"]),
        ("# SNAP\n0\t1\n1\t2\n2\t3\n", "0 x\n1 x\n2 z\n3 z\n", []),
        (NUMBERS, ",label\n0,x\n1,x\n2,z\n3,z\n", ["--node=0", "--label=label"]),
        (WORDS, "name,age,label\na,9,x\nb,8,x\nc,7,z\nd,6,z\n", ["--node=name"]),
        ("buyer,seller,p\n" + "0,1,9\n1,2,9\n2,3,9\n", "sector,firm\nx,0\nx,1\nz,2\nz,3\n", BUYERS),
    ],
)
def test_headings_columns_and_labels_of_tables(tmp_path, capsys, edges, labels, options):
    code, out, err = ran(capsys, *written(tmp_path, edges, labels), *options, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["nodes"], found["classes"]) == (4, 2)
    assert found["metrics"]["H_edge"]["value"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "edges, labels, words",
    [
        ("8,9\n" + NUMBERS, "0\n0\n1\n1\n", "line 1: the edge 8 9 has a node without a label"),
        ("8,x\n" + NUMBERS, "0\n0\n1\n1\n", "line 1: the edge 8 x has a node without a label"),
        ("von,nach\n" + WORDS, "a,x\nb,x\nc,z\nd,z\n", "begins with 'von nach'"),
        ("von,nach\n" + NUMBERS, "0\n0\n1\n1\n", "begins with 'von nach'"),
        (NUMBERS + "3\n", "0\n0\n1\n1\n", "line 4: the edge 3  has a node"),
        (NUMBERS + "3,1,2\n", "0\n0\n1\n1\n", "line 4, saw 3"),
        (NUMBERS, "node,klasse\n0,0\n1,0\n2,1\n3,1\n", "choose columns with --node and --label"),
        (NUMBERS, ",label\n0,0\n1,0\n2,1\n3,1\n", "choose columns with --node and --label"),
        (
            WORDS,
            "name,age,label\na,9,x\nb,8,x\nc,7,z\nd,6,z\n",
            "choose columns with --node and --label",
        ),
        (NUMBERS, "0,0,7\n1,0,7\n2,1,7\n3,1,7\n", "choose columns with --node and --label"),
        (NUMBERS, "0 dark red\n1 blue\n2 blue\n3 blue\n", "choose columns"),
        ("0\n1\n", "0\n1\n", "choose columns with --source and --target"),
        (WORDS, "wer,was\na,x\nb,x\nc,z\nd,z\n", "begins with 'wer was'"),
        (WORDS, "node,x\na,x\nb,x\nc,z\nd,z\n", "begins with 'node x'"),
        (NUMBERS, ",0\n0,0\n1,0\n2,1\n3,1\n", "without a name"),
        (NUMBERS, "9,label\n0,0\n1,0\n2,1\n3,1\n", "begins with '9 label'"),
        (NUMBERS, "klasse\np\np\nq\nq\n", "begins with 'klasse'"),
        (NUMBERS, "label\nlabel\nq\nq\n", "begins with 'label'"),
        (NUMBERS, "node,label\n0,x\n1,x\n2,label\n3,label\n", "begins with 'node label'"),
        *[
            (NUMBERS, f"# labels\n0,1\n\n1,0\n2,{label}\n3,1\n", f"node 2 has no label ({label!r})")
            for label in ("", "nan", "inf", "-inf", "NA", "-1")
        ],
        (NUMBERS, "0\n0\n\n1\n1\n", "node 2 has no label"),
        (NUMBERS, "\n0\n0\n1\n1\n", "No columns to parse"),
        (NUMBERS, "\nx\nx\nz\nz\n", "begins with ''"),
        (NUMBERS, "", "begins with ''"),
        ("# only\n", "0\n1\n", "No columns to parse"),
        (NUMBERS, "0,1\n1,0\n,1\n3,1\n", "without a name"),
        (NUMBERS, "0,1\n0,1\n1,0\n2,1\n", "has node '0' twice"),
        (NUMBERS, "1.0\n1\n2.5\n2.5\n", "1 and 1.0 are the same number"),
        ("0,1\n1,2\n", "0\n1\n", "line 2: the edge 1 2 has a node without a label"),
        ("1,10\n", "1_0,x\n1,y\n2,x\n", "line 1: the edge 1 10 has a node without a label"),
        ("", "0\n1\n", "No columns to parse"),
    ],
)
def test_what_is_unclear_in_a_table_is_refused(tmp_path, capsys, edges, labels, words):
    code, out, err = ran(capsys, *written(tmp_path, edges, labels))
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1


@pytest.mark.parametrize("option", ["--sep=||", "--source=x", "--label=7"])
def test_an_option_that_does_not_fit_is_refused(tmp_path, capsys, option):
    code, out, err = ran(capsys, *written(tmp_path, NUMBERS, "0,x\n1,x\n2,z\n3,z\n"), option)
    assert (code, out) == (2, "") and err.count("\n") == 1


@pytest.mark.parametrize(
    "edges, labels, homophily, read",
    [
        # pandas writes its index as a column without a name.
        (",source,target\n0,0,1\n1,1,2\n2,2,3\n", "0\n0\n1\n1\n", 2 / 3, "not used: ['']"),
        (NUMBERS, ",node,label\n0,0,x\n1,1,x\n2,2,z\n3,3,z\n", 2 / 3, "not used: ['']"),
        (WORDS, "node,age,label\na,9,x\nb,8,x\nc,7,z\nd,6,z\n", 2 / 3, "not used: ['age']"),
        ("source,target,weight\n0,1,5\n1,2,7\n", "0\n0\n1\n", 1 / 2, "not used: ['weight']"),
        (NUMBERS, "C#\nC#\nC\nC++\n", 1 / 3, "4 data lines"),
        (NUMBERS, "New York\nNew York\nNew Jersey\nNew Jersey\n", 2 / 3, "4 data lines"),
        (NUMBERS, "#b\na\n#b\na\n", 0, "0 comment lines, 4 data lines"),
        ("source,target\n1_0,1\n", "1_0,x\n1,x\n10,y\n", 1, "1 isolated"),
        (
            "0,1\n1,0\n0,0\n0,1\n",
            "x\ny\nx\n",
            0,
            "4 edges in the file, 1 repeated, 1 in both directions, 1 self-loops, 1 isolated",
        ),
    ],
)
def test_files_of_pandas_and_odd_labels(tmp_path, capsys, edges, labels, homophily, read):
    code, out, err = ran(capsys, *written(tmp_path, edges, labels), "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["metrics"]["H_edge"]["value"] == pytest.approx(homophily)
    assert read in " ".join(result["read"])


def test_what_was_read_is_said_first(tmp_path, capsys):
    _, out, _ = ran(capsys, *written(tmp_path, NUMBERS, "0\n0\n1\n1\n"))
    first, second, third, fourth, *_ = out.splitlines()
    assert first.endswith("3 data lines; columns used: {'source': 0, 'target': 1}; not used: []")
    assert second.endswith("4 data lines; columns used: {'label': 0}; not used: []")
    assert third.startswith("4 nodes, 3 edges in the file") and "4 nodes, 2 classes" in fourth


def test_direction_and_case(capsys):
    assert metrics(capsys, "Synthetic", "--directed") == metrics(
        capsys, "synthetic", "--direction", "out"
    )


def test_0_by_0_is_null_in_json_and_nan_in_the_table(tmp_path, capsys):
    arguments = written(tmp_path, "0,1\n1,2\n", "0\n0\n0\n1\n")
    found = values(metrics(capsys, *arguments))
    assert found["h_adj"] is found["LI_edge"] is found["LI_node"] is None and found["H_edge"] == 1
    assert ["h_adj", "nan"] in [line.split() for line in ran(capsys, *arguments)[1].splitlines()]
