"""Two simple implementations of ACM-GCN, with which `cell.py` compares the trainer of `acm`.

`Dense` follows the authors' code: both filters are N x N matrices, and the features are dense.
`Plain` is what a user of PyTorch Geometric would write. A test copies weights between each baseline
and `acm.nn.build("ACM-GCN", …)`, and checks that the outputs are equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import MessagePassing

from acm.filters import SparseMatrix

TEMPERATURE = 3.0


class DenseLayer(nn.Module):
    """One ACM layer with N x N filters and one weight matrix per channel."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        bound = out_channels**-0.5
        self.weight_low, self.weight_high, self.weight_identity = (
            nn.Parameter(torch.empty(in_channels, out_channels).uniform_(-bound, bound))
            for _ in range(3)
        )
        self.tilde_low, self.tilde_high, self.tilde_identity = (
            nn.Parameter(torch.empty(out_channels, 1).uniform_(-1, 1)) for _ in range(3)
        )
        self.weight_mix = nn.Parameter(torch.empty(3, 3).uniform_(-(3**-0.5), 3**-0.5))

    def forward(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """Return the mixed output `[N, F_out]` for `x` `[N, F_in]` and both filters `[N, N]`."""
        h_low = torch.relu(torch.mm(low, torch.mm(x, self.weight_low)))
        h_high = torch.relu(torch.mm(high, torch.mm(x, self.weight_high)))
        h_identity = torch.relu(torch.mm(x, self.weight_identity))
        tilde = self.tilde_low, self.tilde_high, self.tilde_identity
        return mixed((h_low, h_high, h_identity), tilde, self.weight_mix)


class PlainLayer(MessagePassing):
    """One ACM layer as message passing, with one linear map without bias per channel."""

    def __init__(self, in_channels: int, out_channels: int):
        super().__init__(aggr="add")
        self.lin_low, self.lin_high, self.lin_identity = (
            nn.Linear(in_channels, out_channels, bias=False) for _ in range(3)
        )
        self.tilde_low, self.tilde_high, self.tilde_identity = (
            nn.Parameter(torch.empty(out_channels, 1).uniform_(-1, 1)) for _ in range(3)
        )
        self.weight_mix = nn.Parameter(torch.empty(3, 3).uniform_(-(3**-0.5), 3**-0.5))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        """Return the mixed output `[N, F_out]` for `x` and normalized edges with self-loops."""
        h_low, h_high = self.lin_low(x), self.lin_high(x)
        h_low = self.propagate(edge_index, x=h_low, edge_weight=edge_weight)
        h_high = h_high - self.propagate(edge_index, x=h_high, edge_weight=edge_weight)
        h = h_low.relu(), h_high.relu(), self.lin_identity(x).relu()
        return mixed(h, (self.tilde_low, self.tilde_high, self.tilde_identity), self.weight_mix)

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        """Return the messages: source features times edge weights."""
        return edge_weight.view(-1, 1) * x_j


def mixed(h: tuple[Tensor, ...], tilde: tuple[Tensor, ...], weight_mix: Tensor) -> Tensor:
    """Mix the channels by steps 2 and 3 of section 4.3. As in the authors' code, multiply by 3."""
    sigma = torch.cat([torch.mm(h_c, w) for h_c, w in zip(h, tilde)], dim=1).sigmoid()
    alpha = torch.softmax(torch.mm(sigma, weight_mix) / TEMPERATURE, dim=1)
    return 3 * sum(alpha[:, c, None] * h_c for c, h_c in enumerate(h))


class Baseline(nn.Module):
    """ACM-GCN with two layers, and dropout on the input and the hidden features.

    Args:
        low: The filter `Â_rw` of the graph. `prepared` converts it to arguments of the layer.
        in_channels, out_channels, hidden, dropout: As in `acm.nn.build`.
    """

    layer: type[nn.Module]

    def __init__(
        self,
        low: SparseMatrix,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
    ):
        super().__init__()
        self.graph, self.p = self.prepared(low), dropout
        self.convs = nn.ModuleList(
            [self.layer(in_channels, hidden), self.layer(hidden, out_channels)]
        )

    @staticmethod
    def prepared(low: SparseMatrix) -> tuple[Tensor, ...]:
        """Convert the filter to the arguments of the layer. This is done only once."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits `[N, C]` of all nodes for dense features `[N, F]`."""
        x = functional.dropout(x, self.p, self.training)
        x = torch.relu(self.convs[0](x, *self.graph))
        x = functional.dropout(x, self.p, self.training)
        return self.convs[1](x, *self.graph)


class Dense(Baseline):
    """ACM-GCN as in the authors' code."""

    layer = DenseLayer

    @staticmethod
    def prepared(low: SparseMatrix) -> tuple[Tensor, ...]:
        """Return the low-pass and the high-pass matrix, both `[N, N]`."""
        dense = low.to_dense()
        high = -dense
        high.diagonal().add_(1)
        return dense, high


class Plain(Baseline):
    """ACM-GCN in plain PyG, with cached normalization."""

    layer = PlainLayer

    @staticmethod
    def prepared(low: SparseMatrix) -> tuple[Tensor, ...]:
        """Return `edge_index` `[2, E + N]` with self-loops, and the weight of every edge."""
        return torch.stack([low.col, low.row]), low.value


BASELINES: dict[str, type[Baseline]] = {"dense": Dense, "pyg": Plain}


def epochs(
    model: Baseline,
    x: Tensor,
    y: Tensor,
    train: Tensor,
    val: Tensor,
    lr: float,
    weight_decay: float,
    more: Callable[[list[float]], bool],
) -> list[float]:
    """Train while `more(seconds)` is true, and return `seconds`, the list of seconds per epoch.

    An epoch is a training step with Adam, followed by an evaluation that computes the validation
    loss and accuracy.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr, weight_decay=weight_decay)
    seconds: list[float] = []
    while more(seconds):
        start = time.perf_counter()
        model.train()
        optimizer.zero_grad()
        functional.cross_entropy(model(x)[train], y[train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            logits = model(x)[val]
            functional.cross_entropy(logits, y[val]).item()
            (logits.argmax(1) == y[val]).double().mean().item()
        seconds.append(time.perf_counter() - start)
    return seconds
