"""A function of single numbers, to the bit the same in every batch of trials."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


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
