"""`X W` for the weights of one trial or of many, to the bit the same for both."""

from __future__ import annotations

import torch
from torch import Tensor

from acm.filters import SparseMatrix

_LINE = 64  # bytes: what the processor's vector instructions read at once, at most


def product(x: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """`X W`, `[N, F_out]`, or `[B, N, F_out]` for a batch of trials.

    `x @ weight` for stacked weights gives a trial other last digits when others stand beside it:
    the libraries' kernels round by where in memory a matrix begins. This gives the same ones.

    Args:
        x: Features, `[N, F_in]` or `[B, N, F_in]`; dense, or a `SparseMatrix`.
        weight: `[F_in, F_out]` or `[B, F_in, F_out]`.
    """
    stacked = isinstance(x, Tensor) and x.device.type == "cpu" and weight.dim() == 3
    return _Stacked.apply(x, weight) if stacked else x @ weight


class _Stacked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _each(x if x.dim() == 3 else x[None], weight)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = _each(grad, weight.mT)
            grad_x = grad_x if x.dim() == 3 else grad_x.sum(0)
        if ctx.needs_input_grad[1]:
            grad_weight = _each((x if x.dim() == 3 else x[None]).mT, grad)
        return grad_x, grad_weight


def _each(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b`, `[B, …]`, either of which may be one for all."""
    a, b = _packed(a), _packed(b)
    batch = max(len(a), len(b))
    rows, columns = a.shape[-2], b.shape[-1]
    sizes = a.shape[-2] * a.shape[-1], b.shape[-2] * b.shape[-1], rows * columns
    starts = all(size * a.element_size() % _LINE == 0 for size in sizes)  # each trial, a line
    if starts and min(rows, columns) > 1:  # one alone might be taken for a vector
        a, b = _aligned(a), _aligned(b)
        return torch.bmm(a.expand(batch, -1, -1), b.expand(batch, -1, -1))
    out = a.new_empty(batch, rows, columns)
    for k in range(batch):
        out[k] = torch.mm(_aligned(a[k % len(a)]), _aligned(b[k % len(b)]))
    return out


def _packed(a: Tensor) -> Tensor:
    return a if a.is_contiguous() or a.mT.is_contiguous() else a.contiguous()


def _aligned(matrix: Tensor) -> Tensor:
    return matrix.clone() if matrix.data_ptr() % _LINE else matrix
