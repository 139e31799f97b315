"""Define the paper's networks of ACM layers: MLP-1, SGC, GCN, Snowball and their ACM forms."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix
from acm.nn.acm_conv import ACMConv
from acm.nn.checks import CHANNELS, known_channels, random_walk
from acm.nn.stacked import Dropout


class Network(nn.Module):
    r"""Compute layers of `ACMConv`, with ReLU and dropout between two layers.

    .. math::
        H_\ell = \mathrm{Dropout}(\mathrm{ReLU}(\mathrm{ACM}(H_{\ell-1}))), \quad
        H_0 = X, \quad Y = \mathrm{ACM}(H_{n-1})

    The defaults make ACM-GCN. `acm.models` holds the arguments of other models. For example, GCN
    has only the low-pass channel and no ReLU within a layer. As in the authors' release, the mixed
    output is multiplied by the number of channels.

    Args:
        in_channels, out_channels: Number of features of a node, `F`, and of classes, `C`.
        hidden, layers: Width of a hidden layer, and `n`, the output layer included.
        dropout: Probability that a value of the input or of a hidden layer is dropped.
        channels, mix, variant, hops: As in `ACMConv`, for every layer.
        nonlinear: Whether step 1 applies the ReLU.
        input_dropout: Whether dropout acts on the input.
        snowball: Whether a layer receives :math:`[X, H_1, \dots]` instead of the last `H`.

    Raises:
        UsageError: If an argument is out of range or unknown.
    """

    stackable = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
        layers: int = 2,
        channels: Sequence[str] = CHANNELS,
        mix: bool = True,
        variant: str = "acm",
        nonlinear: bool = True,
        hops: int = 1,
        input_dropout: bool = True,
        snowball: bool = False,
    ):
        super().__init__()
        self.channels, self.mix, self.snowball = known_channels(channels), mix, snowball
        self.input_dropout = Dropout(dropout) if input_dropout else None
        # A network of one layer has a dropout too, so that every setting may set its probability.
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(max(1, layers - 1)))
        widths = [in_channels + k * hidden if snowball else hidden for k in range(layers)]
        ends = [hidden] * (layers - 1) + [out_channels]
        act, scale = torch.relu if nonlinear else None, len(self.channels) if mix else 1
        self.convs = nn.ModuleList(
            ACMConv(f_in, f_out, variant, self.channels, mix, scale=scale, act=act, hops=hops)
            for f_in, f_out in zip([in_channels, *widths[1:]], ends)
        )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for conv in self.convs:
            conv.reset_parameters()  # type: ignore[operator]

    operator = random_walk

    def forward(
        self,
        x: Tensor | SparseMatrix,
        edge_index: Tensor | SparseMatrix,
        edge_weight: Tensor | None = None,
        return_channel_weights: bool = False,
    ):
        """Return the logits of all nodes, `[N, C]`; arguments are as in `ACMConv.forward`.

        `return_channel_weights=True` also returns a list of `α`, `[N, channels]`, one per layer.
        """
        if self.input_dropout is not None:
            x = self.input_dropout(x)
        weights: list[Tensor] = []
        hidden: list[Tensor] = []
        for depth, conv in enumerate(self.convs):
            # The inputs of a snowball layer stay separate, so that sparse features stay sparse.
            inputs = (x, *hidden) if self.snowball else hidden[-1] if hidden else x
            out = conv(inputs, edge_index, edge_weight, return_channel_weights)
            if return_channel_weights:
                out, alpha = out
                weights.append(alpha)
            if depth < len(self.convs) - 1:
                hidden.append(self.dropouts[depth](torch.relu(out)))
        return (out, weights) if return_channel_weights else out
