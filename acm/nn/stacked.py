"""Define operations on one trial, `[…]`, or a batch, `[B, …]`, with equal bits for each trial."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from acm import kernels
from acm.errors import UsageError
from acm.filters import SparseMatrix, moved, operand
from acm.nn.checks import features, operator_of, probability, uniform


def product(x: Tensor | SparseMatrix, weight: Tensor) -> Tensor:
    """Return `X W`, `[N, F_out]`, or `[B, N, F_out]` for a batch of trials.

    With stacked weights, the last digits of `x @ weight` depend on the batch, since libraries
    round by the address of a matrix. With `product`, a trial has the same digits in every batch.

    Args:
        x: Features, `[N, F_in]` or `[B, N, F_in]`; dense, or a `SparseMatrix`.
        weight: `[F_in, F_out]` or `[B, F_in, F_out]`. Channels or heads may follow `B` in both
            arguments, as in `[B, K, F_in, F_out]`.

    Raises:
        UsageError: If the types differ, or features do not match stacked weights.
    """
    dtype = (x.value if isinstance(x, SparseMatrix) else x).dtype
    if dtype != weight.dtype and not torch.is_autocast_enabled(weight.device.type):
        raise UsageError(f"x is of {dtype}, the weights of {weight.dtype}: one type is needed")
    if isinstance(x, SparseMatrix) or weight.dim() < 3:
        return x @ weight
    if weight.dim() > 3 and x.shape[:-2] == weight.shape[:-2]:
        flat = product(x.flatten(0, -3), weight.flatten(0, -3))
        return flat.unflatten(0, weight.shape[:-2])
    trials = x.shape[:-2] in (torch.Size(), weight.shape[:1]) and x.dim() > 1 and weight.dim() == 3
    if not trials or x.shape[-1] != weight.shape[-2]:
        raise UsageError(
            f"features of shape {list(x.shape)} do not match weights of shape"
            f" {list(weight.shape)}: [N, {weight.shape[-2]}] is needed"
        )
    return _Product.apply(x, weight) if x.is_cpu else x @ weight


def joint_product(parts: Sequence[Tensor | SparseMatrix], weight: Tensor) -> Tensor:
    """Return `[X_1, X_2, …] W` as `X_1 W_1 + X_2 W_2 + …`, without copying the parts."""
    rows = weight.split([part.shape[-1] for part in parts], -2) if len(parts) > 1 else [weight]
    return functools.reduce(torch.add, map(product, parts, rows))


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _each(x if x.dim() == 3 else x[None], weight)

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        if torch.is_grad_enabled():  # the caller differentiates the gradient again
            return plain_gradients(torch.matmul, (x, weight), grad)
        shared, x = x.dim() == 2, x if x.dim() == 3 else x[None]
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = _each(grad, weight.mT)
            grad_x = grad_x.sum(0) if shared else grad_x
        if ctx.needs_input_grad[1]:
            narrow = _narrow(x, weight)
            grad_weight = kernels.transposed_product(x, grad) if narrow else _mm(x.mT, grad)
        return grad_x, grad_weight


def plain_gradients(function: Callable[..., Tensor], inputs: Sequence[Tensor], grad: Tensor):
    """Return the gradients of PyTorch operations, which can be differentiated again."""
    inputs = [x.view_as(x) for x in inputs]  # a tensor that is passed twice has two gradients
    variables = [x for x in inputs if x.requires_grad]
    rest = iter(torch.autograd.grad(function(*inputs), variables, grad, create_graph=True))
    return tuple(next(rest) if x.requires_grad else None for x in inputs)


def _narrow(a: Tensor, b: Tensor) -> bool:
    # Only the size of a trial decides, so that a trial has the same kernel in every batch.
    return b.shape[1] * b.shape[2] <= kernels.NARROW and kernels.supports(a, b)


def _each(a: Tensor, b: Tensor) -> Tensor:
    return (kernels.dense_product if _narrow(a, b) else _mm)(a, b)


def _mm(a: Tensor, b: Tensor) -> Tensor:
    """Return `a @ b`, `[B, …]`, one trial after another; all trials may share `a`."""
    out = a.new_empty(len(b), a.shape[-2], b.shape[-1])
    for k in range(len(b)):
        pair = a[k % len(a)], b[k]
        # Libraries round differently if a matrix does not begin on a cache line.
        out[k] = torch.mm(*(m.clone() if m.data_ptr() % 64 else m for m in pair))
    return out


def per_trial(function: Callable[[Tensor], Tensor], x: Tensor, dims: int = 2) -> Tensor:
    """Return `function(x)`, computed for each trial separately.

    PyTorch computes exponentials in blocks, and the last few numbers of a tensor by another
    routine. The last digits may differ, so a batch must not decide which numbers are last.

    Args:
        function: A map such as `torch.sigmoid`, elementwise or along the last dimensions.
        x: `[…]` with `dims` dimensions, or `[B, …]` for a batch of trials.
        dims: Dimensions of one trial.
    """
    if x.dim() == dims or not x.is_cpu:
        return function(x)
    return torch.stack([function(trial) for trial in x.unbind()])


class Linear(nn.Module):
    """Compute `X W + b`, dense or sparse; `W` is `[F_in, F_out]`, `b` is `[1, F_out]` or absent."""

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(1, out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw `W` and `b` uniformly from ±1/√in_channels, as `torch.nn.Linear` does."""
        for parameter in self.parameters():
            uniform(parameter, self.weight.shape[-2])

    def forward(self, x: Tensor | SparseMatrix) -> Tensor:
        """Return `X W + b`, `[N, out_channels]`."""
        out = product(x, self.weight)
        return out if self.bias is None else out + self.bias


class Dropout(nn.Module):
    """Set each value to zero with probability `p` while training, and scale up the others.

    In a sparse matrix, only stored values are dropped. Outside the trainer, draws come from
    PyTorch's generator, as in `torch.nn.Dropout`. The trainer gives each trial a `key` and counts
    the draws. A trial then has the same draws in every batch, on a CPU and on a GPU.

    Args:
        p: The probability, from 0 to below 1.
        fixed: Whether the layer keeps `p` even if a setting has a dropout probability.

    Raises:
        UsageError: If `p` is out of range.
    """

    # Each buffer has one value per trial of a batch; the trainer sets `key` and `counter`.
    p: Tensor
    key: Tensor
    counter: Tensor

    def __init__(self, p: float = 0.5, fixed: bool = False):
        super().__init__()
        self.fixed_p = fixed
        value = torch.tensor(probability("dropout", p), dtype=torch.float64)
        for name, buffer in (("p", value), ("key", None), ("counter", None)):
            self.register_buffer(name, buffer, persistent=False)

    def forward(self, x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
        """Drop values of a matrix `[N, F]`, dense or sparse, with separate draws for each trial."""
        if not self.training:
            return x
        x = operand(x)
        value, dims = (x.value, 1) if isinstance(x, SparseMatrix) else (x, 2)
        if self.key is None:
            out = nn.functional.dropout(value, float(self.p))
        else:
            one, draw = self.p.dim() == 0, (self.p, self.key, self.counter)
            stacked = value.dim() > dims and not one
            # A second call in one forward pass uses the next draws of the stream.
            self.counter = self.counter + value.numel() // (len(value) if stacked else 1)
            out = _Dropout.apply(value if stacked else value[None], *(t.view(-1) for t in draw))
            out = out[0] if one else out
        return x.with_value(out) if isinstance(x, SparseMatrix) else out


class _Dropout(torch.autograd.Function):
    """Compute `x · keep / (1 − p)`; the gradient draws `keep` again instead of storing it."""

    @staticmethod
    def forward(ctx, x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
        ctx.save_for_backward(p, key, counter)
        return (kernels.dropout if kernels.supports(x) else _dropout)(x, p, key, counter)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return _Dropout.apply(grad, *ctx.saved_tensors), None, None, None


def _dropout(x: Tensor, p: Tensor, key: Tensor, counter: Tensor) -> Tensor:
    """Keep element `i` if the 32 random bits of `counter + i` are at least `p · 2³²`.

    The function is `acm.kernels.dropout` in PyTorch operations, with the same bits.
    """
    shape = (-1,) + (1,) * (x.dim() - 1)
    index = torch.arange(x[0].numel(), device=x.device).view(x.shape[1:])
    bits = squares(counter.view(shape) + index, key.view(shape))
    keep = bits >= (p * 2**32).round().long().view(shape)
    scale = (1 / (1 - p)).to(x.dtype).view(shape)
    return torch.where(keep, x * scale, 0)


def squares(counter: Tensor, key: Tensor) -> Tensor:
    """Return 32 random bits for each counter: Widynski's `squares32` in wrapping int64."""

    def swap(x: Tensor) -> Tensor:
        return (x << 32) | ((x >> 32) & 0xFFFFFFFF)

    y = counter * key
    z = y + key
    x = swap(y * y + y)
    x = swap(x * x + z)
    x = swap(x * x + y)
    return ((x * x + z) >> 32) & 0xFFFFFFFF


def is_stacked(module: nn.Module) -> bool:
    """Return whether the module has the weights of a batch of trials."""
    return any(m.p.dim() > 0 for m in module.modules() if isinstance(m, Dropout))


def inputs(model: nn.Module, x: Tensor | SparseMatrix, graph, in_channels: int):
    """Return the checked features and the graph; the model's `operator` converts edges."""
    (x,) = features((x,), in_channels, is_stacked(model))
    if not isinstance(graph, SparseMatrix | tuple):
        graph = moved(operator_of(model)(graph, x.shape[-2]), next(model.parameters()))
    return x, graph
