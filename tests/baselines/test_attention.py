"""Attention on a sparse pattern against dense matrices, and its gradients."""

import pytest
import torch

from acm.baselines.attention import Attend, EdgeSoftmax, PairSum
from acm.filters import SparseMatrix


@pytest.fixture
def pattern():
    torch.manual_seed(0)
    there = torch.rand(6, 6, dtype=torch.float64) < 0.5
    there[3] = False  # a node that attends to nobody
    there[:, 4] = False  # and one to which nobody does
    return SparseMatrix.from_torch(there.double())


def dense(pattern, value):
    full = torch.full((*value.shape[:-1], *pattern.shape), -torch.inf, dtype=value.dtype)
    full[..., pattern.row, pattern.col] = value
    return full


@pytest.mark.parametrize("front", [(), (3,), (2, 3)])
def test_each_step_equals_its_dense_form(pattern, front):
    target, source = torch.randn(2, *front, 6, dtype=torch.float64)
    score = PairSum.apply(target, source, pattern)
    both = target[..., :, None] + source[..., None, :]
    assert torch.equal(score, both[..., pattern.row, pattern.col])

    alpha = EdgeSoftmax.apply(score, pattern)
    expected = torch.softmax(dense(pattern, score), -1).nan_to_num(0)
    torch.testing.assert_close(alpha, expected[..., pattern.row, pattern.col])

    h = torch.randn(*front, 6, 4, dtype=torch.float64)
    torch.testing.assert_close(Attend.apply(alpha, h, pattern), expected @ h)


@pytest.mark.parametrize("front", [(), (2, 3)])
def test_the_gradients_are_those_of_finite_differences(pattern, front):
    def draw(*shape):
        return torch.randn(*front, *shape, dtype=torch.float64, requires_grad=True)

    def check(function, *inputs):
        assert torch.autograd.gradcheck(lambda *t: function(*t, pattern), inputs)

    edges = pattern.col.numel()
    check(PairSum.apply, draw(6), draw(6))
    check(EdgeSoftmax.apply, draw(edges))
    check(Attend.apply, draw(edges), draw(6, 4))
    strided = draw(4, 6)  # what the heads of a layer are: columns of a wider matrix
    check(lambda w, h, p: Attend.apply(w, h.mT, p), draw(edges), strided)


def test_scores_that_would_overflow_do_not(pattern):
    score = torch.linspace(-2000, 2000, pattern.col.numel(), dtype=torch.float64)
    alpha = EdgeSoftmax.apply(score, pattern)
    expected = torch.softmax(dense(pattern, score), -1)[pattern.row, pattern.col]
    torch.testing.assert_close(alpha, expected)


def test_no_gradient_of_attention_holds_features_of_every_edge(pattern):
    edges, width = pattern.col.numel(), 4096
    weight = torch.rand(edges, dtype=torch.float64, requires_grad=True)
    h = torch.randn(6, width, dtype=torch.float64)
    with torch.profiler.profile(profile_memory=True) as profile:
        Attend.apply(weight, h, pattern).sum().backward()
    largest = max(event.self_cpu_memory_usage for event in profile.events())
    assert 0 < largest < edges * width * 8 / 2  # the nodes' features are six rows of these
