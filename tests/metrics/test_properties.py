"""What must not change a metric, and what it may cost."""

import copy
import doctest
import importlib
import json
import pickle
import pkgutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import acm.metrics
from acm.data import synthetic
from acm.metrics import (
    Score,
    aggregation_homophily,
    aggregation_similarity,
    all_metrics,
    diversification_distinguishability,
    edge_homophily,
    estimates,
    label_informativeness,
)


def drawn(seed):
    """A graph of three classes with ties, loops, isolated nodes and all-zero features."""
    graph = synthetic(3, 12, h=0.2, seed=seed)
    x = graph.x if graph.x.layout == torch.strided else graph.x.to_dense()
    x, edge_index = x.clone(), graph.edge_index
    x[::5] = 0
    edge_index = edge_index[:, (edge_index % 7 != 3).all(0)]
    loops = torch.arange(0, 36, 4)
    return x, torch.cat([edge_index, torch.stack([loops, loops])], 1), graph.y


def same(one, other, order=None):
    """Equal, to the sign of every node where there are signs."""
    assert one.keys() == other.keys()
    for name, score in one.items():
        assert other[name] == pytest.approx(score, abs=1e-13), name
        if isinstance(score, Score):
            sign, left = score.sign, score.undecided
            if order is not None:
                sign, left = sign[order], left[order]
            sure = ~(left | other[name].undecided)
            assert torch.equal(sign[sure], other[name].sign[sure]), name


seeds = st.integers(0, 10**6)


@given(seeds)
def test_order_of_the_nodes(seed):
    x, edge_index, y = drawn(seed)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    place = torch.empty_like(order)
    place[order] = torch.arange(len(y))
    same(all_metrics(x, edge_index, y), all_metrics(x[order], place[edge_index], y[order]), order)


@given(seeds)
def test_names_of_the_classes_and_order_of_the_edges(seed):
    x, edge_index, y = drawn(seed)
    generator = torch.Generator().manual_seed(seed)
    other = torch.randperm(3, generator=generator)[y]
    edges = edge_index[:, torch.randperm(edge_index.size(1), generator=generator)]
    edges = torch.cat([edges, edges[:, :5]], 1)  # repeated edges are merged
    same(all_metrics(x, edge_index, y), all_metrics(x, edges, other))


@given(seeds, st.sampled_from([1e-3, 1 / 3, 7.0, 1e250, 1e-250]), st.booleans())
def test_scale_of_the_features(seed, scale, normalize):
    x, edge_index, y = drawn(seed)
    x = x.double()
    same(*(all_metrics(f * x, edge_index, y, normalize_features=normalize) for f in (1, scale)))


@given(seeds)
def test_precision_and_layout_of_the_features(seed):
    x, edge_index, y = drawn(seed)
    variants = (
        x.double(),
        x.half(),
        x.long(),
        x.to_sparse_csr(),
        x.to_sparse_coo(),
        x.to_sparse_csc(),
        x.double().to_sparse_csr(),
    )
    for variant in variants:
        same(all_metrics(x, edge_index, y), all_metrics(variant, edge_index, y))


@given(seeds)
def test_both_directions_of_the_edges(seed):
    x, edge_index, y = drawn(seed)
    reverse = edge_index.flip(0)
    same(all_metrics(x, edge_index, y, direction="out"), all_metrics(x, reverse, y, direction="in"))
    one_way = edge_index[:, ::3]
    both = torch.cat([one_way, one_way.flip(0)], 1)
    same(all_metrics(x, one_way, y), all_metrics(x, both, y, direction="out"))


@given(seeds)
def test_unknown_labels_are_not_read(seed):
    x, edge_index, y = drawn(seed)
    mask = torch.rand(len(y), generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[0] = mask[-1] = True  # two classes
    hidden = torch.where(mask, y, -1)
    for metric in (edge_homophily, aggregation_homophily, label_informativeness):
        assert metric(edge_index, y, train_mask=mask) == metric(edge_index, hidden, train_mask=mask)
    for features in (x, None):
        one, other = (
            diversification_distinguishability(features, edge_index, labels, train_mask=mask)
            for labels in (y, hidden)
        )
        assert torch.equal(one.sign, other.sign)


@given(seeds)
def test_estimates_are_the_metrics_with_a_mask(seed):
    x, edge_index, y = drawn(seed)
    masks = [
        torch.rand(len(y), generator=torch.Generator().manual_seed(seed + k)) < 0.7
        for k in range(2)
    ]
    for mask in masks:
        mask[0] = mask[-1] = True
    found = estimates(x, edge_index, y, masks)
    for scores, mask in zip(found, masks, strict=True):
        options = {"train_mask": mask, "normalize_features": True}
        same(
            scores,
            {
                "H_agg": aggregation_homophily(edge_index, y, train_mask=mask),
                "S_agg(S(Â,X))": aggregation_similarity(x, edge_index, y, **options),
                "S_agg(S(I,X))": aggregation_similarity(x, None, y, filter="identity", **options),
                "DD": diversification_distinguishability(x, edge_index, y, **options),
            },
        )


def test_all_metrics_are_the_metrics():
    x, edge_index, y = drawn(0)
    found = all_metrics(x, edge_index, y, ties=">")
    assert found["H_edge"] == edge_homophily(edge_index, y)
    assert found["LI_node"] == label_informativeness(edge_index, y, form="node")
    assert found["H_agg^M"] == aggregation_homophily(edge_index, y, ties=">", modified=True)
    assert found["DD(Z)"] == diversification_distinguishability(None, edge_index, y, ties=">")
    assert found["DD"] == diversification_distinguishability(
        x, edge_index, y, ties=">", normalize_features=True
    )


def test_a_score_is_a_float():
    score = Score(torch.tensor([1, 0, 0, -1], dtype=torch.int8), torch.tensor([False, True] * 2))
    assert (score, score.interval, score.ties) == (0.75, (0.25, 0.75), 0.5)
    assert json.dumps({"value": score}) == '{"value": 0.75}' and f"{score:.1%}" == "75.0%"
    for other in (copy.deepcopy(score), pickle.loads(pickle.dumps(score))):
        assert other == score and torch.equal(other.undecided, score.undecided)
        assert other.interval == score.interval


def test_cost_is_linear():
    # A matrix of all pairs would have 4e10 entries, a dense X 4e10 as well.
    n = 200_000
    node = torch.arange(n)
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.stack([node, torch.randint(n, (n,), generator=generator)])
    x = torch.sparse_csr_tensor(
        torch.arange(n + 1),
        torch.randint(n, (n,), generator=generator),
        torch.ones(n),
        (n, n),
        check_invariants=True,
    )
    found = all_metrics(x, edge_index, node % 5)
    assert found["H_edge"] == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(acm.metrics.__path__)])
def test_examples_in_the_documentation(name):
    module = importlib.import_module(f"acm.metrics.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_metric_has_an_example():
    finder = doctest.DocTestFinder()
    for name in acm.metrics.__all__:
        if name not in ("Score", "estimates"):
            assert any(t.examples for t in finder.find(getattr(acm.metrics, name), name)), name
