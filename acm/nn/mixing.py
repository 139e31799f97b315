"""Adaptive channel mixing: from `X W` of every channel to the layer's output (section 4.3).

Dimensions are counted from the end: a batch of trials has one more in front of each shape here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from acm import kernels
from acm.filters import SparseMatrix
from acm.nn.each import each
from acm.nn.product import product

KINDS = {"low": 0, "high": 1, "identity": 2}


def extract(h: Tensor, low: SparseMatrix, channels: Sequence[str], hops: int = 1) -> Tensor:
    """Step 1 without its nonlinearity: `H_LP^k h_L`, `(I − H_LP^k) h_H`, `h_I`.

    Args:
        h: Features of every channel, `[N, channels, F]`.
        low: `H_LP`.
        channels: Names, `"low"` and `"high"` before `"identity"`.
        hops: `k`.
    """
    smooth = _filtered(h, channels)
    if smooth.shape[-1]:
        for _ in range(hops):
            smooth = low @ smooth
        smooth = smooth.unflatten(-1, (-1, h.shape[-1]))
    parts = {
        "low": lambda k: smooth[..., k, :],
        # H_HP = I − H_LP needs no product of its own.
        "high": lambda k: h[..., k, :] - smooth[..., k, :],
        "identity": lambda k: h[..., k, :],
    }
    return torch.stack([parts[c](k) for k, c in enumerate(channels)], dim=-2)


def weigh(h: Tensor, w_tilde: Tensor, w_mix: Tensor, temperature: float) -> Tensor:
    """Step 2: the node-wise channel weights `α`, `[N, channels]`.

    Args:
        h: `H_c` of every channel, `[N, channels, F]`.
        w_tilde: `W̃_c`, `[channels, F]`.
        w_mix: `W_Mix`, `[channels, channels]`.
        temperature: `T`.
    """
    sigma = each(torch.sigmoid, (h * w_tilde.unsqueeze(-3)).sum(-1))
    return torch.softmax(product(sigma, w_mix) / temperature, dim=-1)


def mix(h: Tensor, alpha: Tensor) -> Tensor:
    """Step 3: `Σ_c diag(α_c) H_c`, `[N, F]`."""
    return (alpha.unsqueeze(-1) * h).sum(-2)


def filter_and_mix(
    h: Tensor,
    low: SparseMatrix,
    w_tilde: Tensor,
    w_mix: Tensor,
    channels: Sequence[str],
    act: Callable[[Tensor], Tensor] | None,
    temperature: float,
    scale: float,
    hops: int,
) -> Tensor:
    """Steps 1 to 3: `s Σ_c diag(α_c) act(H_c h_c)`, `[N, F]`, in one pass where that can be."""
    plain = act in (None, torch.relu) and not low.value.requires_grad
    if plain and kernels.fit(h, w_tilde, w_mix, low.value):
        return _FilterAndMix.apply(
            h, w_tilde, w_mix, low, tuple(channels), act is not None, temperature, scale, hops
        )
    h = extract(h, low, channels, hops)
    h = h if act is None else act(h)
    alpha = weigh(h, w_tilde, w_mix, temperature)
    return scale * mix(h, alpha)


class _FilterAndMix(torch.autograd.Function):
    """The same with the loops of `acm.kernels`: between `h` and the output nothing is stored but
    the filtered features, `α`, and its sigmoids `σ`."""

    @staticmethod
    def forward(ctx, h, w_tilde, w_mix, low, channels, relu, temperature, scale, hops):
        stacked = h.dim() == 4
        if not stacked:
            h, w_tilde, w_mix = h[None], w_tilde[None], w_mix[None]
        smooth = _filtered(h, channels)
        for _ in range(hops if smooth.numel() else 0):
            smooth = low.times(smooth)
        smooth = smooth.unflatten(2, (-1, h.shape[3])) if smooth.numel() else h[:, :, :0]
        rest = relu, float(temperature), float(scale)
        out, *weights = kernels.mix(h, smooth, w_tilde, w_mix, _kinds(channels), *rest)
        ctx.save_for_backward(h, w_tilde, w_mix, smooth, *weights)
        ctx.stacked, ctx.low, ctx.channels, ctx.rest, ctx.hops = stacked, low, channels, rest, hops
        return out if stacked else out[0]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        h, w_tilde, w_mix, smooth, alpha, sigma = ctx.saved_tensors
        grad = grad if ctx.stacked else grad[None]
        grad_h, grad_smooth, *grads = kernels.mix_backward(
            grad, h, smooth, w_tilde, w_mix, alpha, sigma, _kinds(ctx.channels), *ctx.rest
        )
        if grad_smooth.numel():
            transpose, g = ctx.low.T, grad_smooth.flatten(2)
            for _ in range(ctx.hops - 1):
                g = transpose.times(g)
            transpose.times(g, out=_filtered(grad_h, ctx.channels))
        grads = [grad_h, *grads]
        return *(grads if ctx.stacked else [g[0] for g in grads]), *[None] * 6


def _filtered(h: Tensor, channels: Sequence[str]) -> Tensor:
    """The columns of the filtered channels, `[N, S F]`: a part of `h`, not a copy."""
    return h.flatten(-2)[..., : sum(c != "identity" for c in channels) * h.shape[-1]]


def _kinds(channels: Sequence[str]):
    return np.array([KINDS[c] for c in channels])
