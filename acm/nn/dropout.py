"""Dropout whose draws follow from a key and a counter alone (section 5)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm import kernels
from acm.errors import UsageError
from acm.filters import SparseMatrix, operand
from acm.nn.checks import probability


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
        self.own = own
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
    loops = p.device.type == "cpu" and kernels.fit(x)
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
