"""Compare the loss of many trials with PyTorch's cross-entropy of each trial."""

import pytest
import torch
from torch.nn import functional

from acm import kernels
from acm.training.trainer import cross_entropy


def draw(kind, nodes=700, classes=5, trials=3):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(trials, nodes, classes, generator=generator, dtype=torch.float64)
    mask = torch.rand(trials, nodes, generator=generator) < 0.4
    y = torch.randint(classes, (trials, nodes), generator=generator)
    return logits.to(kind), torch.where(mask, y, 0), mask


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_loss_gradient_and_prediction_are_pytorchs(loops, kind):
    logits, y, mask = draw(kind)
    assert kernels.supports(logits) == loops
    share = mask.to(kind) / mask.sum(1, keepdim=True)
    loss, best, grad = cross_entropy(logits, y, share, gradient=True)
    for b in range(3):
        leaf = logits[b].clone().requires_grad_()
        expected = functional.cross_entropy(leaf[mask[b]], y[b][mask[b]])
        torch.testing.assert_close(loss[b], expected.detach())
        torch.testing.assert_close(grad[b], torch.autograd.grad(expected, leaf)[0])
        assert torch.equal(best[b], logits[b].argmax(1))
        assert not grad[b][~mask[b]].any()
        alone = cross_entropy(*(t[b : b + 1] for t in (logits, y, share)), gradient=True)
        assert all(torch.equal(a[0], t[b]) for a, t in zip(alone, (loss, best, grad)))
    without = cross_entropy(logits, y, share)
    assert torch.equal(without[0], loss) and without[2] is None


def test_what_is_large_stays_finite_and_what_is_no_number_none(loops):
    logits = torch.tensor([[[1e30, 0.0], [-1e30, 1e30], [0.0, -200.0]]])
    y, share = torch.tensor([[0, 1, 1]]), torch.full((1, 3), 1 / 3)
    loss, best, grad = cross_entropy(logits, y, share, gradient=True)
    assert loss.tolist() == pytest.approx([200 / 3]) and best.tolist() == [[0, 1, 0]]
    torch.testing.assert_close(grad, torch.tensor([[[0.0, 0], [0, 0], [1 / 3, -1 / 3]]]))
    for bad in (torch.nan, torch.inf):
        invalid = logits.clone()
        invalid[0, 2, 0] = bad
        assert not cross_entropy(invalid, y, share)[0].isfinite().any()


def test_threads_do_not_change_a_bit():
    logits, y, mask = draw(torch.float32, nodes=20_000)
    share = mask / mask.sum(1, keepdim=True)
    results = []
    for number in (1, 2, 3):
        with kernels.threads(number):
            results.append(cross_entropy(logits, y, share, gradient=True))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(other, results[0]))


@pytest.mark.parametrize("size", [1e3, 1e5, 1e7])
def test_large_logits_lose_no_digits(loops, size):
    logits, y = torch.full((1, 4, 2), size), torch.zeros(1, 4, dtype=torch.long)
    loss, *_ = cross_entropy(logits, y, torch.full((1, 4), 0.25))
    assert loss.item() == pytest.approx(0.693147, abs=1e-6)
