"""GraphSAGE with the mean of all neighbours, apart from the node or with it."""

from __future__ import annotations

import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from acm.baselines.base import Baseline, BatchNorm, Linear, glorot, proper_edges
from acm.errors import UsageError
from acm.filters import SparseMatrix, low_pass
from acm.nn.stacked import Affine, Dropout, product


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


#: The powers of every layer.
POWERS = 3


class MixHop(Baseline):
    r"""MixHop of Abu-El-Haija et al. (2019), `abu2019mixhop`, with the powers 0, 1 and 2.

    .. math::
        Z^{(l)} = \Vert_{j=0}^{2} \hat A_{sym}^j H^{(l-1)} W_j^{(l)}, \quad
        H^{(l)} = \mathrm{ReLU}(\mathrm{BN}(Z^{(l)})), \quad
        Y = Z^{(L)} W

    Differences of powers are within its reach, and so are high frequencies. This is the network as
    Lim et al. (2021), `lim2021new`, implement it, but without biases: batch normalisation between
    layers, dropout on `H` and none on `X`, and a linear map at the end, where the equations of its
    own paper have no normalisation and the output
    :math:`\sum_j \mathrm{softmax}(q)_j\, \hat A_{sym}^j H^{(L-1)} W_j^{(L)}`.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width for each power; a hidden layer has three times as much.
        dropout: Probability that a value is dropped.
        layers: How many layers, `L`.

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
        between = [POWERS * hidden] * (layers - 1)
        starts, ends = [in_channels, *between], [*between, POWERS * out_channels]
        self.linears = nn.ModuleList(Linear(i, o, POWERS) for i, o in zip(starts, ends))
        self.norms = nn.ModuleList(BatchNorm(width) for width in between)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in between)
        self.output = Linear(POWERS * out_channels, out_channels)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.linears
        z = _powers(graph, first(x))
        for norm, dropout, linear in zip(self.norms, self.dropouts, others):
            z = _powers(graph, linear(dropout(torch.relu(norm(z)))))
        return self.output(z)


def _powers(a: SparseMatrix, h: Tensor) -> Tensor:
    """`[h_0 ‖ A h_1 ‖ A² h_2]` of `[h_0 ‖ h_1 ‖ h_2]`, with two products."""
    width = h.shape[-1] // POWERS
    once = a @ h[..., width:]
    twice = a @ once[..., width:]
    return torch.cat([h[..., :width], once[..., :width], twice], -1)
