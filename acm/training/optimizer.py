"""Define Adam and AdamW for stacked weights, with a learning rate and weight decay per trial."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from acm import kernels

BETAS, EPS = (0.9, 0.999), 1e-8


class Adam:
    """Update stacked weights `[B, …]` as `torch.optim.Adam` updates the weights of one trial.

    `lr` and `weight_decay`, `[B]`, have one value per trial. With `decoupled`, weight decay shrinks
    the weights (AdamW). Otherwise weight decay is added to the gradient.
    """

    def __init__(
        self, weights: Sequence[Tensor], lr: Tensor, weight_decay: Tensor, decoupled: bool
    ):
        self.steps = [0] * len(weights)
        self.mean = [torch.zeros_like(w) for w in weights]
        self.square = [torch.zeros_like(w) for w in weights]
        self.lr = lr
        self.shrink = 1 - lr * weight_decay if decoupled else torch.ones_like(lr)
        self.l2 = torch.zeros_like(lr) if decoupled else weight_decay

    @torch.no_grad()
    def step(self, weights: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> None:
        """Update the weights in place once; a weight whose gradient is `None` does not change."""
        step = kernels.adam if kernels.supports(*weights) else adam
        for k, (w, g) in enumerate(zip(weights, gradients)):
            if g is not None:
                self.steps[k] += 1
                correction = tuple(1 - beta ** self.steps[k] for beta in BETAS)
                moments = self.mean[k], self.square[k]
                step(w, g, *moments, self.lr, self.shrink, self.l2, BETAS, correction, EPS)

    def keep(self, rows: Tensor) -> None:
        """Keep only these rows of the batch; later weights must have these rows only."""
        self.mean, self.square = ([t[rows] for t in ts] for ts in (self.mean, self.square))
        self.lr, self.shrink, self.l2 = (t[rows] for t in (self.lr, self.shrink, self.l2))


def adam(w, g, m, v, lr, shrink, l2, betas, correction, eps) -> None:
    """Update a weight and its moments, `[B, …]`, in place; `lr`, `shrink` and `l2` are `[B]`."""

    def per_trial(values: Tensor) -> Tensor:  # [B] -> [B, 1, …]
        return values.to(w.dtype).view(-1, *[1] * (w.dim() - 1))

    g = g + per_trial(l2) * w
    m.lerp_(g, 1 - betas[0])
    v.mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
    root = v.sqrt().div_(correction[1] ** 0.5).add_(eps)
    w.mul_(per_trial(shrink)).sub_(per_trial(lr / correction[0]) * m / root)
