"""Latent positions and balls against SciPy, scikit-learn and brute force."""

import sys

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import Isomap

from acm.baselines import geomgcn as module
from acm.baselines.geomgcn import GeomGCN, ball, divide, hops, isomap, positions
from acm.data.files import cache_folder
from acm.errors import UsageError
from acm.filters import adjacency, low_pass


def drawn(nodes: int, degree: float, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    a = np.triu(rng.random((nodes, nodes)) < degree / nodes, 1)
    target, source = (a | a.T).nonzero()
    return torch.from_numpy(np.stack([source, target]))


def scipy_matrix(edges, nodes):
    source, target = edges.numpy()
    return sparse.csr_array((np.ones(source.size), (target, source)), (nodes, nodes))


def test_hops_are_the_shortest_paths():
    edges = drawn(300, 1.5)  # in several pieces
    found = hops(adjacency(edges, 300), np.arange(0, 300))
    expected = shortest_path(scipy_matrix(edges, 300), unweighted=True)
    assert np.isinf(expected).any()
    np.testing.assert_array_equal(found, expected)


def test_positions_are_isomaps():
    path = torch.arange(149)
    path = torch.stack([path, path + 1])  # scikit-learn has no sparse graph of several pieces
    edges = torch.cat([drawn(150, 4), path, path.flip(0)], 1).unique(dim=1)
    graph = scipy_matrix(edges, 150)
    reference = Isomap(n_neighbors=None, radius=1, n_components=2, metric="precomputed")
    expected = reference.fit_transform(graph)
    found = isomap(adjacency(edges, 150))
    for axis in range(2):  # an axis may point either way
        sign = np.sign(found[:, axis] @ expected[:, axis])
        np.testing.assert_allclose(sign * found[:, axis], expected[:, axis], atol=1e-8)


def test_landmarks_place_the_other_nodes_where_they_would_be():
    # A circle: all its distances are nearly those in the plane, and every landmark sees that.
    nodes = 400
    ring = torch.arange(nodes)
    edges = torch.stack([ring, (ring + 1) % nodes])
    a = adjacency(torch.cat([edges, edges.flip(0)], 1), nodes)
    full, some = isomap(a), isomap(a, landmarks=100)
    distances = pdist(full)
    np.testing.assert_allclose(pdist(some), distances, atol=0.1 * distances.max())
    chosen = np.sort(np.random.default_rng(0).permutation(nodes)[:100])
    assert not np.isin(np.arange(nodes), chosen).all()


def test_the_order_of_nodes_does_not_matter():
    edges, order = drawn(100, 5), torch.randperm(100, generator=torch.Generator().manual_seed(0))
    first = isomap(adjacency(edges, 100))
    second = isomap(adjacency(order[edges], 100))[order.numpy()]
    np.testing.assert_allclose(pdist(first), pdist(second), atol=1e-8)


def test_graphs_with_almost_nothing_in_them():
    none = torch.empty(2, 0, dtype=torch.int64)
    for nodes in (1, 2, 3, 5):
        z = isomap(adjacency(none, nodes))
        assert z.shape == (nodes, 2) and np.isfinite(z).all()
        assert len(GeomGCN(2, 2, hidden=3).operator(none, nodes)) == 8


def test_the_ball_has_the_nearest_pairs():
    z = np.random.default_rng(0).random((50, 2))
    piece = np.zeros(50, int)
    found = ball(z, piece, 60)
    distance = squareform(pdist(z))
    radius = np.sort(pdist(z))[59]
    expected = {(i, j) for i in range(50) for j in range(i + 1, 50) if distance[i, j] <= radius}
    assert {tuple(sorted(pair)) for pair in found.tolist()} == expected
    assert len(found) == 60
    assert len(ball(z, piece, 10**6)) == 50 * 49 // 2
    assert len(ball(z, piece, 0)) == 0


def test_the_ball_stays_within_a_component():
    z = np.random.default_rng(0).random((50, 2))
    piece = np.arange(50) % 3
    distance = np.where(piece[:, None] == piece, squareform(pdist(z)), np.inf)
    upper = np.triu_indices(50, 1)
    radius = np.sort(distance[upper])[39]
    expected = {(i, j) for i, j in zip(*upper) if distance[i, j] <= radius}
    assert {tuple(sorted(pair)) for pair in ball(z, piece, 40).tolist()} == expected
    assert len(ball(z, piece, 10**6)) == np.isfinite(distance[upper]).sum()


def test_of_points_that_lie_on_each_other_no_ball_is_too_full():
    z = np.zeros((100, 2))
    z[0] = 1
    assert len(ball(z, np.zeros(100, int), 30)) == 0


def test_the_parts_of_an_operator_are_its_quadrants():
    edges = drawn(30, 4)
    matrix = low_pass(edges, 30)
    z = np.random.default_rng(1).normal(size=(30, 2))
    parts = [part.to_dense() for part in divide(matrix, z)]
    assert torch.equal(sum(parts), matrix.to_dense())
    for row, col in zip(matrix.row.tolist(), matrix.col.tolist()):
        right = 2 * bool(z[row, 0] > z[col, 0]) + bool(z[row, 1] > z[col, 1])
        assert [bool(part[row, col]) for part in parts] == [r == right for r in range(4)]


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ACM_DATA_CACHE", str(tmp_path))
    return tmp_path


def test_positions_are_computed_once_for_each_graph(own_cache, monkeypatch):
    calls = []
    compute = module.isomap
    monkeypatch.setattr(module, "isomap", lambda a: calls.append(a) or compute(a))
    edges = drawn(40, 4)
    first = positions(edges, 40)
    again = positions(edges.flip(1), 40)  # the same edges in another order
    assert np.array_equal(first, again) and len(calls) == 1
    positions(edges[:, 2:], 40)
    positions(edges, 41)
    assert len(calls) == 3
    for path in (cache_folder() / "isomap").iterdir():
        path.write_bytes(b"not an array")
    assert np.array_equal(positions(edges, 40), first) and len(calls) == 4
    assert not list(own_cache.rglob("*.part"))


def test_a_cache_that_cannot_be_written_is_no_error(own_cache, monkeypatch):
    (own_cache / "isomap").write_text("a file where the folder should be")
    assert positions(drawn(40, 4), 40).shape == (40, 2)


def test_without_scikit_learn_one_line_says_so(own_cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    with pytest.raises(UsageError, match="scikit-learn"):
        positions(drawn(40, 4), 40)
