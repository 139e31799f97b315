"""Networks with one filter or none: MLP-2, APPNP, GPR-GNN and Snowball."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.baselines.base import Baseline, dropouts
from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import fraction, probability, random_walk, uniform
from acm.nn.stacked import Dropout, Linear, joint_product, per_trial


class MLP(Baseline):
    """The perceptron of Chien et al. (2021), `Y = ReLU(X W_0 + b_0) W_1 + b_1`.

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

    Dropout acts on the input of both layers of the MLP, which has biases. It does not act on the
    entries of `Â_sym`, as in the code of Chien et al. (2021), the source of Table 3. There are `K`
    steps; `α` is the probability to teleport back to the node itself.
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

    The weights `γ` are learned and may be negative: the filter is a polynomial that passes low or
    high frequencies. They start as personalized PageRank with the teleport probability `α`,
    `γ_k = α (1−α)^k` and `γ_K = (1−α)^K`.

    Dropout acts on the input of both layers of the MLP, which has biases. Another dropout with the
    probability `dprate` acts on the MLP's output, as in the authors' release. Weight decay acts on
    `γ` as well, unlike in the release.
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
        """Draw the MLP's weights anew, and set `γ` to PageRank."""
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
        """Draw `W` and `b` uniformly from ±1/√out_channels."""
        for parameter in (self.weight, self.bias):
            uniform(parameter, self.weight.shape[-1])

    def forward(self, parts: tuple[Tensor | SparseMatrix, ...], low: SparseMatrix) -> Tensor:
        """Return features `[N, out_channels]` of all `parts` side by side."""
        return low @ joint_product(parts, self.weight) + self.bias


class Snowball(Baseline):
    """A snowball network of Luan et al. (2019).

    `H_l = ReLU(Â_rw [X, H_1, …, H_{l−1}] W_l + b_l)` and `Y = Â_rw [X, H_1, …, H_{n−1}] W_n + b_n`.
    Dropout acts on `H`. The biases and their draws are those of the code of Luan et al. (2019),
    whose paper argues for tanh (`act`). ReLU is the nonlinearity of Luan et al. (2021).

    In Luan et al. (2019), `n` counts the hidden layers only. Here `layers` counts all, since the
    times of an epoch in Luan et al. (2021) show two layers for Snowball-2, as for GCN.
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
