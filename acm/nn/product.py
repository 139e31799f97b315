"""`X W` for the weights of one trial or of many, to the bit the same for both."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from acm import kernels
from acm.errors import UsageError
from acm.filters import SparseMatrix

#: What autocast casts; it leaves other types alone.
_CAST = {torch.float16, torch.bfloat16, torch.float32}
_LINE = 64  # bytes: what the processor's vector instructions read at once, at most


def product(x: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """`X W`, `[N, F_out]`, or `[B, N, F_out]` for a batch of trials.

    `x @ weight` for stacked weights gives a trial other last digits when others stand beside it:
    the libraries' kernels round by where in memory a matrix begins. This gives the same ones.

    Args:
        x: Features, `[N, F_in]` or `[B, N, F_in]`; dense, or a `SparseMatrix`.
        weight: `[F_in, F_out]` or `[B, F_in, F_out]`. More may stand in front, as the channels or
            heads of a layer, `[B, K, F_in, F_out]`: it does in `x` as well then.

    Raises:
        UsageError: If the shapes do not meet, or the types.
    """
    _check_types(x, weight)
    if isinstance(x, SparseMatrix) or weight.dim() < 3:
        return x @ weight
    if weight.dim() > 3 and x.shape[:-2] == weight.shape[:-2]:
        flat = product(x.flatten(0, -3), weight.flatten(0, -3))
        return flat.unflatten(0, weight.shape[:-2])
    trials = x.shape[:-2] in (torch.Size(), weight.shape[:1]) and x.dim() > 1 and weight.dim() == 3
    if not trials or x.shape[-1] != weight.shape[-2]:
        raise UsageError(
            f"features of shape {list(x.shape)} do not meet weights of shape"
            f" {list(weight.shape)}: [N, {weight.shape[-2]}] is needed"
        )
    if not x.is_cpu:
        return x @ weight
    return (_Stacked.apply if torch.is_grad_enabled() else _stacked)(x, weight)


def joint_product(parts: Sequence[Tensor | SparseMatrix], weight: Tensor) -> Tensor:
    """`[X_1, X_2, …] W` as `X_1 W_1 + X_2 W_2 + …`: nothing is set side by side.

    Args:
        parts: Features, each as in `product`.
        weight: `[F_in, F_out]` or `[B, F_in, F_out]`, with a row for every column of the parts.
    """
    if len(parts) == 1:
        return product(parts[0], weight)
    rows = weight.split([part.shape[-1] for part in parts], -2)
    return functools.reduce(torch.add, (product(part, w) for part, w in zip(parts, rows)))


def _check_types(x: Tensor | SparseMatrix, weight: Tensor) -> None:
    kind = x.value.dtype if isinstance(x, SparseMatrix) else x.dtype
    if kind == weight.dtype:
        return
    # PyTorch's own product of two matrices may cast them by itself.
    alike = isinstance(x, Tensor) and weight.dim() < 3 and {kind, weight.dtype} <= _CAST
    if not (alike and torch.is_autocast_enabled(weight.device.type)):
        raise UsageError(
            f"x is of {kind}, the weights of {weight.dtype}: both need to be of one type"
        )


def _stacked(x: Tensor, weight: Tensor) -> Tensor:
    x = x if x.dim() == 3 else x[None]
    return kernels.dense_product(x, weight) if _narrow(x, weight) else _each(x, weight)


class _Stacked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _stacked(x, weight)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        shared, x = x.dim() == 2, x if x.dim() == 3 else x[None]
        narrow = _narrow(x, weight)
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = (kernels.dense_product if narrow else _each)(grad, weight.mT)
            grad_x = grad_x.sum(0) if shared else grad_x
        if ctx.needs_input_grad[1]:
            grad_weight = kernels.transposed_product(x, grad) if narrow else _each(x.mT, grad)
        return grad_x, grad_weight


def _narrow(x: Tensor, weight: Tensor) -> bool:
    """By sizes alone, so that a trial is treated alike in every batch."""
    return weight.shape[1] * weight.shape[2] <= kernels.NARROW and kernels.fit(x, weight)


def _each(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b`, `[B, …]`, trial by trial; `a` may be one for all."""
    out = a.new_empty(len(b), a.shape[-2], b.shape[-1])
    for k in range(len(b)):
        out[k] = torch.mm(_aligned(a[k % len(a)]), _aligned(b[k]))
    return out


def _aligned(matrix: Tensor) -> Tensor:
    return matrix.clone() if matrix.data_ptr() % _LINE else matrix
