"""The paper's networks of ACM layers: MLP, SGC, GCN, and the ACM and ACMII forms.

Every row is a filter-and-mix network; what differs is which channels there are, whether they are
mixed, where the nonlinearity stands, and what a layer sees. `ARCHITECTURES` says it row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix
from acm.nn.acm_conv import ACMConv
from acm.nn.checks import CHANNELS, random_walk
from acm.nn.stacked import Dropout


@dataclass(frozen=True)
class Architecture:
    """What makes a row of the paper's tables a network.

    Attributes:
        layers: How many, that of the output among them; between them stand ReLU and dropout.
        channels: The channels of every layer.
        mix: Whether nodes weigh the channels (step 2 of section 4.3).
        variant: `"acm"` or `"acmii"`.
        nonlinear: Whether step 1 has its ReLU.
        hops: The power of the low-pass filter.
        input_dropout: Whether dropout acts on the network's input.
        snowball: Whether every layer sees the input and all layers before, side by side.
        equation: What the row computes, before the softmax.
    """

    layers: int
    channels: tuple[str, ...]
    mix: bool
    equation: str
    variant: str = "acm"
    nonlinear: bool = False
    hops: int = 1
    input_dropout: bool = False
    snowball: bool = False


_MLP1 = Architecture(1, ("identity",), mix=False, equation="X W")
_SGC1 = Architecture(1, ("low",), mix=False, equation="Â X W")
_ACM_SGC1 = Architecture(
    1, CHANNELS, mix=True, input_dropout=True, equation="Mix(Â X W_L, (I−Â) X W_H, X W_I)"
)
_ACM_GCN = Architecture(
    2, CHANNELS, mix=True, nonlinear=True, input_dropout=True, equation="ACM(ReLU(ACM(X)))"
)
# n counts the layers as in Snowball-n (`acm.baselines.Snowball`); the ReLU is that of ACM-GCN.
_ACM_SNOWBALL = replace(
    _ACM_GCN,
    layers=2,
    snowball=True,
    equation="H_l = ReLU(ACM([X, H_1, …, H_{l−1}])), Y = ACM([X, H_1, …, H_{n−1}])",
)
_ACMII_SNOWBALL = replace(
    _ACM_SNOWBALL, variant="acmii", equation=_ACM_SNOWBALL.equation.replace("ACM", "ACMII")
)

ARCHITECTURES: dict[str, Architecture] = {
    "MLP-1": _MLP1,
    "SGC-1": _SGC1,
    "SGC-2": replace(_SGC1, hops=2, equation="Â² X W"),
    "GCN": replace(_SGC1, layers=2, equation="Â ReLU(Â X W_0) W_1"),
    "ACM-SGC-1": _ACM_SGC1,
    # The paper does not say what the high-pass filter of two hops is; I − Â² keeps
    # H_LP + H_HP = I (section 4.2). The release has I − Â beside Â², which does not.
    "ACM-SGC-2": replace(_ACM_SGC1, hops=2, equation="Mix(Â² X W_L, (I−Â²) X W_H, X W_I)"),
    "ACM-GCN": _ACM_GCN,
    "ACMII-GCN": replace(_ACM_GCN, variant="acmii", equation="ACMII(ReLU(ACMII(X)))"),
    "ACM-Snowball-2": _ACM_SNOWBALL,
    "ACM-Snowball-3": replace(_ACM_SNOWBALL, layers=3),
    "ACMII-Snowball-2": _ACMII_SNOWBALL,
    "ACMII-Snowball-3": replace(_ACMII_SNOWBALL, layers=3),
}


class Network(nn.Module):
    """One of the paper's models, for one graph and one set of weights.

    The release's details (FIDELITY: initial values, mixed output times the number of channels, a
    ReLU and dropout between the layers) are on; `ACMConv` alone has the paper's equation.

    Args:
        architecture: The row, see `ARCHITECTURES`.
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of a hidden layer.
        dropout: Probability that a value is dropped, on hidden layers and, for the ACM forms, on
            the input.
    """

    def __init__(
        self,
        architecture: Architecture,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
    ):
        super().__init__()
        self.architecture, self.mix = architecture, architecture.mix
        self.input_dropout = Dropout(dropout) if architecture.input_dropout else None
        more = architecture.layers - 1
        # One without a hidden layer has the probability all the same, and no use for it.
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(max(1, more)))
        seen = [in_channels + k * hidden if architecture.snowball else hidden for k in range(more)]
        wide = in_channels + more * hidden if architecture.snowball else hidden
        widths = [(f_in, hidden) for f_in in [in_channels, *seen[1:]][:more]]
        widths.append((wide if more else in_channels, out_channels))
        self.convs = nn.ModuleList(
            ACMConv(
                f_in,
                f_out,
                architecture.variant,
                architecture.channels,
                architecture.mix,
                scale=len(architecture.channels) if architecture.mix else 1,
                act=torch.relu if architecture.nonlinear else None,
                hops=architecture.hops,
            )
            for f_in, f_out in widths
        )
        self.channels = self.convs[0].channels

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for conv in self.convs:
            conv.reset_parameters()

    operator = random_walk

    def forward(
        self,
        x: Tensor | SparseMatrix,
        edge_index: Tensor | SparseMatrix,
        edge_weight: Tensor | None = None,
        return_channel_weights: bool = False,
    ):
        """The logits of all nodes, `[N, C]`.

        With `return_channel_weights=True` also each layer's `α`, `[N, channels]`, in a list.
        Other arguments are those of `ACMConv`.
        """
        if self.input_dropout is not None:
            x = self.input_dropout(x)
        weights, hidden = [], []
        for depth, conv in enumerate(self.convs):
            # An unchanging X stays sparse, and is not copied beside what is added to it.
            seen = (x, *hidden) if self.architecture.snowball else hidden[-1] if hidden else x
            out = conv(seen, edge_index, edge_weight, return_channel_weights)
            if return_channel_weights:
                out, alpha = out
                weights.append(alpha)
            if depth < len(self.convs) - 1:
                hidden.append(self.dropouts[depth](torch.relu(out)))
        return (out, weights) if return_channel_weights else out
