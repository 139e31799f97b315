"""Networks that treat the node and its neighborhoods separately: GraphSAGE, H2GCN and MixHop."""

from __future__ import annotations

import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from acm.baselines.base import Baseline, BatchNorm, Linear, dropouts, glorot, proper_edges
from acm.errors import UsageError
from acm.filters import SparseMatrix, low_pass
from acm.nn import stacked
from acm.nn.stacked import Dropout, product


class SAGEConv(nn.Module):
    r"""A layer of GraphSAGE: :math:`[h_i \Vert \mathrm{mean}_{j \in N_i} h_j]\, W`.

    Attributes:
        weight: `W`, `[2, in_channels, out_channels]`: for the node and for the mean.
    """

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, in_channels, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights as Glorot and Bengio do."""
        _, rows, columns = self.weight.shape
        glorot(self.weight, 2 * rows, columns)

    def forward(self, x: Tensor | SparseMatrix, mean: SparseMatrix) -> Tensor:
        """Return features `[N, out_channels]`; `mean` is :math:`D^{-1} A`."""
        w_node, w_mean = self.weight.unbind(-3)
        return product(x, w_node) + mean @ product(x, w_mean)


class GraphSAGE(Baseline):
    r"""GraphSAGE of Hamilton et al. (2017), `hamilton2017inductive`.

    The mean aggregator (their Algorithm 1) has separate weights for the node and the mean:

    .. math::
        h_i \leftarrow \mathrm{ReLU}([h_i \Vert \mathrm{mean}_{j \in N_i} h_j]\, W), \quad
        h_i \leftarrow h_i / \Vert h_i \Vert_2

    A raw self-loop makes the node its own neighbor. The convolutional variant (their Eq. 2,
    GraphSAGE-GCN) takes the mean over the neighbors and the node:

    .. math::
        h_i \leftarrow \mathrm{ReLU}(\mathrm{mean}_{j \in N_i \cup \{i\}} h_j W + b)

    The variant has a bias and no norm, as the default `SAGEConv` of PyTorch Geometric before
    version 1.6. Means are over all neighbors, not over a sample. The last layer has neither ReLU
    nor norm. Dropout acts on the input of every layer except the first.

    Args:
        layers: Number of layers.
        aggregator: `"mean"`, or `"gcn"` for the convolutional variant.
    """

    def __init__(
        self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, aggregator="mean"
    ):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        if aggregator not in ("mean", "gcn"):
            raise UsageError(f"aggregator is {aggregator!r}: 'mean' or 'gcn' is needed")
        self.aggregator = aggregator
        layer = SAGEConv if aggregator == "mean" else stacked.Linear
        widths = [in_channels] + [hidden] * (layers - 1) + [out_channels]
        self.convs = nn.ModuleList(layer(i, o) for i, o in zip(widths, widths[1:]))
        self.dropouts = dropouts(dropout, layers - 1)

    def operator(self, edge_index: Tensor, num_nodes: int) -> SparseMatrix:
        r"""Return the mean over the neighbors, :math:`D^{-1} A`; `"gcn"` includes the node."""
        if self.aggregator == "mean":
            return low_pass(edge_index, num_nodes, renormalize=False)
        return low_pass(proper_edges(edge_index, num_nodes), num_nodes)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.convs
        if self.aggregator == "gcn":  # the mean of `x W + b` is the mean of `x W`, plus `b`
            x = graph @ first(x)
            for dropout, conv in zip(self.dropouts, others):
                x = graph @ conv(dropout(torch.relu(x)))
            return x
        x = first(x, graph)
        for dropout, conv in zip(self.dropouts, others):
            x = conv(dropout(functional.normalize(torch.relu(x), dim=-1)), graph)
        return x


class H2GCN(Baseline):
    r"""H2GCN of Zhu et al. (2020), `zhu2020beyond`.

    .. math::
        r^{(0)} = \mathrm{ReLU}(X W_e + b_e), \quad
        r^{(k)} = \mathrm{BN}([\hat A_1 r^{(k-1)} \Vert \hat A_2 r^{(k-1)}]), \quad
        Y = [r^{(0)} \Vert \dots \Vert r^{(K)}]\, W_c + b_c

    :math:`\hat A_1` and :math:`\hat A_2` are :math:`D^{-1/2} A D^{-1/2}` of the nodes at distance
    1 and at distance exactly 2, without the node itself. The network is that of Lim et al. (2021),
    `lim2021new`, whose search has the paper's ranges. Dropout acts on the input of each round and
    on the output of the last. All rounds except the last are normalized. Zhu et al. have one
    dropout, before :math:`W_c`, and no normalization.

    Args:
        hidden: Width of `r⁽⁰⁾`; all rounds together have `(2^{layers+1} − 1) hidden`.
        layers: Rounds, `K`.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        widths = [2**k * hidden for k in range(layers + 1)]
        self.embed = stacked.Linear(in_channels, hidden)
        self.norms = nn.ModuleList(BatchNorm(width) for width in widths[1:-1])
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in widths)
        self.classify = stacked.Linear(sum(widths), out_channels)
        self.stackable = not self.norms

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, SparseMatrix]:
        r"""Return the normalized matrices of both neighborhoods, :math:`(\hat A_1, \hat A_2)`."""
        near = proper_edges(edge_index, num_nodes)
        return tuple(
            low_pass(edges, num_nodes, norm="sym", renormalize=False)
            for edges in (near, two_hops(near, num_nodes))
        )

    def logits(self, x: Tensor | SparseMatrix, graph: tuple[SparseMatrix, SparseMatrix]) -> Tensor:
        rounds = [torch.relu(self.embed(x))]
        for norm, dropout in zip([*self.norms, self.dropouts[-1]], self.dropouts):
            start = dropout(rounds[-1])
            rounds.append(norm(torch.cat([a @ start for a in graph], -1)))
        return self.classify(torch.cat(rounds, -1))


def two_hops(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return the ordered pairs of nodes at distance exactly 2, `[2, E']`.

    Args:
        edge_index: Edges without self-loops, `[2, E]`.
        num_nodes: `N`.
    """
    source, target = edge_index.cpu().numpy()
    a = sparse.csr_array(
        (torch.ones(source.size, dtype=torch.bool).numpy(), (target, source)),
        shape=(num_nodes, num_nodes),
    )
    far = (a @ a).tocoo()
    proper = far.row != far.col
    far = sparse.csr_array((far.data[proper], (far.row[proper], far.col[proper])), far.shape)
    far = (far > a).tocoo()  # in two hops, and not in one
    pairs = torch.stack([torch.from_numpy(far.col), torch.from_numpy(far.row)])
    return pairs.long().to(edge_index.device)


#: The powers 0, 1 and 2 of every layer of MixHop.
POWERS = 3


class MixHop(Baseline):
    r"""MixHop of Abu-El-Haija et al. (2019), `abu2019mixhop`, with the powers 0, 1 and 2.

    .. math::
        Z^{(l)} = \Vert_{j=0}^{2} \hat A_{sym}^j H^{(l-1)} W_j^{(l)}, \quad
        H^{(l)} = \mathrm{ReLU}(\mathrm{BN}(Z^{(l)})), \quad
        Y = Z^{(L)} W

    A difference of powers is a high-pass filter. The network is that of Lim et al. (2021),
    `lim2021new`, without biases. It has batch normalization between layers and a linear map at the
    end; dropout acts on `H`. The equations of Abu-El-Haija et al. have no normalization and the
    output :math:`\sum_j \mathrm{softmax}(q)_j\, \hat A_{sym}^j H^{(L-1)} W_j^{(L)}`.

    Args:
        hidden: Width for each power; a hidden layer is three times as wide.
        layers: Number of layers, `L`.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        between = [POWERS * hidden] * (layers - 1)
        starts, ends = [in_channels, *between], [*between, POWERS * out_channels]
        self.linears = nn.ModuleList(Linear(i, o, POWERS) for i, o in zip(starts, ends))
        self.norms = nn.ModuleList(BatchNorm(width) for width in between)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in between)
        self.output = Linear(POWERS * out_channels, out_channels)
        self.stackable = not self.norms

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.linears
        z = _powers(graph, first(x))
        for norm, dropout, linear in zip(self.norms, self.dropouts, others):
            z = _powers(graph, linear(dropout(torch.relu(norm(z)))))
        return self.output(z)


def _powers(a: SparseMatrix, h: Tensor) -> Tensor:
    """Return `[h_0 ‖ A h_1 ‖ A² h_2]` for `h = [h_0 ‖ h_1 ‖ h_2]`, with two products."""
    width = h.shape[-1] // POWERS
    once = a @ h[..., width:]
    twice = a @ once[..., width:]
    return torch.cat([h[..., :width], once[..., :width], twice], -1)
