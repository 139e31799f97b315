"""The synthetic generator: the appendix's draws, counted."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from acm.data.generator import HOMOPHILY_LEVELS, _edges, inter_class_draws, synthetic
from acm.data.graphs import load
from acm.errors import UsageError


def test_the_28_levels() -> None:
    coarse = [Decimal("0.95") - k * Decimal("0.05") for k in range(19)]
    fine = [Decimal("0.045") - k * Decimal("0.005") for k in range(9)]
    assert [Decimal(str(h)) for h in HOMOPHILY_LEVELS] == coarse + fine
    assert len(HOMOPHILY_LEVELS) == 28


@pytest.mark.parametrize("h", HOMOPHILY_LEVELS)
def test_draws_outside_the_class_are_exact(h: float) -> None:
    exact = Fraction(str(h))
    assert inter_class_draws(h) == int(2 / exact - 2)
    for noise in (-1e-15, 1e-15, -1e-12, 1e-12):
        assert inter_class_draws(h + noise) == int(2 / exact - 2)
    assert inter_class_draws(h, 5) == int(5 / exact - 5)


def test_levels_out_of_a_floating_point_range_lose_no_draw() -> None:
    levels = np.arange(0.05, 0, -0.005)  # 0.025000000000000015, …
    exact = [int(2 / Fraction(k, 200) - 2) for k in range(10, 0, -1)]
    assert [inter_class_draws(h) for h in levels] == exact
    assert sum(int(2 / h - 2) == draws - 1 for h, draws in zip(levels, exact)) == 5  # the trap


@given(st.integers(2, 5), st.integers(2, 6), st.integers(1, 4), st.integers(0, 9), st.integers(0))
def test_each_node_draws_its_number(
    classes: int, size: int, d_intra: int, d_inter: int, seed: int
) -> None:
    rows = _edges(classes, size, d_intra, d_inter, np.random.default_rng(seed))
    drawn = {node: [] for node in range(classes * size)}
    for source, target in rows.tolist():
        drawn[source].append(target)
    for node, targets in drawn.items():
        inside = [target for target in targets if target // size == node // size]
        assert len(inside) == d_intra and len(targets) == d_intra + d_inter
        assert node not in targets
        assert all(0 <= target < classes * size for target in targets)


def test_draws_are_the_appendix_s_multinomial_ones() -> None:
    """Means, variances and covariances of the counts, against NumPy's own multinomial draws."""
    classes, size, repeats = 3, 4, 4000
    rng = np.random.default_rng(1)
    node = 5  # in class 1, nodes 4 to 7
    ours = np.zeros((repeats, classes * size))
    for counts in ours:
        rows = _edges(classes, size, 2, 3, rng)
        np.add.at(counts, rows[rows[:, 0] == node, 1], 1)
    inside, outside = [4, 6, 7], [0, 1, 2, 3, 8, 9, 10, 11]
    theirs = np.zeros_like(ours)
    theirs[:, inside] = rng.multinomial(2, np.ones(3) / 3, size=repeats)
    theirs[:, outside] = rng.multinomial(3, np.ones(8) / 8, size=repeats)
    tolerance = 5 * (2 / repeats) ** 0.5  # five standard errors of counts with variance below 1
    assert np.abs(ours.mean(0) - theirs.mean(0)).max() < tolerance
    assert np.abs(np.cov(ours.T) - np.cov(theirs.T)).max() < tolerance


@pytest.mark.parametrize("h", [0.95, 0.5, 0.35, 0.1, 0.01])
def test_realized_homophily(h: float) -> None:
    data = synthetic(h=h, undirected=False)
    row, column = data.edge_index
    inside = float((data.y[row] == data.y[column]).double().mean())
    draws = inter_class_draws(h)
    # Merging repeated edges takes one in 800 of those inside, draws / 3200 of those outside.
    assert inside == pytest.approx(2 / (2 + draws), rel=0.12)
    assert data.raw_rows == 2000 * (2 + draws)
    assert (torch.bincount(row, minlength=2000) <= 2 + draws).all()
    assert data.directed_edges == data.num_edges <= data.raw_rows


def test_undirected_is_the_directed_one_and_its_reverse() -> None:
    directed, both = synthetic(h=0.2, undirected=False, seed=3), synthetic(h=0.2, seed=3)
    drawn = set(map(tuple, directed.edge_index.T.tolist()))
    assert set(map(tuple, both.edge_index.T.tolist())) == drawn | {(v, u) for u, v in drawn}
    assert both.is_undirected() and not directed.is_undirected()
    assert not both.has_self_loops() and not directed.has_self_loops()
    assert both.is_coalesced() and directed.is_coalesced()
    assert torch.equal(directed.x.to_dense(), both.x.to_dense())
    assert both.y.tolist() == [c for c in range(5) for _ in range(400)]


def test_seeds() -> None:
    small = dict(nodes_per_class=20, h=0.3)
    first, same, other = (synthetic(**small, seed=seed) for seed in (0, 0, 1))
    for key in ("edge_index", "x"):
        a, b, c = (
            t.to_dense() if t.layout == torch.sparse_csr else t
            for t in (graph[key] for graph in (first, same, other))
        )
        assert torch.equal(a, b)
        assert not torch.equal(a, c)
    np.random.seed(5), torch.manual_seed(5)
    assert torch.equal(synthetic(**small).edge_index, first.edge_index)
    # Edges do not depend on where the features come from, nor features on the homophily.
    assert torch.equal(synthetic(**small, base=tiny([3, 4])).edge_index, first.edge_index)
    again = synthetic(nodes_per_class=20, h=0.05)
    assert torch.equal(again.x.to_dense(), first.x.to_dense())


def tiny(counts: list[int], sparse: bool = False) -> Data:
    """A base whose node v has the features (v + 1) * e_{v mod 9}."""
    y = torch.tensor([c for c, count in enumerate(counts) for _ in range(count)]).flip(0)
    x = torch.zeros(len(y), 9)
    x[torch.arange(len(y)), torch.arange(len(y)) % 9] = torch.arange(1.0, len(y) + 1)
    return Data(x=x.to_sparse_csr() if sparse else x, y=y, edge_index=torch.empty(2, 0).long())


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.integers(2, 6),
    st.integers(2, 8),
    st.booleans(),
)
def test_features_come_from_the_base(
    counts: list[int], classes: int, size: int, sparse: bool
) -> None:
    base = tiny(counts, sparse)
    data = synthetic(classes, size, h=0.5, base=base)
    x = data.x.to_dense() if data.x.layout == torch.sparse_csr else data.x
    assert torch.equal(x, base.x.to_dense()[data.base_node] if sparse else base.x[data.base_node])
    for i in range(classes):
        nodes = data.base_node[data.y == i]
        assert (base.y[nodes] == i % len(counts)).all()
        times = torch.bincount(nodes, minlength=len(base.y))[base.y == i % len(counts)]
        # All of the class before any of it twice.
        assert int(times.max()) - int(times.min()) <= 1
        assert int(times.max()) == -(-size // counts[i % len(counts)])


@pytest.mark.data
def test_bases_of_the_paper() -> None:
    pubmed = synthetic(base=load("pubmed"))
    assert load("pubmed").y[pubmed.base_node].reshape(5, 400)[:, 0].tolist() == [0, 1, 2, 0, 1]
    assert all(len(set(nodes.tolist())) == 400 for nodes in pubmed.base_node.reshape(5, 400))
    texas = synthetic(base=load("texas"))
    assert [len(set(n.tolist())) for n in texas.base_node.reshape(5, 400)] == [33, 1, 18, 101, 30]
    assert texas.x.layout == torch.sparse_csr and texas.x.shape == (2000, 1703)


def test_the_embedded_graph_is_always_the_same() -> None:
    data = load("synthetic")
    assert (data.num_nodes, data.num_edges, data.raw_rows) == (1000, 39178, 20000)
    assert data.x.values().numel() == 7432
    assert data.name == "synthetic" and data.num_classes == 5
    directed = load("synthetic", directed=True)
    assert directed.num_edges == data.directed_edges == 19797


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (dict(h=0), "h=0"),
        (dict(h=1.5), "h=1.5"),
        (dict(h=float("nan")), "h=nan"),
        (dict(h="0.5"), "h='0.5'"),
        (dict(d_intra=0), "d_intra=0"),
        (dict(d_intra=1.5), "d_intra=1.5"),
        (dict(num_classes=0), "num_classes=0"),
        (dict(nodes_per_class=1), "nodes_per_class=1"),
        (dict(seed=-1), "seed=-1"),
        (dict(num_classes=1, h=0.5), "edges between classes"),
        (dict(base=Data(x=torch.ones(2, 2), y=torch.tensor([0, 2]))), "class 1 of the base"),
    ],
)
def test_what_the_generator_refuses(arguments, says) -> None:
    with pytest.raises(UsageError, match=says):
        synthetic(**arguments)


def test_one_class_without_edges_outside() -> None:
    assert synthetic(num_classes=1, h=1.0, nodes_per_class=5).num_classes == 1
