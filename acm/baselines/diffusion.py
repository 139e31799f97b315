"""Two networks that predict first and then propagate the predictions: APPNP and GPR-GNN."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from acm.baselines.base import Baseline
from acm.baselines.plain import MLP
from acm.filters import SparseMatrix
from acm.nn.checks import fraction, probability
from acm.nn.stacked import Dropout


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
