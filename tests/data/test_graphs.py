"""Graphs: published counts, and contents as other readers give them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.io import read_planetoid_data

from acm.data.files import locate
from acm.data.graphs import describe, load
from acm.data.names import DATASETS, PAPER_DATASETS, raw_files
from acm.errors import UsageError

# nodes, rows of the edge file, distinct rows, undirected edges without loops, loops, features,
# class counts: published statistics, and those of the raw files counted by other means.
COUNTS = {
    "cornell": (183, 298, 298, 277, 3, 1703, (33, 1, 18, 101, 30)),
    "wisconsin": (251, 515, 515, 450, 16, 1703, (10, 70, 118, 32, 21)),
    "texas": (183, 325, 325, 279, 16, 1703, (33, 1, 18, 101, 30)),
    "film": (7600, 33391, 30019, 26659, 93, 932, (853, 1337, 1630, 1815, 1965)),
    "chameleon": (2277, 36101, 36101, 31371, 50, 2325, (456, 460, 453, 521, 387)),
    "squirrel": (5201, 217073, 217073, 198353, 140, 2089, (1042, 1040, 1039, 1040, 1040)),
    "deezer-europe": (28281, 92752, 92752, 92752, 0, 31241, (15743, 12538)),
    "cora": (2708, 10858, 10556, 5278, 0, 1433, (351, 217, 418, 818, 426, 298, 180)),
    "citeseer": (3327, 9464, 9228, 4552, 124, 3703, (264, 590, 668, 701, 596, 508)),
    "pubmed": (19717, 88676, 88651, 44324, 3, 500, (4103, 7739, 7875)),
    "cornell_corrected": (183, 277, 277, 277, 0, 1703, (38, 16, 30, 82, 17)),
    "chameleon_filtered": (890, 8854, 8854, 8854, 0, 2325, (242, 134, 209, 164, 141)),
    "squirrel_filtered": (2223, 46998, 46998, 46998, 0, 2089, (756, 516, 397, 321, 233)),
    "minesweeper": (10000, 39402, 39402, 39402, 0, 7, (8000, 2000)),
    "tolokers": (11758, 519000, 519000, 519000, 0, 10, (9192, 2566)),
}


def files_of(name: str) -> dict[str, Path]:
    return {file.role: locate(file) for file in raw_files(name, splits=False)}


def rows_of(data: Data) -> list[tuple[int, int]]:
    return list(map(tuple, data.edge_index.T.tolist()))


def dense(x: torch.Tensor) -> np.ndarray:
    return (x.to_dense() if x.layout == torch.sparse_csr else x).numpy()


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name: str) -> None:
    nodes, raw_rows, distinct, undirected, loops, features, classes = COUNTS[name]
    data, raw = load(name), load(name, directed=True)
    assert tuple(data.x.shape) == (nodes, features)
    assert data.num_nodes == nodes
    assert data.raw_rows == raw_rows
    assert raw.num_edges == data.directed_edges == distinct
    assert data.num_edges == 2 * undirected + loops
    assert int((data.edge_index[0] == data.edge_index[1]).sum()) == loops
    assert tuple(torch.bincount(data.y).tolist()) == classes
    assert data.num_classes == len(classes)
    assert data.name == name


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_what_every_graph_keeps_to(name: str) -> None:
    data, raw = load(name), load(name, directed=True)
    assert data.validate()
    assert data.is_undirected()
    row, column, n = *data.edge_index, data.num_nodes
    key, raw_key = row * n + column, raw.edge_index[0] * n + raw.edge_index[1]
    for graph, keys in ((data, key), (raw, raw_key)):
        assert (keys.diff() > 0).all()  # sorted, each pair once
        assert graph.edge_index.dtype == graph.y.dtype == torch.int64
        assert graph.x.dtype == torch.float32
    turned = raw.edge_index[1] * n + raw.edge_index[0]
    assert torch.equal(key, torch.cat([raw_key, turned]).unique())
    sparse = data.x.layout == torch.sparse_csr
    assert sparse is (name not in ("minesweeper", "tolokers"))
    if sparse:
        assert (data.x.values() != 0).all()
        assert data.x.values().numel() < data.x.numel() / 8


def test_the_names_there_are() -> None:
    assert list(DATASETS) == [*COUNTS, "synthetic"]
    assert PAPER_DATASETS == tuple(COUNTS)[:10]
    assert all(entry.description for entry in DATASETS.values())
    with pytest.raises(UsageError, match="unknown data set 'Cora' .did you mean cora"):
        load("Cora")
    with pytest.raises(UsageError, match="data sets are cornell, wisconsin"):
        load("reddit")


@pytest.mark.data
@pytest.mark.parametrize("name", ["cornell", "wisconsin", "texas", "film", "chameleon"])
def test_geom_files_read_line_by_line(name: str) -> None:
    files = files_of(name)
    edges = [tuple(map(int, line.split())) for line in files["edges"].read_text().split("\n")[1:-1]]
    data = load(name, directed=True)
    assert rows_of(data) == sorted(set(edges))
    assert data.raw_rows == len(edges)
    x = dense(data.x)
    for line in files["nodes"].read_text().split("\n")[1:-1]:
        node, features, label = line.split("\t")
        values = list(map(int, features.split(",")))
        ones = set(values) if name == "film" else {i for i, value in enumerate(values) if value}
        assert set(np.flatnonzero(x[int(node)])) == ones
        assert int(data.y[int(node)]) == int(label)
    assert set(np.unique(x)) == {0, 1}


@pytest.mark.data
@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_planetoid_as_pyg_reads_it(name: str) -> None:
    theirs = read_planetoid_data(str(files_of(name)["x"].parent), name)
    ours = load(name)
    assert np.array_equal(dense(ours.x), theirs.x.numpy())
    assert torch.equal(ours.y, theirs.y)
    # PyG drops the loops and sorts by target
    between = ours.edge_index[:, ours.edge_index[0] != ours.edge_index[1]]
    assert torch.equal(between, theirs.edge_index.flip(0))


@pytest.mark.data
def test_deezer_read_row_by_row() -> None:
    data = load("deezer-europe", directed=True)
    with zipfile.ZipFile(files_of("deezer-europe")["archive"]) as archive:
        likes = json.loads(archive.read("deezer_europe/deezer_europe_features.json"))
        edges = archive.read("deezer_europe/deezer_europe_edges.csv").decode().split()[1:]
        target = archive.read("deezer_europe/deezer_europe_target.csv").decode().split()[1:]
    assert rows_of(data) == sorted(tuple(map(int, row.split(","))) for row in edges)
    assert {v: int(data.y[v]) for v in range(data.num_nodes)} == {
        int(v): int(label) for v, label in (row.split(",") for row in target)
    }
    crow, columns = data.x.crow_indices().tolist(), data.x.col_indices().tolist()
    assert len(likes) == data.num_nodes
    for node, artists in likes.items():
        assert columns[crow[int(node)] : crow[int(node) + 1]] == sorted(set(artists))
    assert set(data.x.values().tolist()) == {1.0}


@pytest.mark.data
@pytest.mark.parametrize("name", list(COUNTS)[10:])
def test_later_graphs_against_their_archives(name: str) -> None:
    data = load(name)
    with np.load(files_of(name)["graph"]) as archive:
        assert np.array_equal(dense(data.x), archive["node_features"])
        assert np.array_equal(data.y.numpy(), archive["node_labels"])
        u, v = archive["edges"].T
    both = np.unique(np.concatenate([np.stack([u, v]), np.stack([v, u])], axis=1), axis=1)
    assert np.array_equal(data.edge_index.numpy(), both)


@pytest.mark.data
def test_cornell_is_texas_except_its_edges() -> None:
    cornell, texas = files_of("cornell"), files_of("texas")
    assert cornell["nodes"].read_bytes() == texas["nodes"].read_bytes()
    assert cornell["edges"].read_bytes() != texas["edges"].read_bytes()
    assert torch.equal(load("cornell").y, load("texas").y)
    # The edges are Cornell's: without loops and up to the order of nodes, the corrected release has
    # the same graph, as far as three rounds of color refinement can tell.
    graphs = {name: load(name) for name in ("cornell", "cornell_corrected", "texas")}
    colors = {name: refined_colors(graph) for name, graph in graphs.items()}
    assert colors["cornell"] == colors["cornell_corrected"] != colors["texas"]


def refined_colors(data: Data, rounds: int = 3) -> list[tuple]:
    neighbors = [set() for _ in range(data.num_nodes)]
    for u, v in rows_of(data):
        if u != v:
            neighbors[u].add(v)
    colors: list[tuple] = [()] * data.num_nodes
    for _ in range(rounds):
        colors = [tuple(sorted(colors[u] for u in near)) for near in neighbors]
    return sorted(colors)


@pytest.mark.data
def test_edge_counts_of_table_3() -> None:
    def loops(name: str) -> int:
        data = load(name)
        return int((data.edge_index[0] == data.edge_index[1]).sum())

    less_loops = {"cornell": 295, "wisconsin": 499, "texas": 309}
    assert {n: load(n).raw_rows - loops(n) for n in less_loops} == less_loops
    rows = {"chameleon": 36101, "squirrel": 217073, "deezer-europe": 92752}
    assert {n: load(n).raw_rows for n in rows} == rows
    # Every citation stands twice in these files, once at either end; repeated ones are counted.
    halves = {"cora": 5429, "citeseer": 4732, "pubmed": 44338}
    assert {n: load(n).raw_rows / 2 for n in halves} == halves


@pytest.mark.data
def test_describe() -> None:
    cornell = describe("cornell")
    assert (cornell.name, cornell.nodes, cornell.raw_rows) == ("cornell", 183, 298)
    assert (cornell.undirected_edges, cornell.loops, cornell.features) == (277, 3, 1703)
    assert cornell.class_counts == (33, 1, 18, 101, 30)
    assert "class_counts        (33, 1, 18, 101, 30)" in str(cornell)
    assert describe("chameleon").zero_rows == 233
    assert describe("citeseer").isolated_nodes == 48
    assert describe("tolokers").nonzeros == 61101
    with pytest.raises(UsageError, match="unknown data set 'imdb'"):
        describe("imdb")


@pytest.mark.data
def test_citeseer_has_15_nodes_of_which_nothing_is_known() -> None:
    data = load("citeseer")
    blank = ~data.x.to_dense().any(1)
    assert int(blank.sum()) == 15
    assert set(data.y[blank].tolist()) == {0}
    assert data.has_isolated_nodes()


@pytest.mark.data
def test_a_graph_is_fresh_each_time() -> None:
    first = load("texas")
    first.x.values().zero_(), first.y.zero_(), first.edge_index.zero_()
    second = load("texas")
    assert second.x.values().all() and second.y.any() and second.edge_index.any()


@pytest.mark.data
def test_a_load_writes_no_file_and_refuses_a_changed_one(cache, tmp_path, monkeypatch) -> None:
    mirror = tmp_path / "mirror"
    for file in raw_files("texas", splits=False):
        (mirror / file.path).parent.mkdir(parents=True, exist_ok=True)
        (mirror / file.path).write_bytes(locate(file).read_bytes())
    monkeypatch.setenv("ACM_DATA_MIRROR", str(mirror))
    assert load("texas").num_nodes == 183
    assert not cache.exists()
    content = (mirror / file.path).read_bytes()
    (mirror / file.path).write_bytes(content.replace(b"\t1\n", b"\t2\n", 1))  # one label
    with pytest.raises(UsageError, match="in ACM_DATA_MIRROR is damaged"):
        load("texas")


def test_names_and_files_need_no_pytorch() -> None:
    code = (
        "import sys, acm.data, acm.data.names, acm.data.files; dir(acm.data)\n"
        "print([m for m in ('torch', 'numpy', 'scipy', 'pooch', 'requests') if m in sys.modules])"
    )
    root = str(Path(__file__).parents[2])
    out = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert (out.stdout, out.stderr) == ("[]\n", "")


def test_every_public_name_is_there() -> None:
    import acm.data

    for name in acm.data.__all__:
        assert getattr(acm.data, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        acm.data.lod  # noqa: B018
