"""Adam and AdamW for stacked weights: every trial has its learning rate and weight decay."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from acm import kernels

BETAS, EPS = (0.9, 0.999), 1e-8


class Adam:
    """Do for stacked weights `[B, …]` what `torch.optim.Adam` does for each trial.

    Args:
        weights: Stacked weights, changed in place.
        lr: Learning rate of each trial, `[B]`.
        weight_decay: Weight decay of each trial, `[B]`.
        decoupled: Whether weight decay shrinks the weights (AdamW) or adds to the gradient.
    """

    def __init__(
        self, weights: Sequence[Tensor], lr: Tensor, weight_decay: Tensor, decoupled: bool
    ):
        self.steps = [0] * len(weights)
        self.mean = [torch.zeros_like(w) for w in weights]
        self.square = [torch.zeros_like(w) for w in weights]
        self._arrays: tuple | None = None
        self.lr = lr
        self.shrink = 1 - lr * weight_decay if decoupled else torch.ones_like(lr)
        self.l2 = torch.zeros_like(lr) if decoupled else weight_decay

    @torch.no_grad()
    def step(self, weights: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> None:
        """Change the weights once; a weight without a gradient stays the same."""
        self.steps = [n + (g is not None) for n, g in zip(self.steps, gradients)]
        correction = [tuple(1 - beta**n for beta in BETAS) for n in self.steps]
        if kernels.supports(*weights):
            if self._arrays is None:  # the same memory at every step
                states = [kernels.arrays(*s) for s in zip(weights, self.mean, self.square)]
                self._arrays = states, [kernels.numpy(t) for t in (self.lr, self.shrink, self.l2)]
            states, (lr, shrink, l2) = self._arrays
            kernels.adam(states, gradients, lr, shrink, l2, BETAS, correction, EPS)
            return
        for w, g, m, v, c in zip(weights, gradients, self.mean, self.square, correction):
            if g is not None:
                self._step(w, g, m, v, c)

    def _step(self, w: Tensor, g: Tensor, m: Tensor, v: Tensor, correction) -> None:
        def per_trial(values: Tensor) -> Tensor:  # [B] -> [B, 1, …]
            return values.to(w.dtype).view(-1, *[1] * (w.dim() - 1))

        g = g + per_trial(self.l2) * w
        m.lerp_(g, 1 - BETAS[0])
        v.mul_(BETAS[1]).addcmul_(g, g, value=1 - BETAS[1])
        root = v.sqrt().div_(correction[1] ** 0.5).add_(EPS)
        w.mul_(per_trial(self.shrink)).sub_(per_trial(self.lr / correction[0]) * m / root)

    def keep(self, rows: Tensor) -> None:
        """Continue with these rows only; the weights are new tensors."""
        self._arrays = None
        self.mean, self.square = ([t[rows] for t in ts] for ts in (self.mean, self.square))
        self.lr, self.shrink, self.l2 = (t[rows] for t in (self.lr, self.shrink, self.l2))
