"""Define MLP-2, which has no filter, and APPNP, GPR-GNN and Snowball, which have one."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.baselines.base import Baseline, dropouts
from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import fraction, probability, random_walk, uniform
from acm.nn.stacked import Dropout, Linear, joint_product, per_trial


class MLP(Baseline):
    """The two-layer perceptron of Chien et al. (2021), `Y = ReLU(X W_0 + b_0) W_1 + b_1`.

    Dropout acts on the input of both layers.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5):
        super().__init__(in_channels, out_channels, hidden)
        self.first, self.second = Linear(in_channels, hidden), Linear(hidden, out_channels)
        self.input_dropout, self.dropout = Dropout(dropout), Dropout(dropout)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        return self.second(self.dropout(torch.relu(self.first(self.input_dropout(x)))))


class APPNP(Baseline):
    """APPNP of Klicpera et al. (2019): `Z_{k+1} = (1−α) Â_sym Z_k + α Z_0`, `Z_0 = MLP(X)`.

    There are `K` steps, and `α` is the teleport probability. The MLP has biases. Dropout acts on
    the input of both of its layers. As in the code of Chien et al. (2021), the source of Table 3,
    dropout does not act on the entries of `Â_sym`.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, K=10, alpha=0.1):
        super().__init__(in_channels, out_channels, hidden, K=K)
        self.alpha = fraction("alpha", alpha)
        self.mlp = MLP(in_channels, out_channels, hidden, dropout)
        self.steps = K

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        z = h = self.mlp.logits(x, graph)
        for _ in range(self.steps):
            z = (1 - self.alpha) * (graph @ z) + self.alpha * h
        return z


class GPRGNN(Baseline):
    """GPR-GNN of Chien et al. (2021): `Y = Σ_k γ_k Â_sym^k MLP(X)` for `k = 0 … K`.

    The weights `γ` are learned and may be negative, so the filter can pass low or high frequencies.
    The initial weights are those of personalized PageRank with teleport probability `α`:
    `γ_k = α (1−α)^k` for `k < K`, and `γ_K = (1−α)^K`.

    The MLP has biases, and dropout acts on the input of both of its layers. As in the authors'
    release, another dropout with probability `dprate` acts on the MLP's output. Here weight decay
    acts on `γ`; in the release it does not.
    """

    def __init__(
        self, in_channels, out_channels, hidden=64, dropout=0.5, K=10, alpha=0.1, dprate=0.5
    ):
        super().__init__(in_channels, out_channels, hidden, K=K)
        self.alpha = fraction("alpha", alpha)
        self.mlp = MLP(in_channels, out_channels, hidden, dropout)
        self.dropout = Dropout(probability("dprate", dprate), fixed=True)
        self.gamma = nn.Parameter(torch.empty(K + 1))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw new weights for the MLP, and set `γ` to the weights of PageRank."""
        super().reset_parameters()
        power = torch.arange(len(self.gamma), device=self.gamma.device)
        gamma = self.alpha * (1 - self.alpha) ** power
        gamma[-1] = (1 - self.alpha) ** (len(gamma) - 1)
        self.gamma.copy_(gamma)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        gamma = self.gamma[..., None, None].unbind(-3)
        z = self.dropout(self.mlp.logits(x, graph))
        out = gamma[0] * z
        for weight in gamma[1:]:
            z = graph @ z
            out = out + weight * z
        return out


class SnowballConv(Linear):
    """A layer of Snowball: `Â [X, H_1, …] W + b`."""

    def reset_parameters(self) -> None:
        """Draw `W` and `b` uniformly between ±1/√out_channels."""
        for parameter in (self.weight, self.bias):
            uniform(parameter, self.weight.shape[-1])

    def forward(self, parts: tuple[Tensor | SparseMatrix, ...], low: SparseMatrix) -> Tensor:
        """Return features `[N, out_channels]` from the concatenation of all `parts`."""
        return low @ joint_product(parts, self.weight) + self.bias


class Snowball(Baseline):
    """A snowball network of Luan et al. (2019).

    `H_l = ReLU(Â_rw [X, H_1, …, H_{l−1}] W_l + b_l)` and `Y = Â_rw [X, H_1, …, H_{n−1}] W_n + b_n`.
    Dropout acts on `H_l`. Biases and initialization follow the code of Luan et al. (2019). The
    option `act` is the nonlinearity: Luan et al. (2019) prefer tanh, Luan et al. (2021) use ReLU.

    In Luan et al. (2019), `n` counts only the hidden layers. Here `layers` counts all layers,
    because the epoch times in Luan et al. (2021) show that Snowball-2 has two layers, like GCN.
    """

    operator = random_walk

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2, act="relu"):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        if act not in ("relu", "tanh"):
            raise UsageError(f"act is {act!r}: 'relu' or 'tanh' is needed")
        self.layers, self.act = layers, act
        ends = [hidden] * (layers - 1) + [out_channels]
        self.convs = nn.ModuleList(
            SnowballConv(in_channels + k * hidden, end) for k, end in enumerate(ends)
        )
        self.dropouts = dropouts(dropout, layers - 1)

    def logits(self, x: Tensor | SparseMatrix, graph: SparseMatrix) -> Tensor:
        parts = (x,)
        *hidden, last = self.convs
        for conv, dropout in zip(hidden, self.dropouts):
            h = conv(parts, graph)
            h = torch.relu(h) if self.act == "relu" else per_trial(torch.tanh, h)
            parts = (*parts, dropout(h))
        return last(parts, graph)
