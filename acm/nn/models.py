"""The models of the paper: one or two layers of channels, by the names its tables print.

Every row is a filter-and-mix network; what differs is which channels there are, whether they are
mixed, and where the nonlinearity stands. `MODELS` says it row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from acm.errors import unknown
from acm.filters import SparseMatrix
from acm.nn.acm_conv import CHANNELS, ACMConv
from acm.nn.dropout import Dropout


@dataclass(frozen=True)
class Architecture:
    """What makes a row of the paper's tables a network.

    Attributes:
        layers: 1 (`Y = conv(X)`) or 2 (`Y = conv(dropout(ReLU(conv(X))))`).
        channels: The channels of every layer.
        mix: Whether nodes weigh the channels (step 2 of section 4.3).
        variant: `"acm"` or `"acmii"`.
        nonlinear: Whether step 1 has its ReLU.
        hops: The power of the low-pass filter.
        input_dropout: Whether dropout acts on the network's input.
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


_MLP1 = Architecture(1, ("identity",), mix=False, equation="X W")
_SGC1 = Architecture(1, ("low",), mix=False, equation="Â X W")
_ACM_SGC1 = Architecture(
    1, CHANNELS, mix=True, input_dropout=True, equation="Mix(Â X W_L, (I−Â) X W_H, X W_I)"
)
_ACM_GCN = Architecture(
    2, CHANNELS, mix=True, nonlinear=True, input_dropout=True, equation="ACM(ReLU(ACM(X)))"
)

MODELS: dict[str, Architecture] = {
    "MLP-1": _MLP1,
    "MLP-2": replace(_MLP1, layers=2, equation="ReLU(X W_0) W_1"),
    "SGC-1": _SGC1,
    "SGC-2": replace(_SGC1, hops=2, equation="Â² X W"),
    "GCN": replace(_SGC1, layers=2, equation="Â ReLU(Â X W_0) W_1"),
    "ACM-SGC-1": _ACM_SGC1,
    # The paper does not say what the high-pass filter of two hops is; I − Â² keeps
    # H_LP + H_HP = I (section 4.2).
    "ACM-SGC-2": replace(_ACM_SGC1, hops=2, equation="Mix(Â² X W_L, (I−Â²) X W_H, X W_I)"),
    "ACM-GCN": _ACM_GCN,
    "ACMII-GCN": replace(_ACM_GCN, variant="acmii", equation="ACMII(ReLU(ACMII(X)))"),
}


class Network(nn.Module):
    """One of the paper's models, for one graph and one set of weights.

    The release's details (FIDELITY: initial values, mixed output times the number of channels, a
    ReLU and dropout between the layers) are on; `ACMConv` alone has the paper's equation.

    Args:
        architecture: The row, see `MODELS`.
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of the hidden layer.
        dropout: Probability that a value is dropped, on the hidden layer and, for the ACM forms,
            on the input.
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
        self.architecture = architecture
        self.input_dropout = Dropout(dropout) if architecture.input_dropout else None
        self.dropout = Dropout(dropout)
        widths = (
            [in_channels, out_channels]
            if architecture.layers == 1
            else [in_channels, hidden, out_channels]
        )
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
            for f_in, f_out in zip(widths, widths[1:])
        )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for conv in self.convs:
            conv.reset_parameters()

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
        weights = []
        for depth, conv in enumerate(self.convs):
            if depth:
                x = self.dropout(torch.relu(x))
            x = conv(x, edge_index, edge_weight, return_channel_weights)
            if return_channel_weights:
                x, alpha = x
                weights.append(alpha)
        return (x, weights) if return_channel_weights else x


def model_name(name: str) -> str:
    """The name as the paper prints it, whatever the case; a near miss is told what is near.

    Raises:
        UsageError: If there is no such model; the line names those there are.
    """
    known = {model.lower(): model for model in MODELS}
    if str(name).lower() not in known:
        raise unknown("model", name, MODELS)
    return known[str(name).lower()]


def build(
    name: str,
    in_channels: int,
    out_channels: int,
    hidden: int = 64,
    dropout: float = 0.5,
    channels: Sequence[str] | None = None,
    mix: bool | None = None,
) -> Network:
    """The model of a row of the paper's tables.

    Args:
        name: The row's name, such as `"ACM-GCN"`, in any case.
        in_channels, out_channels, hidden, dropout: As in `Network`.
        channels: Other channels than the row's (the ablation of Table 2).
        mix: Whether to mix them, where it is not as in the row.

    Raises:
        UsageError: If there is no such model, or an argument is out of range.
    """
    architecture = MODELS[model_name(name)]
    if channels is not None:
        architecture = replace(architecture, channels=tuple(channels))
    if mix is not None:
        architecture = replace(architecture, mix=mix)
    return Network(architecture, in_channels, out_channels, hidden, dropout)
