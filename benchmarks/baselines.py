"""ACM-GCN as it is usually written, one run at a time: what the engine is held against.

`Dense` follows the authors' way (N x N matrices of both filters, dense features), `Plain` is what a
user of PyTorch Geometric would write. Both are the function that `acm.nn.build("ACM-GCN", …)` is:
a test copies the weights over and compares.
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
    """One ACM layer on N x N filters; a weight matrix for each channel."""

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
        """The mixed output, `[N, F_out]`, from `x`, `[N, F_in]`, and both filters, `[N, N]`."""
        h_low = torch.relu(torch.mm(low, torch.mm(x, self.weight_low)))
        h_high = torch.relu(torch.mm(high, torch.mm(x, self.weight_high)))
        h_identity = torch.relu(torch.mm(x, self.weight_identity))
        tilde = self.tilde_low, self.tilde_high, self.tilde_identity
        return mixed((h_low, h_high, h_identity), tilde, self.weight_mix)


class PlainLayer(MessagePassing):
    """One ACM layer as message passing; a bias-free linear map for each channel."""

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
        """The mixed output, `[N, F_out]`, from `x` and the normalised edges with self-loops."""
        h_low, h_high = self.lin_low(x), self.lin_high(x)
        h_low = self.propagate(edge_index, x=h_low, edge_weight=edge_weight)
        h_high = h_high - self.propagate(edge_index, x=h_high, edge_weight=edge_weight)
        h = h_low.relu(), h_high.relu(), self.lin_identity(x).relu()
        return mixed(h, (self.tilde_low, self.tilde_high, self.tilde_identity), self.weight_mix)

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        """What an edge carries."""
        return edge_weight.view(-1, 1) * x_j


def mixed(h: tuple[Tensor, ...], tilde: tuple[Tensor, ...], weight_mix: Tensor) -> Tensor:
    """Steps 2 and 3 of section 4.3, times the number of channels as in the release."""
    sigma = torch.cat([torch.mm(h_c, w) for h_c, w in zip(h, tilde)], dim=1).sigmoid()
    alpha = torch.softmax(torch.mm(sigma, weight_mix) / TEMPERATURE, dim=1)
    return 3 * sum(alpha[:, c, None] * h_c for c, h_c in enumerate(h))


class Baseline(nn.Module):
    """ACM-GCN of two such layers, with dropout on the input and the hidden layer.

    Args:
        low: The filter `Â_rw` of the graph, which is turned into what the layer takes.
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
        """The filter as the layer takes it, computed once."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        """The logits of all nodes, `[N, C]`, from dense features, `[N, F]`."""
        x = functional.dropout(x, self.p, self.training)
        x = torch.relu(self.convs[0](x, *self.graph))
        x = functional.dropout(x, self.p, self.training)
        return self.convs[1](x, *self.graph)


class Dense(Baseline):
    """The authors' way."""

    layer = DenseLayer

    @staticmethod
    def prepared(low: SparseMatrix) -> tuple[Tensor, ...]:
        """Low- and high-pass matrix, `[N, N]`."""
        dense = low.to_dense()
        high = -dense
        high.diagonal().add_(1)
        return dense, high


class Plain(Baseline):
    """A straightforward PyG implementation with its normalisation cached."""

    layer = PlainLayer

    @staticmethod
    def prepared(low: SparseMatrix) -> tuple[Tensor, ...]:
        """`edge_index`, `[2, E + N]`, self-loops included, and a weight for each edge."""
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
    """Train for as long as `more(seconds so far)` says; the seconds of each epoch.

    An epoch is a training pass with its step of Adam, and an evaluation pass that reads the
    validation loss and accuracy.
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
