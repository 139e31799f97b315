"""Compiled loops for training on a CPU: an optional accelerator, which `ACM_COMPILED=0` turns off.

Each function computes in one pass over memory what `acm.filters`, `acm.nn` or `acm.training` state
in PyTorch operations. The number of a trial's rows alone decides into which parts a loop divides
them. So the outcome of a trial depends neither on the other trials nor on the number of threads.

Without Numba, and for tensors on another device, callers use PyTorch operations. The results then
agree within rounding, and a trial still does not depend on its batch.
"""

from __future__ import annotations

import functools
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np
import torch
from torch import Tensor


@functools.cache
def _loops():
    if os.environ.get("ACM_COMPILED") == "0":
        return None
    try:
        from acm.kernels import loops
    except ImportError:  # a machine without Numba
        return None
    return loops


def compiler() -> str:
    """Return the name and version of the compiler, or that there is none."""
    return f"numba {version('numba')}" if _loops() is not None else "no numba"


def supports(*tensors: Tensor) -> bool:
    """Return whether the loops take these tensors: on a CPU, all float32 or all float64."""
    kind = tensors[0].dtype
    if kind not in (torch.float32, torch.float64) or _loops() is None:
        return False
    return all([t.is_cpu and t.dtype == kind for t in tensors])


_HERE = threading.local()  # the number of threads that share the loops of this thread
_SMALL = 2**15  # a thread with fewer elements than this is not worth waking


@contextmanager
def threads(number: int):
    """Share the loops that this thread calls among a number of threads."""
    before = getattr(_HERE, "threads", 1)
    _HERE.threads = number
    try:
        yield
    finally:
        _HERE.threads = before


@functools.cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "acm-kernels")


def _run(name: str, batch: int, parts: int, work: int, *arguments) -> None:
    """Call a loop for all parts of all trials; `work` is the number of elements in the loop."""
    loop = getattr(_loops(), name)
    arrays = [np.ascontiguousarray(numpy(a)) if isinstance(a, Tensor) else a for a in arguments]
    total = batch * parts
    number = max(1, min(getattr(_HERE, "threads", 1), total, work // _SMALL))
    ends = [total * k // number for k in range(number + 1)]
    first, *others = [(*arrays, parts, *span) for span in zip(ends, ends[1:])]
    submitted = [_helpers().submit(loop, *other) for other in others]
    loop(*first)
    for other in submitted:
        other.result()


def _parts(rows: int) -> int:
    """Return into how many parts the rows of a trial are divided, for any number of threads."""
    return max(1, min(16, rows // 256))


def _total(parts: Tensor) -> Tensor:
    """Return the sum over the parts of each trial, `[B, parts, …]`."""
    return parts.sum(1) if parts.shape[1] > 1 else parts.select(1, 0)


def numpy(x: Tensor) -> np.ndarray:
    """Return a tensor's memory as an array."""
    return x.numpy(force=True)  # on a CPU no copy


def sparse_product(
    crow: np.ndarray,
    col: np.ndarray,
    value: np.ndarray,
    x: np.ndarray,
    out: np.ndarray | None = None,
    width: int | None = None,
) -> np.ndarray:
    """Return `M x`, `[B, M, F]`, for a CSR matrix `M` whose values are `[B, nnz]` or `[1, nnz]`.

    Args:
        x: `[B, K, F]` or `[1, K, F]`.
        out: Array to which the product is added; by default a new array.
        width: Number of leading columns of `x` and `out` that are used; by default all.
    """
    add, width = out is not None, x.shape[2] if width is None else width
    if out is None:
        batch = len(value if len(x) == 1 else x)
        # PyTorch's memory begins on a cache line, which makes products faster than NumPy's.
        out = torch.from_numpy(x[:0, :0]).new_empty(batch, len(crow) - 1, width).numpy()
    arrays = crow, col, np.ascontiguousarray(value), np.ascontiguousarray(x), out, width, add
    _run("sparse_product", len(out), _parts(out.shape[1]), len(out) * len(col) * width, *arrays)
    return out


#: Larger dense matrices are multiplied by PyTorch.
NARROW = 2**14


def dense_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `A B`, `[B, N, F]`, of `[B, N, K]` or `[1, N, K]` and a narrow `[B, K, F]`."""
    out = b.new_empty(len(b), a.shape[1], b.shape[2])
    _run("dense_product", len(b), _parts(a.shape[1]), a.shape[1] * b.numel() // 8, a, b, out)
    return out


def transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `Aᵀ B`, a narrow `[B, K, F]`, of `[B, N, K]` or `[1, N, K]` and `[B, N, F]`."""
    parts = _parts(a.shape[1])
    out = b.new_empty(len(b), parts, a.shape[2], b.shape[2])
    _run("transposed_product", len(b), parts, a.shape[2] * b.numel() // 8, a, b, out)
    return _total(out)


def dropout(x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
    """Return `x`, `[B, …]` or `[1, …]`, with elements dropped by the rule of `acm.nn.stacked`."""
    out = x.new_empty(len(p), *x.shape[1:])
    size = out[:1].numel()
    flat, into = x.reshape(len(x), size), out.view(len(out), size)
    _run("dropout", len(out), _parts(size // 16), 4 * out.numel(), flat, p, key, counter, into)
    return out


def mix(h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale):
    """Compute `acm.nn.mixing.filter_and_mix`: `[B, N, F]`, and `α` and `σ`, `[2, B, N, K]`.

    Of each channel of `h`, `[B, N, K, F]`, `kinds` is 0 for low-pass, 1 for high-pass or 2 for
    identity; `smooth` is `H_LP` times the filtered channels, which come first.
    """
    batch, nodes, channels, width = h.shape
    out, weights = h.new_empty(batch, nodes, width), h.new_empty(2, batch, nodes, channels)
    arguments = h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale, out, *weights
    _run("mix", batch, _parts(nodes), 2 * h.numel(), *arguments)
    return out, weights


def mix_backward(grad, h, smooth, w_tilde, w_mix, weights, kinds, relu, temperature, scale):
    """Return the gradients of `mix` with respect to `h`, `smooth`, `w_tilde` and `w_mix`."""
    parts = _parts(h.shape[1])
    inputs = grad, h, smooth, w_tilde, w_mix, *weights, kinds, relu, temperature, scale
    grads = h.new_empty(h.shape), h.new_empty(smooth.shape)
    sums = [w.new_zeros(len(w), parts, *w.shape[1:]) for w in (w_tilde, w_mix)]
    _run("mix_backward", len(h), parts, 4 * h.numel(), *inputs, *grads, *sums)
    return *grads, *map(_total, sums)


def adam(w, g, m, v, lr, shrink, l2, betas, correction, eps) -> None:
    """Compute what `acm.training.optimizer.adam` computes, in one pass."""
    size = w[:1].numel()
    flat = w.view(len(w), size), g.reshape(len(g), size), m.view(len(m), size), v.view(len(v), size)
    arguments = *flat, lr, shrink, l2, betas, correction, eps
    _run("adam", len(w), _parts(size // 16), w.numel(), *arguments)


def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool):
    """Compute what `acm.training.trainer.cross_entropy` returns, in one pass."""
    (batch, nodes, _), parts = logits.shape, _parts(logits.shape[1])
    loss, best = logits.new_empty(batch, parts), y.new_empty(batch, nodes)
    grad = logits.new_empty(logits.shape if gradient else (batch, 0, 0))
    _run("cross_entropy", batch, parts, 8 * logits.numel(), logits, y, share, loss, best, grad)
    return _total(loss), best, grad if gradient else None
