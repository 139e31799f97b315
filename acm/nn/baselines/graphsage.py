"""GraphSAGE with the mean of all neighbours."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.filters import SparseMatrix, low_pass
from acm.nn.baselines.base import Baseline, glorot
from acm.nn.dropout import Dropout
from acm.nn.product import product


class SAGEConv(nn.Module):
    r"""A GraphSAGE layer: :math:`[h_i \Vert \mathrm{mean}_{j \in N_i} h_j]\, W`.

    Args:
        in_channels, out_channels: Features of a node, before and after.

    Attributes:
        weight: `W`, `[2, in_channels, out_channels]`: for the node and for the mean.
    """

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, in_channels, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights after Glorot and Bengio."""
        _, rows, columns = self.weight.shape
        glorot(self.weight, 2 * rows, columns)

    def forward(self, x: Tensor | SparseMatrix, mean: SparseMatrix) -> Tensor:
        """Features `[N, out_channels]`; `mean` is :math:`D^{-1} A`."""
        own, others = self.weight.unbind(-3)
        return product(x, own) + mean @ product(x, others)


class GraphSAGE(Baseline):
    r"""GraphSAGE of Hamilton et al. (2017), `hamilton2017inductive`, mean aggregator.

    .. math::
        h_i \leftarrow \mathrm{ReLU}([h_i \Vert \mathrm{mean}_{j \in N_i} h_j]\, W), \quad
        h_i \leftarrow h_i / \Vert h_i \Vert_2

    The means are of all neighbours, not of a sample, and self-loops of the graph count. The last
    layer gives the logits: it has neither ReLU nor norm. Dropout acts on the input of every layer
    but the first.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of a hidden layer.
        dropout: Probability that a value is dropped.
        layers: How many layers.

    Raises:
        UsageError: If an argument is out of range.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
        layers: int = 2,
    ):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        widths = [in_channels] + [hidden] * (layers - 1) + [out_channels]
        self.convs = nn.ModuleList(SAGEConv(i, o) for i, o in zip(widths, widths[1:]))
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in self.convs[1:])

    def operator(self, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
        """The mean over the neighbours, :math:`D^{-1} A`."""
        return low_pass(edge_index, num_nodes, renormalize=False)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        x = self.convs[0](x, graph)
        for dropout, conv in zip(self.dropouts, self.convs[1:]):
            x = conv(dropout(functional.normalize(torch.relu(x), dim=-1)), graph)
        return x
