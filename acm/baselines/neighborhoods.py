"""Define GraphSAGE, H2GCN, MixHop, and GCN and GAT with jumping knowledge.

These networks keep the features of nodes, neighborhoods or layers separate for longer than GCN.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from acm.baselines.attention import GATConv
from acm.baselines.base import Baseline, BatchNorm, Linear, dropouts, glorot, proper_edges
from acm.errors import UsageError
from acm.filters import SparseMatrix, low_pass
from acm.nn import stacked
from acm.nn.checks import random_walk
from acm.nn.stacked import product


class SAGEConv(nn.Module):
    """A layer of GraphSAGE: `[h_i ∥ mean_{j∈N(i)} h_j] W`.

    `W`, `[2, in_channels, out_channels]`, has a matrix for the node and one for the mean.
    """

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, in_channels, out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights with Glorot initialization."""
        _, rows, columns = self.weight.shape
        glorot(self.weight, 2 * rows, columns)

    def forward(self, x: Tensor | SparseMatrix, mean: SparseMatrix) -> Tensor:
        """Return features `[N, out_channels]`; `mean` is `D⁻¹ A`."""
        w_node, w_mean = self.weight.unbind(-3)
        return product(x, w_node) + mean @ product(x, w_mean)


class GraphSAGE(Baseline):
    """GraphSAGE of Hamilton et al. (2017), with means over all neighbors instead of a sample.

    The aggregator "mean" (their Algorithm 1) has separate weights for the node and the mean:
    `h_i ← ReLU([h_i ∥ mean_{j∈N(i)} h_j] W)`, then `h_i ← h_i / ‖h_i‖`. A self-loop of the
    data makes the node its own neighbor. The aggregator "gcn" (their Eq. 2) takes the mean over the
    neighbors and the node, `h_i ← ReLU(mean h_j W + b)`. This aggregator has a bias and does not
    divide by the norm, as `SAGEConv` of PyTorch Geometric by default before version 1.6.

    The last layer does not apply ReLU or divide by the norm. Dropout acts on the input of every
    layer except the first.
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
        """Return the mean over the neighbors, `D⁻¹ A`; with "gcn" the mean includes the node."""
        if self.aggregator == "mean":
            return low_pass(edge_index, num_nodes, renormalize=False)
        return low_pass(proper_edges(edge_index, num_nodes), num_nodes)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        mean = self.aggregator == "mean"
        for depth, conv in enumerate(self.convs):
            if depth:
                x = functional.normalize(torch.relu(x), dim=-1) if mean else torch.relu(x)
                x = self.dropouts[depth - 1](x)
            # For "gcn" the bias can come before the mean, since the mean of `b` is `b`.
            x = conv(x, graph) if mean else graph @ conv(x)
        return x


class H2GCN(Baseline):
    """H2GCN of Zhu et al. (2020).

    `r_0 = ReLU(X W_e + b_e)`, `r_k = BN([Â_1 r_{k−1} ∥ Â_2 r_{k−1}])`, `Y = [r_0 ∥ … ∥ r_K] W + b`
    with `K = layers`. `Â_1` and `Â_2` are `D^{-1/2} A D^{-1/2}` of the nodes at distance 1 and at
    distance exactly 2, without the node itself. The concatenation of
    all `r_k` has `(2^{K+1} − 1) · hidden` features.

    The network follows Lim et al. (2021), who searched the same ranges as the paper. Dropout acts
    on each `r_{k−1}` and on `r_K`. Batch normalization does not act on `r_0` and `r_K`. Zhu et al.
    use one dropout, before `W`, and no normalization.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        widths = [2**k * hidden for k in range(layers + 1)]
        self.embed = stacked.Linear(in_channels, hidden)
        self.norms = nn.ModuleList(BatchNorm(width) for width in widths[1:-1])
        self.dropouts = dropouts(dropout, layers + 1)
        self.classify = stacked.Linear(sum(widths), out_channels)
        self.stackable = not self.norms

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, SparseMatrix]:
        """Return `(Â_1, Â_2)`, the normalized matrices of the nodes at distance 1 and 2."""
        near = proper_edges(edge_index, num_nodes)
        both = near, two_hops(near, num_nodes)
        return tuple(low_pass(e, num_nodes, norm="sym", renormalize=False) for e in both)

    def logits(self, x: Tensor | SparseMatrix, graph: tuple[SparseMatrix, SparseMatrix]) -> Tensor:
        rounds = [torch.relu(self.embed(x))]
        for norm, dropout in zip([*self.norms, self.dropouts[-1]], self.dropouts):
            start = dropout(rounds[-1])
            rounds.append(norm(torch.cat([a @ start for a in graph], -1)))
        return self.classify(torch.cat(rounds, -1))


def two_hops(edge_index: Tensor, num_nodes: int) -> Tensor:
    """Return the ordered pairs of nodes at distance exactly 2, for edges without self-loops."""
    source, target = edge_index.cpu().numpy()
    a = sparse.csr_array((np.ones(source.size, bool), (target, source)), (num_nodes, num_nodes))
    far = ((a @ a) > a).tocoo()  # two hops lead to the node, but not one hop
    pairs = torch.from_numpy(np.stack([far.col, far.row])[:, far.row != far.col])
    return pairs.long().to(edge_index.device)


POWERS = 3  # every layer of MixHop has the powers 0, 1 and 2 of the filter


class MixHop(Baseline):
    """MixHop of Abu-El-Haija et al. (2019) with the powers 0, 1 and 2.

    `Z_l = ∥_j Â_sym^j H_{l−1} W_{l,j}`, `H_l = ReLU(BN(Z_l))` and `Y = Z_L W`. A hidden layer has
    `3 · hidden` features. A difference of powers is a high-pass filter.

    The network follows Lim et al. (2021): it has no biases, and dropout acts on `H_l`. The network
    of Abu-El-Haija et al. has no normalization, and its output is
    `Σ_j softmax(q)_j Â_sym^j H_{L−1} W_{L,j}`.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        between = [POWERS * hidden] * (layers - 1)
        starts, ends = [in_channels, *between], [*between, POWERS * out_channels]
        self.linears = nn.ModuleList(Linear(i, o, POWERS) for i, o in zip(starts, ends))
        self.norms = nn.ModuleList(BatchNorm(width) for width in between)
        self.dropouts = dropouts(dropout, layers - 1)
        self.output = Linear(POWERS * out_channels, out_channels)
        self.stackable = not self.norms

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.linears
        z = _powers(graph, first(x))
        for norm, dropout, linear in zip(self.norms, self.dropouts, others):
            z = _powers(graph, linear(dropout(torch.relu(norm(z)))))
        return self.output(z)


def _powers(a: SparseMatrix, h: Tensor) -> Tensor:
    """Return `[h_0 ∥ A h_1 ∥ A² h_2]` for `h = [h_0 ∥ h_1 ∥ h_2]`, by two products with `A`."""
    width = h.shape[-1] // POWERS
    once = a @ h[..., width:]
    twice = a @ once[..., width:]
    return torch.cat([h[..., :width], once[..., :width], twice], -1)


class GCNConv(Linear):
    """A layer of GCN: `Â_sym X W`."""

    def forward(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        return graph @ super().forward(x)


class _JK(Baseline):
    """Jumping knowledge of Xu et al. (2018): `H_l = act(BN(Z_l))`, `Y = JK(H_1, …, Z_L) W`.

    JK concatenates the layers ("cat"), or takes the maximum of each feature over the layers
    ("max"). The networks follow Lim et al. (2021) and have no biases. Xu et al. do not normalize,
    and apply the nonlinearity to the last layer as well. Dropout acts on the input of every layer
    except the first. `conv(F)` returns a layer with `F` input and `width` output features.
    """

    def __init__(self, in_channels, out_channels, hidden, dropout, layers, jk, width, conv, **ints):
        super().__init__(in_channels, out_channels, hidden, layers=layers, **ints)
        if jk not in ("max", "cat"):
            raise UsageError(f"jk is {jk!r}: 'max' or 'cat' is needed")
        self.jk = jk
        self.norms = nn.ModuleList(BatchNorm(width) for _ in range(layers - 1))
        self.dropouts = dropouts(dropout, layers - 1)
        self.output = Linear(width * layers if jk == "cat" else width, out_channels)
        self.convs = nn.ModuleList(map(conv, [in_channels] + [width] * (layers - 1)))
        self.stackable = not self.norms

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        first, *others = self.convs
        layers = [first(x, graph)]
        for norm, dropout, conv in zip(self.norms, self.dropouts, others):
            layers[-1] = self.act(norm(layers[-1]))
            layers.append(conv(dropout(layers[-1]), graph))
        joined = torch.cat(layers, -1) if self.jk == "cat" else torch.stack(layers).amax(0)
        return self.output(joined)


class GCNJK(_JK):
    """GCN with jumping knowledge: `Z_l = Â_sym H_{l−1} W_l` and ReLU."""

    act = staticmethod(torch.relu)

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, jk="max"):
        shared = in_channels, out_channels, hidden, dropout, layers, jk
        super().__init__(*shared, hidden, partial(GCNConv, out_channels=hidden))


class GATJK(_JK):
    """GAT with jumping knowledge: `Z_l = GATConv(H_{l−1})` with concatenated heads, and ELU.

    A layer has `heads · hidden` features. Dropout does not act on `α`.
    """

    act = staticmethod(functional.elu)
    operator = random_walk  # its pattern holds the neighbors and the node itself

    def __init__(
        self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, heads=8, jk="max"
    ):
        shared = in_channels, out_channels, hidden, dropout, layers, jk
        conv = partial(GATConv, out_channels=hidden, heads=heads, dropout=None)
        super().__init__(*shared, heads * hidden, conv, heads=heads)
