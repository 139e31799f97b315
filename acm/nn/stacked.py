"""`X W` for the weights of one trial or of many, to the bit the same for both."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm import kernels
from acm.errors import UsageError
from acm.filters import SparseMatrix, operand
from acm.nn.checks import probability, uniform

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
    return weight.shape[1] * weight.shape[2] <= kernels.NARROW and kernels.supports(x, weight)


def _each(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b`, `[B, …]`, trial by trial; `a` may be one for all."""
    out = a.new_empty(len(b), a.shape[-2], b.shape[-1])
    for k in range(len(b)):
        out[k] = torch.mm(_aligned(a[k % len(a)]), _aligned(b[k]))
    return out


def _aligned(matrix: Tensor) -> Tensor:
    return matrix.clone() if matrix.data_ptr() % _LINE else matrix


class Affine(nn.Module):
    """`X W + b` for dense and sparse `X` and for stacked weights.

    Args:
        in_channels, out_channels: Features of a node, before and after.

    Attributes:
        weight: `W`, `[in_channels, out_channels]`.
        bias: `b`, `[1, out_channels]`.
    """

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(1, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw both uniformly from ±1/√in_channels, as `torch.nn.Linear` does."""
        for parameter in (self.weight, self.bias):
            uniform(parameter, self.weight.shape[-2])

    def forward(self, x: Tensor | SparseMatrix) -> Tensor:
        """`X W + b`, `[N, out_channels]`."""
        return product(x, self.weight) + self.bias


class Dropout(nn.Module):
    """Sets each value to zero with probability `p` while training, and scales up the others.

    On a sparse matrix only the stored values need a draw: a zero stays zero. Used alone it draws
    from PyTorch's generator, as `torch.nn.Dropout` does. The trainer gives each trial a `key` and
    counts its draws, so that many trials can be stacked and each still has the draws that it has
    when it is trained alone, on a CPU or a GPU.

    Args:
        p: The probability, from 0 to below 1.
        own: Whether it is this layer's own, which no trial's dropout replaces.

    Raises:
        UsageError: If `p` is out of range.
    """

    def __init__(self, p: float = 0.5, own: bool = False):
        super().__init__()
        self.fixed_p = own
        p = probability("dropout", p)
        # Buffers, because a batch of trials has one of each for every trial.
        self.register_buffer("p", torch.tensor(p, dtype=torch.float64), persistent=False)
        self.register_buffer("key", None, persistent=False)
        self.register_buffer("counter", None, persistent=False)

    def forward(self, x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
        """Drop values of a matrix `[N, F]`, dense or sparse, or of a batch of them.

        A batch of trials may share the matrix: each then has its own draw of it.

        Raises:
            UsageError: If the values are no floating-point numbers.
        """
        if not self.training:
            return x
        x = operand(x)
        kind = x.value.dtype if isinstance(x, SparseMatrix) else x.dtype
        if not kind.is_floating_point:
            raise UsageError(f"dropout of values of {kind}: floating-point ones are needed")
        if isinstance(x, SparseMatrix):
            return x.with_value(self._drop(x.value, x.value.dim() > 1))
        return self._drop(x, x.dim() > 2)

    def _drop(self, x: Tensor, stacked: bool) -> Tensor:
        if self.key is None:
            return functional.dropout(x, float(self.p))
        draw, stacked = (self.p, self.key, self.counter), stacked and self.p.dim() > 0
        # A second use in the same pass goes on with the draws after these.
        self.counter = self.counter + x.numel() // (len(x) if stacked else 1)
        if self.p.dim() == 0:
            return _Dropout.apply(x[None], *(t[None] for t in draw))[0]
        return _Dropout.apply(x if stacked else x[None], *draw)

    def extra_repr(self) -> str:
        """The probability, where there is one: a batch of trials has many."""
        return f"p={self.p.tolist()}"


def stacked(module: nn.Module) -> bool:
    """Whether the weights are those of a batch of trials: each has a dropout of its own then."""
    return any(part.p.dim() > 0 for part in module.modules() if isinstance(part, Dropout))


class _Dropout(torch.autograd.Function):
    """`y = x · keep / (1 − p)`; the gradient draws the same `keep` again instead of storing it.

    `x` is `[B, …]`, or `[1, …]` and shared; the others are `[B]`.
    """

    @staticmethod
    def forward(ctx, x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
        ctx.save_for_backward(p, key, counter)
        return _drawn(x, p, key, counter)

    @staticmethod
    def backward(ctx, grad: Tensor):
        drop = _Dropout.apply if grad.requires_grad else _drawn
        return drop(grad, *ctx.saved_tensors), None, None, None


def _drawn(x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
    loops = p.device.type == "cpu" and kernels.supports(x)
    return (kernels.dropout if loops else _dropout)(x, p, key, counter)


def _dropout(x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
    """What `acm.kernels.dropout` computes: element `i` of a trial is kept if the 32 random bits of
    `counter + i` under `key` are, as a number, not below `p · 2³²`."""
    shape = (-1,) + (1,) * (x.dim() - 1)
    index = torch.arange(x[0].numel(), device=x.device).view(x.shape[1:])
    bits = squares(counter.view(shape) + index, key.view(shape))
    keep = bits >= (p * 2**32).round().long().view(shape)
    scale = (1 / (1 - p)).to(x.dtype).view(shape)
    return torch.where(keep, x * scale, 0)


def squares(counter: Tensor, key: Tensor) -> Tensor:
    """32 random bits for each counter: Widynski's `squares32`, in int64 that wraps around."""

    def swap(x: Tensor) -> Tensor:
        return (x << 32) | ((x >> 32) & 0xFFFFFFFF)

    y = counter * key
    z = y + key
    x = swap(y * y + y)
    x = swap(x * x + z)
    x = swap(x * x + y)
    return ((x * x + z) >> 32) & 0xFFFFFFFF


def each(function: Callable[[Tensor], Tensor], x: Tensor, dims: int = 2) -> Tensor:
    """`function(x)`, trial by trial.

    PyTorch computes exponentials eight or sixteen numbers at a time, and the last few of a tensor
    by another routine, whose last digit may differ. Which numbers are the last must not depend on
    the trials that stand beside them.

    Args:
        function: Such as `torch.sigmoid`, number by number or along the last dimensions.
        x: `[…]` with `dims` dimensions, or `[B, …]` for a batch of trials.
        dims: How many dimensions a trial has.
    """
    if x.dim() == dims or not x.is_cpu:
        return function(x)
    return torch.stack([function(one) for one in x.unbind()])
