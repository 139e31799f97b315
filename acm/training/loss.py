"""Cross-entropy of many trials at once."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from acm import kernels


@torch.no_grad()
def cross_entropy(logits: Tensor, y: Tensor, share: Tensor, gradient: bool = False):
    r"""`L = −Σ_v s_v log softmax(logits_v)[y_v]` of every trial, and what it predicts (section 2).

    Args:
        logits: `[B, N, C]`.
        y: Classes, `[B, N]`; of no account where a node counts nothing.
        share: What each node counts, `[B, N]`: for a mean, one over the number of nodes.
        gradient: Whether `dL/dlogits` is asked for.

    Returns:
        The loss, `[B]`, the most likely class of each node, `[B, N]`, and the gradient,
        `[B, N, C]`, or `None`.
    """
    if kernels.fit(logits, share):
        return kernels.cross_entropy(logits, y, share, gradient)
    log_p = functional.log_softmax(logits, dim=2)
    loss = -(log_p.gather(2, y[:, :, None]).squeeze(2) * share).sum(1)
    grad = None
    if gradient:
        grad = log_p.exp_().mul_(share[:, :, None])
        grad.scatter_add_(2, y[:, :, None], -share[:, :, None])
    return loss, logits.argmax(2), grad
