"""Run compiled loops for training on a CPU (optional; `ACM_COMPILED=0` turns the loops off).

Each function replaces PyTorch operations of `acm.filters`, `acm.nn` or `acm.training` by one pass
over memory. A loop divides the rows of a trial into parts; their number depends on the rows alone.
The result of a trial therefore depends neither on other trials nor on the number of threads.

Callers use the PyTorch operations if Numba is missing or if tensors are on another device. Loops
and operations agree within rounding. With both, the batch does not change a trial's result.
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
    except ImportError:  # Numba is not installed
        return None
    return loops


def compiler() -> str:
    """Return the name and version of the compiler, or `"no numba"`."""
    return f"numba {version('numba')}" if _loops() is not None else "no numba"


def supports(*tensors: Tensor) -> bool:
    """Return whether the loops accept the tensors: all on a CPU, and all float32 or all float64."""
    kind = tensors[0].dtype
    if kind not in (torch.float32, torch.float64) or _loops() is None:
        return False
    return all([t.is_cpu and t.dtype == kind for t in tensors])


_HERE = threading.local()  # `threads`: how many threads share a loop that this thread calls
_SMALL = 2**15  # starting a thread for fewer elements takes longer than the work itself


@contextmanager
def threads(number: int):
    """Let `number` threads share each loop that this thread calls."""
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
    """Run a loop over all parts of all trials; `work` estimates the number of elements computed."""
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
    """Return the number of parts of a trial; it does not depend on the number of threads."""
    return max(1, min(16, rows // 256))


def _total(parts: Tensor) -> Tensor:
    """Sum `[B, parts, …]` over the parts of each trial, and return `[B, …]`."""
    return parts.sum(1) if parts.shape[1] > 1 else parts.select(1, 0)


def numpy(x: Tensor) -> np.ndarray:
    """Return a tensor's memory as an array."""
    return x.numpy(force=True)  # makes no copy on a CPU


def sparse_product(
    crow: np.ndarray,
    col: np.ndarray,
    value: np.ndarray,
    x: np.ndarray,
    out: np.ndarray | None = None,
    width: int | None = None,
) -> np.ndarray:
    """Return `S x`, `[B, M, F]`, for an M × K CSR matrix `S` with values `[B, nnz]` or `[1, nnz]`.

    Args:
        x: `[B, K, F]` or `[1, K, F]`.
        out: Array to which the product is added; by default a new array.
        width: Number of leading columns of `x` and `out` that are used; by default all.
    """
    add, width = out is not None, x.shape[2] if width is None else width
    if out is None:
        batch = len(value if len(x) == 1 else x)
        # PyTorch aligns arrays to cache lines, unlike NumPy; products of aligned arrays are faster.
        out = torch.from_numpy(x[:0, :0]).new_empty(batch, len(crow) - 1, width).numpy()
    arrays = crow, col, np.ascontiguousarray(value), np.ascontiguousarray(x), out, width, add
    _run("sparse_product", len(out), _parts(out.shape[1]), len(out) * len(col) * width, *arrays)
    return out


#: Largest number of elements of a narrow matrix; PyTorch multiplies larger matrices.
NARROW = 2**14


def dense_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `a @ b`, `[B, N, F]`; `a` is `[B, N, K]` or `[1, N, K]`, `b` a narrow `[B, K, F]`."""
    out = b.new_empty(b.shape[0], a.shape[1], b.shape[2])
    _run("dense_product", b.shape[0], _parts(a.shape[1]), a.shape[1] * b.numel() // 8, a, b, out)
    return out


def transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `aᵀ @ b`, a narrow `[B, K, F]`; `a` is `[B, N, K]` or `[1, N, K]`, `b` `[B, N, F]`."""
    parts = _parts(a.shape[1])
    out = b.new_empty(b.shape[0], parts, a.shape[2], b.shape[2])
    _run("transposed_product", b.shape[0], parts, a.shape[2] * b.numel() // 8, a, b, out)
    return _total(out)


def dropout(x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
    """Drop elements of `x`, `[B, …]` or `[1, …]`, as `acm.nn.stacked` does; return `[B, …]`."""
    out, size, batch = x.new_empty(p.shape[0], *x.shape[1:]), x[:1].numel(), p.shape[0]
    arguments = x.reshape(x.shape[0], size), p, key, counter, out.view(batch, size)
    _run("dropout", batch, _parts(size // 16), 4 * out.numel(), *arguments)
    return out


def mix(h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale):
    """Return the output of `acm.nn.mixing.filter_and_mix`, and `α` and `σ`, `[2, B, N, K]`.

    `kinds` names each channel of `h`, `[B, N, K, F]`: 0 low-pass, 1 high-pass, 2 identity. The
    identity comes last. `smooth` is `H_LP^k` times the other channels. The output is `[B, N, F]`.
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
    sums = [w.new_zeros(w.shape[0], parts, *w.shape[1:]) for w in (w_tilde, w_mix)]
    _run("mix_backward", h.shape[0], parts, 4 * h.numel(), *inputs, *grads, *sums)
    return *grads, *map(_total, sums)


def adam(w, g, m, v, lr, shrink, l2, betas, correction, eps) -> None:
    """Update weights and moments as `acm.training.optimizer.adam` does, in one pass."""
    batch, size = w.shape[0], w.numel() // w.shape[0]  # `len` of a tensor is slow
    flat = g.reshape(batch, size), m.view(batch, size), v.view(batch, size)
    arguments = w.view(batch, size), *flat, lr, shrink, l2, betas, correction, eps
    _run("adam", batch, _parts(size // 16), batch * size, *arguments)


def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool):
    """Return what `acm.training.trainer.cross_entropy` returns, computed in one pass."""
    (batch, nodes, _), parts = logits.shape, _parts(logits.shape[1])
    loss, best = logits.new_empty(batch, parts), y.new_empty(batch, nodes)
    grad = logits.new_empty(logits.shape if gradient else (batch, 0, 0))
    _run("cross_entropy", batch, parts, 8 * logits.numel(), logits, y, share, loss, best, grad)
    return _total(loss), best, grad if gradient else None
