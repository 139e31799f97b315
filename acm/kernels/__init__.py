"""The inner loops of training on a CPU, compiled by Numba.

Each function here is a formula that another room states in PyTorch operations (`acm.filters`,
`acm.nn`, `acm.training`), written as one pass over memory. Every trial of a batch is a loop of its
own, cut into parts by its size alone, so what a trial gets depends neither on what runs beside it
nor on the number of threads.

Where there is no Numba, and for tensors on another device, callers use their PyTorch operations.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version

import torch
from torch import Tensor


@functools.cache
def _loops():
    try:
        from acm.kernels import loops
    except ImportError:  # a machine without Numba
        return None
    return loops


_HERE = threading.local()  # how many threads share the loops that this one calls
_SMALL = 2**15  # elements a thread; for less it is not worth waking


def _parts(rows: int) -> int:
    """Into how many parts the rows of a trial are cut, whatever the number of threads."""
    return max(1, min(16, rows // 256))


def _run(name: str, batch: int, parts: int, work: int, *arguments) -> None:
    """Call a loop for all parts of all trials; `work` is the number of elements it goes through."""
    loop, total = getattr(_loops(), name), batch * parts
    number = min(getattr(_HERE, "threads", 1), total, max(1, work // _SMALL))
    if number <= 1:  # 0 where there is nothing to do
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
    """Share the loops that this thread calls among so many threads."""
    before = getattr(_HERE, "threads", 1)
    _HERE.threads = number
    try:
        yield
    finally:
        _HERE.threads = before


def compiler() -> str:
    """What compiles the loops, with its version; without it, that it is missing."""
    return f"numba {version('numba')}" if _loops() is not None else "no numba"


def fit(*tensors: Tensor) -> bool:
    """Whether the loops can take these tensors: on a CPU, all float32 or all float64."""
    kind = tensors[0].dtype
    return (
        all(t.is_cpu and t.dtype == kind for t in tensors)
        and kind in (torch.float32, torch.float64)
        and _loops() is not None
    )


def sparse_product(crow: Tensor, col: Tensor, value: Tensor, x: Tensor, out: Tensor | None = None):
    """`M x` for a CSR matrix `M`: one product for each trial.

    Args:
        crow, col: The pattern, int32.
        value: Stored values, `[nnz]`, or `[B, nnz]` with other values for each trial.
        x: `[K, F]` or `[B, K, F]`, its last dimension contiguous: columns of a wider tensor will
            do.
        out: `[M, F]` or `[B, M, F]`, to which the product is added; by default a new tensor.
    """
    new = out is None
    if new:  # `torch.broadcast_shapes` would take as long as a small product
        batch = x.shape[:-2] if x.shape[:-2] not in ((), (1,)) else value.shape[:-1] or x.shape[:-2]
        out = x.new_empty(*batch, crow.numel() - 1, x.shape[-1])
    if x.stride(-1) != 1 and x.shape[-1] != 1:
        x = x.contiguous()
    into = out if out.dim() == 3 else out[None]
    many = x.expand(into.shape[0], *x.shape[-2:])
    _run(
        "sparse_product",
        into.shape[0],
        _parts(into.shape[1]),
        into.shape[0] * col.numel() * into.shape[2],
        crow.numpy(),
        col.numpy(),
        _numpy(value if value.dim() == 2 else value[None]),
        *_flat(many),
        *_flat(into),
        *into.shape[1:],
        not new,
    )
    return out


#: Dense matrices of more elements than this are for the libraries' products.
NARROW = 2**14


def dense_product(a: Tensor, b: Tensor) -> Tensor:
    """`A B`, `[B, N, F]`: `[B, N, K]`, or `[1, N, K]`, times a narrow `[B, K, F]`."""
    out = b.new_empty(len(b), a.shape[1], b.shape[2])
    _run(
        "dense_product",
        len(b),
        _parts(a.shape[1]),
        a.shape[1] * b.numel() // 8,
        *(_numpy(t.contiguous()) for t in (a, b)),
        _numpy(out),
    )
    return out


def transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """`Aᵀ B`, a narrow `[B, K, F]`: of `[B, N, K]`, or `[1, N, K]`, and `[B, N, F]`."""
    parts = _parts(a.shape[1])
    out = b.new_empty(len(b), parts, a.shape[2], b.shape[2])
    _run(
        "transposed_product",
        len(b),
        parts,
        a.shape[1] * out.numel() // parts // 8,
        *(_numpy(t.contiguous()) for t in (a, b)),
        _numpy(out),
    )
    return out.sum(1)


def dropout(x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
    """`x`, `[B, …]` or `[1, …]`, with elements dropped by the rule of `acm.nn.dropout`."""
    x = x.contiguous()
    out = x.new_empty(len(p), *x.shape[1:])
    arguments = (_numpy(t) for t in (x.flatten(1), p, key, counter, out.flatten(1)))
    _run(
        "dropout",
        len(out),
        _parts(out.numel() // max(1, len(out)) // 16),
        4 * out.numel(),
        *arguments,
    )
    return out


def mix(h: Tensor, smooth: Tensor, w_tilde: Tensor, w_mix: Tensor, kinds, relu, temperature, scale):
    """Steps 1 (its end) to 3 of section 4.3 in one pass; see `acm.nn.mixing`.

    Args:
        h: `X W` of every channel, `[B, N, K, F]`.
        smooth: `H_LP` times those of `h` that are filtered, `[B, N, S, F]`.
        w_tilde, w_mix: `[B, K, F]` and `[B, K, K]`.
        kinds: An array: 0 for low-pass, 1 for high-pass, 2 for identity, of each channel.

    Returns:
        The mixed output, `[B, N, F]`, and `α` and `σ`, `[B, N, K]`.
    """
    out = h.new_empty(h.shape[0], h.shape[1], h.shape[3])
    alpha, sigma = h.new_empty(2, *h.shape[:3])
    _run(
        "mix",
        len(h),
        _parts(h.shape[1]),
        2 * h.numel(),
        *(_numpy(t.contiguous()) for t in (h, smooth, w_tilde, w_mix)),
        kinds,
        relu,
        temperature,
        scale,
        *(_numpy(t) for t in (out, alpha, sigma)),
    )
    return out, alpha, sigma


def mix_backward(grad, h, smooth, w_tilde, w_mix, alpha, sigma, kinds, relu, temperature, scale):
    """The gradients of `mix` in `h`, `smooth`, `w_tilde` and `w_mix`."""
    inputs = [t.contiguous() for t in (grad, h, smooth, w_tilde, w_mix, alpha, sigma)]
    parts = _parts(h.shape[1])
    grads = [torch.empty_like(t) for t in inputs[1:3]]
    sums = [t.new_zeros(len(t), parts, *t.shape[1:]) for t in inputs[3:5]]
    _run(
        "mix_backward",
        len(h),
        parts,
        4 * h.numel(),
        *map(_numpy, inputs),
        kinds,
        relu,
        temperature,
        scale,
        *map(_numpy, grads + sums),
    )
    return grads + [t.sum(1) for t in sums]


def adam(states: Sequence[tuple], gradients, rate, decay, l2, betas, correction, eps) -> None:
    """One step of Adam or AdamW on stacked weights, in place; see `acm.training.adam`.

    Args:
        states: Of each weight: itself, and its means of gradients and of their squares, `[B, …]`,
            as `arrays` gives them.
        gradients: One a weight, `[B, …]`, or `None` for one that stays.
        correction: Of the means, one a weight.
    """
    rates = tuple(map(_numpy, (rate, decay, l2)))
    for (w, m, v), g, unbiased in zip(states, gradients, correction):
        if g is not None:
            g = _numpy(g.contiguous().view(w.shape))
            parts = _parts(w.shape[1] // 16)
            _run("adam", len(w), parts, w.size, w, g, m, v, *rates, betas, unbiased, eps)


def arrays(*tensors: Tensor) -> tuple:
    """The same memory as arrays `[B, size]`."""
    return tuple(_numpy(t.view(len(t), -1)) for t in tensors)


def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool):
    """Cross-entropy of every trial over some of the nodes, in one pass; see `acm.training.loss`.

    Args:
        logits: `[B, N, C]`.
        y: Classes, `[B, N]`.
        share: What a node counts, `[B, N]`.
        gradient: Whether the gradient in the logits is asked for.

    Returns:
        The loss, `[B]`, the most likely class of each node, `[B, N]`, and the gradient, or `None`.
    """
    batch, nodes, _ = logits.shape
    parts = _parts(nodes)
    loss, best = logits.new_empty(batch, parts), y.new_empty(batch, nodes)
    grad = torch.empty_like(logits) if gradient else logits.new_empty(batch, 0, 0)
    arguments = map(_numpy, (logits.contiguous(), y, share, loss, best, grad))
    _run("cross_entropy", batch, parts, 8 * logits.numel(), *arguments)
    return loss.sum(1), best, grad if gradient else None


def _numpy(tensor: Tensor):
    return tensor.numpy(force=True)  # on a CPU no copy


def _flat(x: Tensor):
    """The memory of a `[B, N, F]` tensor from its first element on, and its first two strides."""
    stride = x.stride()
    if x.is_contiguous():
        return _numpy(x.view(-1)), *stride[:2]
    span = 1 + sum((size - 1) * step for size, step in zip(x.shape, stride))
    flat = x.detach().as_strided((span if x.numel() else 0,), (1,), x.storage_offset())
    return flat.numpy(), *stride[:2]
