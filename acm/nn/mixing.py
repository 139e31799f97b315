"""Compute an ACM layer's output from all `X W_c` (section 4.3); shapes are for one trial."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import torch
from torch import Tensor

from acm import kernels
from acm.filters import SparseMatrix
from acm.nn.checks import CHANNELS
from acm.nn.stacked import per_trial, plain_gradients, product


def filtered(channel: str, h: Tensor, smooth: Tensor) -> Tensor:
    """Return `F_c h` from `h` and `smooth`, which is `H_LP h`."""
    if channel == "identity":
        return h
    return smooth if channel == "low" else h - smooth


def extract(h: Tensor, low: SparseMatrix, channels: Sequence[str], hops: int = 1) -> Tensor:
    """Return `H_LP^k h_L`, `(I − H_LP^k) h_H` and `h_I` for `h`, `[N, channels, F]`."""
    count = sum(c != "identity" for c in channels)
    smooth = h.flatten(-2)[..., : count * h.shape[-1]]
    for _ in range(hops if count else 0):
        smooth = low @ smooth
    parts = h.unbind(-2), smooth.unflatten(-1, (count, -1)).unbind(-2) if count else ()
    return torch.stack([filtered(*part) for part in zip_longest(channels, *parts)], -2)


def weigh(h: Tensor, w_tilde: Tensor, w_mix: Tensor, temperature: float) -> Tensor:
    """Return the node-wise channel weights `α` of step 2, `[N, channels]`.

    `h` holds `H_c`, `[N, channels, F]`; `w_tilde` holds `W̃_c`, `[channels, F]`; `w_mix`, `W_Mix`.
    """
    sigma = per_trial(torch.sigmoid, (h * w_tilde.unsqueeze(-3)).sum(-1))
    return torch.softmax(product(sigma, w_mix) / temperature, dim=-1)


def mix(h: Tensor, alpha: Tensor) -> Tensor:
    """Return step 3, `Σ_c diag(α_c) H_c`, `[N, F]`."""
    return (alpha.unsqueeze(-1) * h).sum(-2)


def filter_and_mix(
    h: Tensor, w_tilde: Tensor, w_mix: Tensor, low, channels, act, temperature, scale, hops
) -> tuple[Tensor, Tensor]:
    """Return steps 1 to 3, `s Σ_c diag(α_c) act(F_c h_c)`, `[N, F]`, and `α`, `[N, channels]`."""
    h = extract(h, low, channels, hops)
    h = h if act is None else act(h)
    alpha = weigh(h, w_tilde, w_mix, temperature)
    return scale * mix(h, alpha), alpha


def fused(h: Tensor, w_tilde: Tensor, w_mix: Tensor, low, channels, act, *options) -> Tensor:
    """Return the output of `filter_and_mix`, in one pass if `acm.kernels` supports the inputs."""
    simple = act in (None, torch.relu) and not low.value.requires_grad
    if not simple or not kernels.supports(h, w_tilde, w_mix, low.value):
        return filter_and_mix(h, w_tilde, w_mix, low, channels, act, *options)[0]
    if h.dim() == 4:
        return _FilterAndMix.apply(h, w_tilde, w_mix, low, channels, act, *options)
    one = h[None], w_tilde[None], w_mix[None]
    return _FilterAndMix.apply(*one, low, channels, act, *options)[0]


class _FilterAndMix(torch.autograd.Function):
    """Compute steps 1 to 3 in compiled loops; save only the inputs, `smooth`, `α` and `σ`."""

    @staticmethod
    def forward(ctx, h, w_tilde, w_mix, low, channels, act, temperature, scale, hops):
        kinds = np.array([CHANNELS.index(c) for c in channels])
        count, width = int((kinds < 2).sum()), h.shape[-1]
        smooth = kernels.numpy(h.flatten(-2))
        for _ in range(hops if count else 0):
            smooth = kernels.sparse_product(*low.arrays(), smooth, width=count * width)
        smooth = torch.from_numpy(smooth[..., : count * width]).unflatten(-1, (count, width))
        options = kinds, act is not None, float(temperature), float(scale)
        out, weights = kernels.mix(h, smooth, w_tilde, w_mix, *options)
        ctx.save_for_backward(h, w_tilde, w_mix, smooth, weights)
        ctx.loop, ctx.plain = options, (low, channels, act, temperature, scale, hops)
        return out

    @staticmethod
    def backward(ctx, grad):
        (*inputs, smooth, weights), (low, *_, hops) = ctx.saved_tensors, ctx.plain
        if torch.is_grad_enabled():  # the caller differentiates the gradient again
            grads = plain_gradients(lambda *t: filter_and_mix(*t, *ctx.plain)[0], inputs, grad)
            return *grads, *[None] * 6
        h, w_tilde, w_mix = inputs
        grad_h, grad_smooth, *grads = kernels.mix_backward(
            grad, h, smooth, w_tilde, w_mix, weights, *ctx.loop
        )
        if grad_smooth.numel():
            transpose, g = low.T.arrays(), kernels.numpy(grad_smooth.flatten(-2))
            for _ in range(hops - 1):
                g = kernels.sparse_product(*transpose, g)
            total = kernels.numpy(grad_h.flatten(-2))  # shares memory with `grad_h`
            kernels.sparse_product(*transpose, g, total, width=g.shape[2])
        return grad_h, *grads, *[None] * 6
