"""Compute an ACM layer's output from `X W` of every channel (section 4.3).

Every shape here is that of one trial. A batch of trials has one more dimension in front.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from acm import kernels
from acm.filters import SparseMatrix
from acm.nn.stacked import per_trial, product

KINDS = {"low": 0, "high": 1, "identity": 2}


def extract(h: Tensor, low: SparseMatrix, channels: Sequence[str], hops: int = 1) -> Tensor:
    """Return step 1 without its nonlinearity: `H_LP^k h_L`, `(I − H_LP^k) h_H`, `h_I`.

    Args:
        h: Features of every channel, `[N, channels, F]`.
        low: `H_LP`.
        channels: Names of the channels, `"low"` and `"high"` before `"identity"`.
        hops: `k`.
    """
    smooth = _flat(h)[..., : _kinds(tuple(channels))[1] * h.shape[-1]]
    if smooth.shape[-1]:
        for _ in range(hops):
            smooth = low @ smooth
        smooth = smooth.unflatten(-1, (-1, h.shape[-1]))
    # The high-pass filter is I − H_LP, so it needs no product of its own.
    filters = {
        "low": lambda k: smooth[..., k, :],
        "high": lambda k: h[..., k, :] - smooth[..., k, :],
        "identity": lambda k: h[..., k, :],
    }
    return torch.stack([filters[c](k) for k, c in enumerate(channels)], dim=-2)


def weigh(h: Tensor, w_tilde: Tensor, w_mix: Tensor, temperature: float) -> Tensor:
    """Return the node-wise channel weights `α` of step 2, `[N, channels]`.

    Args:
        h: `H_c` of every channel, `[N, channels, F]`.
        w_tilde: `W̃_c`, `[channels, F]`.
        w_mix: `W_Mix`, `[channels, channels]`.
        temperature: `T`.
    """
    sigma = per_trial(torch.sigmoid, (h * w_tilde.unsqueeze(-3)).sum(-1))
    return torch.softmax(product(sigma, w_mix) / temperature, dim=-1)


def mix(h: Tensor, alpha: Tensor) -> Tensor:
    """Return step 3, `Σ_c diag(α_c) H_c`, `[N, F]`."""
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
    """Return steps 1 to 3, `s Σ_c diag(α_c) act(F_c h_c)`, `[N, F]`.

    The compiled loops do all three steps in one pass, if `acm.kernels` supports the tensors.
    """
    simple = act in (None, torch.relu) and not low.value.requires_grad
    if simple and kernels.supports(h, w_tilde, w_mix, low.value):
        options = low, tuple(channels), act is not None, float(temperature), float(scale), hops
        if torch.is_grad_enabled():
            return _FilterAndMix.apply(h, w_tilde, w_mix, options)
        return _mixed(h, w_tilde, w_mix, *options)[0]
    h = extract(h, low, channels, hops)
    h = h if act is None else act(h)
    alpha = weigh(h, w_tilde, w_mix, temperature)
    return scale * mix(h, alpha)


class _FilterAndMix(torch.autograd.Function):
    """Steps 1 to 3 in compiled loops, which store the filtered features, `α` and `σ` only."""

    @staticmethod
    def forward(ctx, h, w_tilde, w_mix, options):
        out, *arrays = _mixed(h, w_tilde, w_mix, *options)
        ctx.save_for_backward(h, w_tilde, w_mix, *map(torch.from_numpy, arrays))
        ctx.options = options
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (h, w_tilde, w_mix, *saved), stacked = ctx.saved_tensors, grad.dim() == 3
        low, channels, *options, hops = ctx.options
        grad, h, w_tilde, w_mix = _arrays(stacked, grad, h, w_tilde, w_mix)
        smooth, weights = map(kernels.numpy, saved)
        grad_h, grad_smooth, *grads = kernels.mix_backward(
            grad, h, smooth, w_tilde, w_mix, weights, _kinds(channels)[0], *options
        )
        if grad_smooth.size:
            transpose, g = low.T.arrays(), _flat(grad_smooth)
            for _ in range(hops - 1):
                g = kernels.sparse_product(*transpose, g)
            kernels.sparse_product(*transpose, g, _flat(grad_h), width=g.shape[2])
        grads = [torch.from_numpy(grad_h), *grads]
        return *(grads if stacked else [g[0] for g in grads]), None


def _mixed(h, w_tilde, w_mix, low, channels, relu, temperature, scale, hops):
    """Return the output, and the arrays that the gradient needs besides the arguments."""
    stacked = h.dim() == 4
    h, w_tilde, w_mix = _arrays(stacked, h, w_tilde, w_mix)
    batch, nodes, _, width = h.shape
    (kinds, filtered), matrix, smooth = _kinds(channels), low.arrays(), _flat(h)
    for _ in range(hops if filtered else 0):
        smooth = kernels.sparse_product(*matrix, smooth, width=filtered * width)
    smooth = smooth[..., : filtered * width].reshape(batch, nodes, filtered, width)
    out, weights = kernels.mix(h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale)
    return torch.from_numpy(out if stacked else out[0]), smooth, weights


def _arrays(stacked: bool, *tensors: Tensor) -> list[np.ndarray]:
    arrays = [kernels.numpy(t) for t in tensors]
    return arrays if stacked else [a[None] for a in arrays]


def _flat(h):
    """Return the channels side by side, `[N, K F]`; `h` is a tensor or an array."""
    return h.reshape(*h.shape[:-2], h.shape[-2] * h.shape[-1])


@functools.cache
def _kinds(channels: tuple[str, ...]) -> tuple[np.ndarray, int]:
    """Return the kind of each channel, and how many channels are filtered."""
    return np.array([KINDS[c] for c in channels]), sum(c != "identity" for c in channels)
