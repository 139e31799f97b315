"""H2GCN: ego, neighbours and their neighbours kept apart."""

from __future__ import annotations

import torch
from scipy import sparse
from torch import Tensor

from acm.filters import SparseMatrix, low_pass
from acm.nn.baselines.base import Baseline, Linear, proper_edges
from acm.nn.dropout import Dropout


class H2GCN(Baseline):
    r"""H2GCN of Zhu et al. (2020), `zhu2020beyond`.

    .. math::
        r^{(0)} = \mathrm{ReLU}(X W_e), \quad
        r^{(k)} = [\hat A_1 r^{(k-1)} \Vert \hat A_2 r^{(k-1)}], \quad
        Y = [r^{(0)} \Vert \dots \Vert r^{(K)}]\, W_c

    :math:`\hat A_1` and :math:`\hat A_2` are :math:`D^{-1/2} A D^{-1/2}` of the nodes at distance
    1 and at distance exactly 2, without the node itself. Dropout acts before :math:`W_c`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of `r⁽⁰⁾`; that of all rounds together is `(2^{layers+1} − 1) hidden`.
        dropout: Probability that a value is dropped.
        layers: Rounds, `K`.

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
        self.layers = layers
        self.embed = Linear(in_channels, hidden)
        self.classify = Linear((2 ** (layers + 1) - 1) * hidden, out_channels)
        self.dropout = Dropout(dropout)

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, SparseMatrix]:
        r"""The normalised matrices of both neighbourhoods, :math:`(\hat A_1, \hat A_2)`."""
        near = proper_edges(edge_index, num_nodes)
        return tuple(
            low_pass(edges, num_nodes, norm="sym", renormalize=False)
            for edges in (near, two_hops(near, num_nodes))
        )

    def logits(self, x: Tensor | SparseMatrix, graph: tuple[SparseMatrix, SparseMatrix]) -> Tensor:
        rounds = [torch.relu(self.embed(x))]
        for _ in range(self.layers):
            rounds.append(torch.cat([a @ rounds[-1] for a in graph], -1))
        return self.classify(self.dropout(torch.cat(rounds, -1)))


def two_hops(edge_index: Tensor, num_nodes: int) -> Tensor:
    """The ordered pairs of nodes at distance exactly 2, `[2, E']`, of edges without loops."""
    source, target = edge_index.cpu().numpy()
    a = sparse.csr_array(
        (torch.ones(source.size, dtype=torch.bool).numpy(), (target, source)),
        shape=(num_nodes, num_nodes),
    )
    far = (a @ a).tocoo()
    keep = far.row != far.col
    far = sparse.csr_array((far.data[keep], (far.row[keep], far.col[keep])), far.shape)
    far = (far > a).tocoo()  # of two hops, and not of one
    pairs = torch.stack([torch.from_numpy(far.col), torch.from_numpy(far.row)])
    return pairs.long().to(edge_index.device)
