"""Define ACM-GCN+ and ACM-GCN++ of the authors' later paper (Luan et al., 2022)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix, adjacency, low_pass
from acm.nn.checks import CHANNELS, sizes, uniform
from acm.nn.mixing import extract, mix, weigh
from acm.nn.stacked import Dropout, inputs, product


class StructureConv(nn.Module):
    r"""Compute an ACM layer with a fourth channel, whose input is the adjacency matrix `A`.

    .. math::
        H_A = \mathrm{ReLU}(A W_A), \qquad
        \tilde\alpha_c = \sigma(\mathrm{LN}(H_c) \tilde W_c), \quad c \in \{L, H, I, A\}, \qquad
        H = \sum_c \mathrm{diag}(\alpha_c) H_c

    The other steps are as in `ACMConv`, option 1, with :math:`T = 4`. The mixed output has the
    factor 1, as in the authors' release. Release layers with three channels have the factor 3. The
    layer norm LN has no gain and no bias, since :math:`\tilde W_c` can include the gain.

    In the release, the structure channel is off by default (`structure_info=0`). The release's
    layer needs the name `acmgcn+` for its layer norm, but the network passes `acmgcnp`.
    """

    def __init__(self, in_channels: int, out_channels: int, num_nodes: int):
        super().__init__()
        self.out_channels = out_channels
        self.weight = nn.Parameter(torch.empty(in_channels, 3, out_channels))  # W_L, W_H, W_I
        self.weight_structure = nn.Parameter(torch.empty(num_nodes, out_channels))  # W_A
        self.weight_tilde = nn.Parameter(torch.empty(4, out_channels))
        self.weight_mix = nn.Parameter(torch.empty(4, 4))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights as `ACMConv` does."""
        uniform(self.weight, self.out_channels)
        uniform(self.weight_structure, self.out_channels)
        uniform(self.weight_tilde, 1)
        uniform(self.weight_mix, 4)

    def forward(self, x: Tensor | SparseMatrix, low: SparseMatrix, a: SparseMatrix):
        """Return the mixed features, `[N, out_channels]`, and `α`, `[N, 4]`; `low` is `H_LP`."""
        h = product(x, self.weight.flatten(-2)).unflatten(-1, (3, self.out_channels))
        h = extract(h, low, CHANNELS)
        h = torch.relu(torch.cat([h, (a @ self.weight_structure).unsqueeze(-2)], -2))
        normed = nn.functional.layer_norm(h, h.shape[-1:])
        alpha = weigh(normed, self.weight_tilde, self.weight_mix, temperature=4)
        return mix(h, alpha), alpha


class ACMPlus(nn.Module):
    r"""Compute ACM-GCN+ (Luan et al., 2022) or, with a residual, ACM-GCN++.

    .. math::
        Y = \mathrm{ACM}^+(\mathrm{ReLU}(\mathrm{ACM}^+(X)) + R), \qquad
        R = \mathrm{ReLU}(X W_R) \text{ in ACM-GCN++, else } 0

    The layers are `StructureConv`. Dropout acts on the input, on the hidden layer and on `R`.
    The release adds a bias to :math:`X W_R`; this class does not.

    Args:
        in_channels, out_channels: Number of features of a node, `F`, and of classes, `C`.
        hidden, dropout: Width of the hidden layer, and probability that a value is dropped.
        num_nodes: Number of nodes, `N`; :math:`W_A` has one row per node.
        residual: Whether the network is ACM-GCN++.

    Raises:
        UsageError: If a number is out of range.
    """

    stackable = True
    #: The channels in the order of the columns of `α`; nodes always mix the channels.
    channels, mix = (*CHANNELS, "structure"), True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
        num_nodes: int = 1,
        residual: bool = False,
    ):
        super().__init__()
        sizes(in_channels=in_channels, out_channels=out_channels, hidden=hidden)
        self.in_channels = in_channels
        self.residual = nn.Parameter(torch.empty(in_channels, hidden)) if residual else None
        self.first = StructureConv(in_channels, hidden, num_nodes)
        self.second = StructureConv(hidden, out_channels, num_nodes)
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)
        if residual:
            self.residual_dropout = Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights uniformly from ±1/√F_out."""
        self.first.reset_parameters()
        self.second.reset_parameters()
        if self.residual is not None:
            uniform(self.residual, self.residual.shape[-1])

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, SparseMatrix]:
        r"""Return the low-pass filter :math:`\hat A_{rw}` and the adjacency `A`."""
        return low_pass(edge_index, num_nodes), adjacency(edge_index, num_nodes)

    def forward(self, x: Tensor | SparseMatrix, graph, return_channel_weights: bool = False):
        """Return the logits of all nodes, `[N, C]`; `graph` is from `operator`, or edges.

        `return_channel_weights=True` also returns a list of `α`, `[N, 4]`, one per layer.
        """
        x, graph = inputs(self, x, graph, self.in_channels)
        x = self.input_dropout(x)
        h, first = self.first(x, *graph)
        h = self.dropout(torch.relu(h))
        if self.residual is not None:
            h = h + self.residual_dropout(torch.relu(product(x, self.residual)))
        out, second = self.second(h, *graph)
        return (out, [first, second]) if return_channel_weights else out
