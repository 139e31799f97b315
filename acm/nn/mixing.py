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
        ctx.stacked = h.dim() == 4
        inputs = _arrays(ctx.stacked, h, w_tilde, w_mix)
        batch, nodes, _, width = inputs[0].shape
        smooth, matrix = _filtered(inputs[0], channels), low.arrays()
        for _ in range(hops if smooth.size else 0):
            smooth = kernels.sparse_product(*matrix, smooth)
        smooth = smooth.reshape(batch, nodes, smooth.shape[2] // width, width)
        rest = _kinds(channels), relu, float(temperature), float(scale)
        out, weights = kernels.mix(inputs[0], smooth, *inputs[1:], *rest)
        kept = torch.from_numpy(smooth), torch.from_numpy(weights)
        ctx.save_for_backward(h, w_tilde, w_mix, *kept)
        ctx.low, ctx.channels, ctx.rest, ctx.hops = low, channels, rest, hops
        return torch.from_numpy(out if ctx.stacked else out[0])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        h, w_tilde, w_mix, *kept = ctx.saved_tensors
        grad, h, w_tilde, w_mix = _arrays(ctx.stacked, grad, h, w_tilde, w_mix)
        smooth, weights = map(kernels.numpy, kept)
        grad_h, grad_smooth, *grads = kernels.mix_backward(
            grad, h, smooth, w_tilde, w_mix, weights, *ctx.rest
        )
        if grad_smooth.size:
            transpose, g = ctx.low.T.arrays(), grad_smooth.reshape(*h.shape[:2], -1)
            for _ in range(ctx.hops - 1):
                g = kernels.sparse_product(*transpose, g)
            kernels.sparse_product(*transpose, g, _filtered(grad_h, ctx.channels))
        grads = [torch.from_numpy(grad_h), *grads]
        return *(grads if ctx.stacked else [g[0] for g in grads]), *[None] * 6


def _arrays(stacked: bool, *tensors: Tensor) -> list[np.ndarray]:
    arrays = [kernels.numpy(t) for t in tensors]
    return arrays if stacked else [a[None] for a in arrays]


def _filtered(h, channels: Sequence[str]):
    """The columns of the filtered channels, `[N, S F]`, of a tensor or an array."""
    filtered = sum(c != "identity" for c in channels)
    flat = h.reshape(*h.shape[:-2], h.shape[-2] * h.shape[-1])
    return flat[..., : filtered * h.shape[-1]]


def _kinds(channels: Sequence[str]):
    return np.array([KINDS[c] for c in channels])
