"""Compare Adam and AdamW on stacked weights with PyTorch's optimizers, trial by trial."""

import pytest
import torch

from acm import kernels
from acm.training.optimizer import Adam

LR, DECAY = [0.1, 0.01, 0.003, 0.05], [0.0, 1e-3, 0.3, 5e-4]


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("decoupled", [False, True])
def test_fifty_steps_are_pytorchs_of_each_trial(loops, decoupled, kind):
    generator = torch.Generator().manual_seed(0)
    shapes = [(7, 3, 5), (3, 5), (3, 3), (1,)]
    weights = [torch.randn(4, *s, generator=generator, dtype=kind) for s in shapes]
    alone = [[w[b].clone().requires_grad_() for w in weights] for b in range(4)]
    theirs = [
        (torch.optim.AdamW if decoupled else torch.optim.Adam)(w, lr=lr, weight_decay=decay)
        for w, lr, decay in zip(alone, LR, DECAY)
    ]
    ours = Adam(weights, *torch.tensor([LR, DECAY], dtype=torch.float64), decoupled)
    trials = torch.arange(4)
    for step in range(50):
        # Gradients are drawn, since gradients of the weights would accumulate rounding errors.
        drawn = [torch.randn(4, *s, generator=generator, dtype=kind) * 0.5**step for s in shapes]
        ours.step(weights, [g[trials] for g in drawn])
        for b in trials.tolist():
            for w, g in zip(alone[b], drawn):
                w.grad = g[b].clone()
            theirs[b].step()
        if step == 20:  # trial 1 leaves the batch
            trials = torch.tensor([0, 2, 3])
            ours.keep(trials)
            weights = [w[trials] for w in weights]
        close = 1e-6 if kind == torch.float32 else 1e-12
        for row, b in enumerate(trials.tolist()):
            for w, t in zip(weights, alone[b]):
                torch.testing.assert_close(w[row], t.detach(), rtol=close, atol=close)


def test_threads_do_not_change_a_bit():
    w, g = torch.randn(2, 3, 300, 200)
    after = []
    for number in (1, 2):
        weights = [w.clone()]
        with kernels.threads(number):
            adam = Adam(weights, *torch.tensor([[0.1] * 3, [0.01] * 3]).double(), False)
            for _ in range(3):
                adam.step(weights, [g])
        after.append(weights[0])
    assert torch.equal(*after) and not torch.equal(after[0], w)
