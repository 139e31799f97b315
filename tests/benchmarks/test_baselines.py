"""What the engine is compared with computes the same function."""

import pytest
import torch
from baselines import BASELINES, epochs

from acm.filters import low_pass
from acm.registry import build

N, F, C, HIDDEN = 40, 12, 4, 8


def graph():
    torch.manual_seed(1)
    half = torch.randint(N, (2, 90))  # self-loops may be among them
    edge_index = torch.cat([half, half.flip(0)], 1).unique(dim=1)
    return torch.randn(N, F), low_pass(edge_index, N)


def copy(network, baseline):
    """Give the baseline the network's weights."""
    for ours, theirs in zip(network.convs, baseline.convs):
        for k, channel in enumerate(ours.channels):
            weight = ours.weight[:, k]
            if hasattr(theirs, "lin_low"):
                getattr(theirs, f"lin_{channel}").weight.data = weight.t()
            else:
                getattr(theirs, f"weight_{channel}").data = weight
            getattr(theirs, f"tilde_{channel}").data = ours.weight_tilde[k, :, None]
        theirs.weight_mix.data = ours.weight_mix


@pytest.mark.parametrize("kind", BASELINES)
def test_the_same_function_and_the_same_gradients_as_the_engines_model(kind):
    x, low = graph()
    network = build("ACM-GCN", F, C, HIDDEN, 0.5).eval()
    baseline = BASELINES[kind](low, F, C, HIDDEN, 0.5).eval()
    copy(network, baseline)
    expected, found = network(x, low), baseline(x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    y = torch.arange(N) % C
    for logits in (expected, found):
        torch.nn.functional.cross_entropy(logits, y).backward()
    for ours, theirs in zip(network.convs, baseline.convs):
        torch.testing.assert_close(
            theirs.weight_mix.grad, ours.weight_mix.grad, rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("kind", BASELINES)
def test_an_epoch_drops_learns_and_is_timed(kind):
    x, low = graph()
    y, split = torch.arange(N) % C, torch.arange(N) < N // 2
    model = BASELINES[kind](low, F, C, HIDDEN, 0.5)
    assert not torch.equal(model(x), model(x)) and torch.equal(model.eval()(x), model(x))
    before = torch.nn.functional.cross_entropy(model(x)[split], y[split])
    seconds = epochs(model, x, y, split, ~split, 0.05, 0, lambda seconds: len(seconds) < 30)
    assert len(seconds) == 30 and min(seconds) > 0
    assert torch.nn.functional.cross_entropy(model(x)[split], y[split]) < before
