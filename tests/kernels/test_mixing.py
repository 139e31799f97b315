"""Compare filtering and mixing in one pass with PyTorch operations and their gradients."""

from itertools import combinations

import pytest
import torch

from acm import kernels
from acm.filters import low_pass
from acm.nn import CHANNELS
from acm.nn.mixing import extract, fused, mix, weigh

COMBINATIONS = [c for k in (1, 2, 3) for c in combinations(CHANNELS, k)]
NODES, WIDTH = 9, 4


def inputs(channels, batch, kind=torch.float64, nodes=NODES, seed=0):
    """Return the filter of a graph with an isolated node, and random `h`, `W̃` and `W_Mix`."""
    generator = torch.Generator().manual_seed(seed)
    k = len(channels)
    shapes = (*batch, nodes, k, WIDTH), (*batch, k, WIDTH), (*batch, k, k)
    draws = [torch.randn(s, generator=generator, dtype=torch.float64).to(kind) for s in shapes]
    edges = torch.randint(nodes - 1, (2, 3 * nodes), generator=generator)
    edges = torch.cat([edges, edges.flip(0)], 1)
    return low_pass(edges, nodes, torch.ones(edges.shape[1], dtype=kind)), draws


def composite(h, w_tilde, w_mix, low, channels, act, temperature, scale, hops):
    """Compute steps 1 to 3 with dense matrices, so that PyTorch computes the gradient."""
    dense = torch.linalg.matrix_power(low.to_dense(), hops)
    eye = torch.eye(len(dense), dtype=dense.dtype)
    filters = torch.stack(
        [{"low": dense, "high": eye - dense, "identity": eye}[c] for c in channels]
    )
    h = torch.einsum("kij,...jkf->...ikf", filters, h)
    h = h if act is None else act(h)
    sigma = torch.einsum("...ikf,...kf->...ik", h, w_tilde).sigmoid()
    alpha = (torch.einsum("...ij,...jk->...ik", sigma, w_mix) / temperature).softmax(-1)
    return scale * torch.einsum("...ik,...ikf->...if", alpha, h)


@pytest.mark.parametrize("channels", COMBINATIONS, ids="+".join)
@pytest.mark.parametrize("act", [None, torch.relu])
@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("batch", [(), (1,), (3,)])
def test_output_and_gradients_are_those_of_the_dense_composition(loops, channels, act, hops, batch):
    low, draws = inputs(channels, batch)
    assert kernels.supports(*draws, low.value) == loops
    results = []
    for function in (fused, composite):
        leaves = [d.clone().requires_grad_() for d in draws]
        h, w_tilde, w_mix = leaves
        out = function(h, w_tilde, w_mix, low, channels, act, 0.7, 3.0, hops)
        weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(5)).double()
        results.append([out, *torch.autograd.grad((weight * out).sum(), leaves)])
    for ours, theirs in zip(*results):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("channels", [CHANNELS, ("high", "identity"), ("identity",)], ids="+".join)
@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_gradcheck(loops, channels, hops, batch):
    low, draws = inputs(channels, batch, nodes=5)
    for act in (None, torch.relu):

        def call(h, w_tilde, w_mix, act=act):
            return fused(h, w_tilde, w_mix, low, channels, act, 3.0, 3.0, hops)

        leaves = [d.requires_grad_() for d in draws]
        assert torch.autograd.gradcheck(call, leaves)
        assert torch.autograd.gradgradcheck(call, leaves)


@pytest.mark.parametrize("channels", COMBINATIONS, ids="+".join)
def test_the_steps_one_by_one_are_the_same(loops, channels):
    low, (h, w_tilde, w_mix) = inputs(channels, (2,), torch.float32)
    steps = torch.relu(extract(h, low, channels, 2))
    alpha = weigh(steps, w_tilde, w_mix, 3.0)
    torch.testing.assert_close(alpha.sum(-1), torch.ones(2, NODES))
    out = fused(h, w_tilde, w_mix, low, channels, torch.relu, 3.0, 2.0, 2)
    torch.testing.assert_close(out, 2.0 * mix(steps, alpha))


@pytest.mark.parametrize("act", [None, torch.relu])
def test_what_is_no_number_stays_none(loops, act):
    # The trainer detects a diverged trial by a NaN loss, so a ReLU must not replace NaN.
    low, (h, w_tilde, w_mix) = inputs(CHANNELS, (2,), torch.float32)
    expected = fused(h, w_tilde, w_mix, low, CHANNELS, act, 3.0, 3.0, 1)
    h[0, 2, 2, 1] = torch.nan
    out = fused(h, w_tilde, w_mix, low, CHANNELS, act, 3.0, 3.0, 1)
    assert out[0, 2].isnan().all()
    assert torch.equal(out[1], expected[1])
    h.requires_grad_()
    out = fused(h, w_tilde, w_mix, low, CHANNELS, act, 3.0, 3.0, 1)
    (grad,) = torch.autograd.grad(out.sum(), h)
    assert grad[0, 2].isnan().any() and not grad[1].isnan().any()


def test_what_a_trial_gets_is_the_same_in_any_batch_and_on_any_number_of_threads():
    low, draws = inputs(CHANNELS, (3,), torch.float32, nodes=4000)

    def call(tensors):
        leaves = [t.clone().requires_grad_() for t in tensors]
        h, w_tilde, w_mix = leaves
        out = fused(h, w_tilde, w_mix, low, CHANNELS, torch.relu, 3.0, 3.0, 1)
        return [out.detach(), *torch.autograd.grad(out.sin().sum(), leaves)]

    alone = [call([d[b] for d in draws]) for b in range(3)]
    for number in (1, 2, 3):
        with kernels.threads(number):
            together = call(draws)
        for b in range(3):
            assert all(torch.equal(t[b], a) for t, a in zip(together, alone[b]))
