"""GraphSAGE with the mean of all neighbours, apart from the node or with it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from acm.errors import UsageError
from acm.filters import SparseMatrix, low_pass
from acm.nn.affine import Affine
from acm.nn.baselines.base import Baseline, glorot, proper_edges
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
    r"""GraphSAGE of Hamilton et al. (2017), `hamilton2017inductive`.

    With the mean aggregator (their Algorithm 1) the node has a weight of its own,

    .. math::
        h_i \leftarrow \mathrm{ReLU}([h_i \Vert \mathrm{mean}_{j \in N_i} h_j]\, W), \quad
        h_i \leftarrow h_i / \Vert h_i \Vert_2

    and a self-loop of the graph makes it a neighbour besides. In the convolutional variant (their
    Eq. 2, which they call GraphSAGE-GCN) it is one of those the mean is taken of:

    .. math::
        h_i \leftarrow \mathrm{ReLU}(\mathrm{mean}_{j \in N_i \cup \{i\}} h_j W + b)

    It has a bias and no norm here, as `SAGEConv` of PyTorch Geometric before version 1.6 had, which
    was this variant by default. The means are of all neighbours, not of a sample. The last layer
    gives the logits: it has neither ReLU nor norm. Dropout acts on the input of every layer but the
    first.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of a hidden layer.
        dropout: Probability that a value is dropped.
        layers: How many layers.
        aggregator: `"mean"`, or `"gcn"` for the convolutional variant.

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
        aggregator: str = "mean",
    ):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        if aggregator not in ("mean", "gcn"):
            raise UsageError(f"aggregator is {aggregator!r}: 'mean' or 'gcn' is needed")
        self.aggregator = aggregator
        layer = SAGEConv if aggregator == "mean" else Affine
        widths = [in_channels] + [hidden] * (layers - 1) + [out_channels]
        self.convs = nn.ModuleList(layer(i, o) for i, o in zip(widths, widths[1:]))
        # A single layer has the probability all the same, and no use for it.
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(max(1, layers - 1)))

    def operator(self, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
        r"""The mean over the neighbours, :math:`D^{-1} A`; with `"gcn"` also over the node."""
        if self.aggregator == "mean":
            return low_pass(edge_index, num_nodes, renormalize=False)
        return low_pass(proper_edges(edge_index, num_nodes), num_nodes)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.convs
        if self.aggregator == "gcn":  # a mean of `x W + b` is that of `x W`, plus `b`
            x = graph @ first(x)
            for dropout, conv in zip(self.dropouts, others):
                x = graph @ conv(dropout(torch.relu(x)))
            return x
        x = first(x, graph)
        for dropout, conv in zip(self.dropouts, others):
            x = conv(dropout(functional.normalize(torch.relu(x), dim=-1)), graph)
        return x
