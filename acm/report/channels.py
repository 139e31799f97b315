"""What a model's channel weights say, in words."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from acm.errors import UsageError
from acm.nn import CHANNELS

#: Bands whose weights vary less than this from node to node (standard deviation) look level.
LEVEL = 0.005


def channel_sentence(weights: Sequence[Tensor], channels: Sequence[str] = CHANNELS) -> str:
    """For each layer the mean weight of every channel, and whether nodes are treated alike.

    Args:
        weights: `α` of each layer, `[N, len(channels)]`, whose rows sum to one.
        channels: What the columns of `weights` stand for.

    Raises:
        UsageError: If there is no layer or no node, or a shape does not fit.
    """
    shapes = [tuple(w.shape) for w in weights]
    if not shapes or any(len(s) != 2 or not s[0] or s[1] != len(channels) for s in shapes):
        raise UsageError(
            f"channel weights of shapes {shapes}: one (nodes, {len(channels)}) a layer is needed"
        )
    said = []
    for layer, alpha in enumerate(weights, start=1):
        alpha = alpha.detach().double()
        means = [f"{name} {100 * m:.0f} %" for name, m in zip(channels, alpha.mean(0).tolist())]
        spread = alpha.std(0, correction=0).max().item()
        said.append(
            f"Layer {layer} weighs {', '.join(means)} on average, with a standard deviation over"
            f" the nodes of at most {100 * spread:.1f} points: "
            + ("its bands are level." if spread < LEVEL else "its bands are not level.")
        )
    return " ".join(said)
