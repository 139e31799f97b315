"""The inner loops of training on a CPU, compiled by Numba.

Each function computes in one pass over memory what `acm.filters`, `acm.nn` or `acm.training` state
in PyTorch operations. Every trial of a batch is a separate loop, divided into parts by its size. So
the outcome of a trial depends neither on the other trials nor on the number of threads.

Without Numba, with `ACM_COMPILED=0`, and for tensors on another device, callers use PyTorch
operations: the results then agree within rounding, and a trial still does not depend on its batch.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np
import torch
from numpy.lib.stride_tricks import as_strided
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


_HERE = threading.local()  # the number of threads that share the loops of this thread
_TYPES = torch.float32, torch.float64
_NONE = {kind.itemsize: torch.empty(0, dtype=kind) for kind in _TYPES}
_SMALL = 2**15  # a thread with fewer elements than this is not worth waking


def _parts(rows: int) -> int:
    """Return into how many parts the rows of a trial are divided, for any number of threads."""
    return max(1, min(16, rows // 256))


def _run(name: str, batch: int, parts: int, work: int, *arguments) -> None:
    """Call a loop for all parts of all trials; `work` is the number of elements in the loop."""
    loop: Callable[..., None] = getattr(_loops(), name)
    total = batch * parts
    number = min(getattr(_HERE, "threads", 1), total, max(1, work // _SMALL))
    if number <= 1:  # 0 for an empty batch
        loop(*arguments, parts, 0, total)
        return
    ends = [total * k // number for k in range(number + 1)]
    others = [
        _helpers().submit(loop, *arguments, parts, first, last)
        for first, last in zip(ends[1:], ends[2:])
    ]
    loop(*arguments, parts, 0, ends[1])
    for other in others:
        other.result()


@functools.cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), "acm-kernels")


@contextmanager
def threads(number: int):
    """Share the loops that this thread calls among a number of threads."""
    before = getattr(_HERE, "threads", 1)
    _HERE.threads = number
    try:
        yield
    finally:
        _HERE.threads = before


def compiler() -> str:
    """Return the name and version of the compiler, or that there is none."""
    return f"numba {version('numba')}" if _loops() is not None else "no numba"


def supports(*tensors: Tensor) -> bool:
    """Return whether the loops take these tensors: on a CPU, all float32 or all float64."""
    kind = tensors[0].dtype
    if kind not in _TYPES or _loops() is None:
        return False
    for t in tensors:  # `all` with a generator would double the time of this check
        if not t.is_cpu or t.dtype != kind:
            return False
    return True


def numpy(x: Tensor) -> np.ndarray:
    """Return a tensor's memory as an array, whose views cost a tenth of a tensor's views."""
    return x.numpy(force=True)  # on a CPU no copy


def _empty(like: np.ndarray, *shape: int) -> np.ndarray:
    # PyTorch's memory begins on a cache line, which makes products a tenth faster than NumPy's.
    # `new_empty` takes half the time of `torch.empty`.
    return _NONE[like.itemsize].new_empty(shape).numpy()


def sparse_product(
    crow: np.ndarray,
    col: np.ndarray,
    value: np.ndarray,
    x: np.ndarray,
    out: np.ndarray | None = None,
    width: int | None = None,
) -> np.ndarray:
    """Return `M x` for a CSR matrix `M`: one product for each trial.

    Args:
        crow, col: The pattern, int32.
        value: Stored values, `[B, nnz]`, or `[1, nnz]` for the same in all trials.
        x: `[B, K, F]`, or `[1, K, F]`; it may be a view of columns of a wider array.
        out: Array `[B, M, F]` to which the product is added; by default a new array.
        width: Number of leading columns of `x` and `out` that are used; by default all.
    """
    new, width = out is None, x.shape[2] if width is None else width
    if out is None:
        out = _empty(x, len(value if len(x) == 1 else x), len(crow) - 1, width)
    batch, rows = out.shape[:2]
    if x.strides[2] != x.itemsize and width != 1:
        x = np.ascontiguousarray(x)
    _run(
        "sparse_product",
        batch,
        _parts(rows),
        batch * len(col) * width,
        crow,
        col,
        np.ascontiguousarray(value),
        *_flat(x),
        *_flat(out),
        rows,
        width,
        not new,
    )
    return out


def _flat(x: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Return the memory of a `[B, N, F]` array and the distances between its trials and rows.

    The distance between trials is 0 for an array `[1, N, F]` that all trials share.
    """
    steps = [step // x.itemsize for step in x.strides]
    if x.flags.c_contiguous:
        flat = x.reshape(-1)
    else:
        span = 1 + sum((size - 1) * step for size, step in zip(x.shape, steps))
        flat = as_strided(x, (span if x.size else 0,), (x.itemsize,))
    return flat, steps[0] if len(x) > 1 else 0, steps[1]


#: Larger dense matrices are multiplied by PyTorch.
NARROW = 2**14


def dense_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `A B`, `[B, N, F]`, of `[B, N, K]` or `[1, N, K]` and a narrow `[B, K, F]`."""
    out = b.new_empty(len(b), a.shape[1], b.shape[2])
    work = a.shape[1] * b.numel() // 8
    _run("dense_product", len(b), _parts(a.shape[1]), work, *_whole(a, b), numpy(out))
    return out


def transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """Return `Aᵀ B`, a narrow `[B, K, F]`, of `[B, N, K]` or `[1, N, K]` and `[B, N, F]`."""
    parts = _parts(a.shape[1])
    out = b.new_empty(len(b), parts, a.shape[2], b.shape[2])
    work = a.shape[1] * out.numel() // parts // 8
    _run("transposed_product", len(b), parts, work, *_whole(a, b), numpy(out))
    return _total(out)


def _whole(*tensors: Tensor) -> list[np.ndarray]:
    return [np.ascontiguousarray(numpy(t)) for t in tensors]


def _total(parts: Tensor) -> Tensor:
    """Return the sum over the parts of each trial, `[B, parts, …]`."""
    return parts.sum(1) if parts.shape[1] > 1 else parts.select(1, 0)


def dropout(x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
    """Return `x`, `[B, …]` or `[1, …]`, with elements dropped by the rule of `acm.nn.stacked`."""
    out = x.new_empty(len(p), *x.shape[1:])
    size = out.numel() // max(1, len(out))
    (flat,) = _whole(x)
    flat, into = flat.reshape(len(x), size), numpy(out).reshape(len(out), size)
    draws = map(numpy, (p, key, counter))
    _run("dropout", len(out), _parts(size // 16), 4 * out.numel(), flat, *draws, into)
    return out


def mix(h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale):
    """Compute steps 1 to 3 of section 4.3 after the products with weights; see `acm.nn.mixing`.

    Args:
        h: `X W` of every channel, an array `[B, N, K, F]`.
        smooth: `H_LP` times the filtered channels of `h`, `[B, N, S, F]`.
        w_tilde, w_mix: `[B, K, F]` and `[B, K, K]`.
        kinds: 0 for low-pass, 1 for high-pass, 2 for identity, of each channel.

    Returns:
        The mixed output, `[B, N, F]`, and `α` and `σ` in one array, `[2, B, N, K]`.
    """
    batch, nodes, channels, width = h.shape
    out, weights = _empty(h, batch, nodes, width), _empty(h, 2, batch, nodes, channels)
    inputs = map(np.ascontiguousarray, (h, smooth, w_tilde, w_mix))
    rest = kinds, relu, temperature, scale
    _run("mix", batch, _parts(nodes), 2 * h.size, *inputs, *rest, out, *weights)
    return out, weights


def mix_backward(grad, h, smooth, w_tilde, w_mix, weights, kinds, relu, temperature, scale):
    """Return the gradients of `mix` with respect to `h`, `smooth`, `w_tilde` and `w_mix`."""
    parts = _parts(h.shape[1])
    inputs = map(np.ascontiguousarray, (grad, h, smooth, w_tilde, w_mix, *weights))
    rest = kinds, relu, temperature, scale
    grads = _empty(h, *h.shape), _empty(h, *smooth.shape)
    sums = [np.zeros((len(w), parts, *w.shape[1:]), w.dtype) for w in (w_tilde, w_mix)]
    _run("mix_backward", len(h), parts, 4 * h.size, *inputs, *rest, *grads, *sums)
    return *grads, *(_total(torch.from_numpy(s)) for s in sums)


def adam(states: Sequence[tuple], gradients, rate, decay, l2, betas, correction, eps) -> None:
    """Do one step of Adam or AdamW on stacked weights, in place; see `acm.training.optimizer`.

    Args:
        states: For each weight the weight and its two moments, as `arrays` returns them.
        gradients: For each weight its gradient, `[B, …]`, or `None` if the weight stays the same.
        rate, decay, l2: One value per trial, `[B]`, as arrays.
        correction: For each weight the bias corrections of the moments.
    """
    for (w, m, v), g, unbiased in zip(states, gradients, correction):
        if g is not None:
            (g,) = _whole(g)
            g, parts = g.reshape(w.shape), _parts(w.shape[1] // 16)
            _run("adam", len(w), parts, w.size, w, g, m, v, rate, decay, l2, betas, unbiased, eps)


def arrays(*tensors: Tensor) -> tuple:
    """Return tensors `[B, …]` as arrays `[B, size]` that share their memory."""
    return tuple(numpy(t.view(len(t), -1)) for t in tensors)


def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool):
    """Compute the cross-entropy of every trial in one pass; see `acm.training.trainer`.

    Args:
        logits: `[B, N, C]`.
        y: Classes, `[B, N]`.
        share: Weight of each node, `[B, N]`.
        gradient: Whether to return the gradient with respect to the logits as well.

    Returns:
        The loss, `[B]`, the most likely class of each node, `[B, N]`, and the gradient, or `None`.
    """
    batch, nodes, _ = logits.shape
    parts = _parts(nodes)
    loss, best = logits.new_empty(batch, parts), y.new_empty(batch, nodes)
    grad = torch.empty_like(logits) if gradient else logits.new_empty(batch, 0, 0)
    arguments = *_whole(logits), *map(numpy, (y, share, loss, best, grad))
    _run("cross_entropy", batch, parts, 8 * logits.numel(), *arguments)
    return _total(loss), best, grad if gradient else None
