"""H2GCN: ego, neighbours and their neighbours kept apart."""

from __future__ import annotations

import torch
from scipy import sparse
from torch import Tensor, nn

from acm.filters import SparseMatrix, low_pass
from acm.nn.affine import Affine
from acm.nn.baselines.base import Baseline, BatchNorm, proper_edges
from acm.nn.dropout import Dropout


class H2GCN(Baseline):
    r"""H2GCN of Zhu et al. (2020), `zhu2020beyond`.

    .. math::
        r^{(0)} = \mathrm{ReLU}(X W_e + b_e), \quad
        r^{(k)} = \mathrm{BN}([\hat A_1 r^{(k-1)} \Vert \hat A_2 r^{(k-1)}]), \quad
        Y = [r^{(0)} \Vert \dots \Vert r^{(K)}]\, W_c + b_c

    :math:`\hat A_1` and :math:`\hat A_2` are :math:`D^{-1/2} A D^{-1/2}` of the nodes at distance
    1 and at distance exactly 2, without the node itself. This is the network as Lim et al. (2021),
    `lim2021new`, implement it, from whose search the paper's ranges are: dropout acts on what a
    round starts from and on what the last one gives, and all rounds but the last are normalised.
    Its own paper has one dropout, before :math:`W_c`, and no normalisation. With a single round the
    two differ in dropout only.

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
        widths = [2**k * hidden for k in range(layers + 1)]
        self.embed = Affine(in_channels, hidden)
        self.norms = nn.ModuleList(BatchNorm(width) for width in widths[1:-1])
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in widths)
        self.classify = Affine(sum(widths), out_channels)

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, SparseMatrix]:
        r"""The normalised matrices of both neighbourhoods, :math:`(\hat A_1, \hat A_2)`."""
        near = proper_edges(edge_index, num_nodes)
        return tuple(
            low_pass(edges, num_nodes, norm="sym", renormalize=False)
            for edges in (near, two_hops(near, num_nodes))
        )

    def logits(self, x: Tensor | SparseMatrix, graph: tuple[SparseMatrix, SparseMatrix]) -> Tensor:
        rounds = [torch.relu(self.embed(x))]
        for depth, dropout in enumerate(self.dropouts[:-1]):
            start = dropout(rounds[-1])
            found = torch.cat([a @ start for a in graph], -1)
            last = depth == len(self.norms)
            rounds.append(self.dropouts[-1](found) if last else self.norms[depth](found))
        return self.classify(torch.cat(rounds, -1))


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
