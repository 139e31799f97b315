"""Define GCNII and GCNII* (Chen et al., 2020), and their ACM forms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import finite, fraction, known_channels, random_walk, sizes, uniform
from acm.nn.mixing import filtered, mix, weigh
from acm.nn.stacked import Dropout, Linear, inputs, product


class InitialResidual(nn.Module):
    r"""Compute a layer of GCNII (Chen et al., 2020, eq. 5) in each channel :math:`c`.

    .. math::
        R = (1-\alpha) F_c H + \alpha H^{(0)}, \qquad
        H_c = \mathrm{ReLU}\big((1-\beta) R + \beta R W_c\big), \quad \text{or in GCNII*} \quad
        \mathrm{ReLU}\big((1-\beta) R + \beta (F_c H W_c + H^{(0)} W'_c)\big)

    Chen et al. and this paper print :math:`(1-\alpha) W_c` and :math:`\alpha W'_c` where the code
    of Chen et al. has :math:`W_c` and :math:`W'_c`. Both forms express the same functions for
    :math:`0 < \alpha < 1`, but initial weights and weight decay differ in scale. `weight` holds
    all `W_c`, then all `W'_c`. The layer mixes the channels as `ACMConv` does, or adds them.
    """

    def __init__(self, width: int, alpha: float, beta: float, star: bool, channels, mixed: bool):
        super().__init__()
        self.alpha, self.beta, self.star = alpha, beta, star
        self.channels, self.mix = channels, mixed
        k = len(channels)
        self.weight = nn.Parameter(torch.empty((1 + star) * k, width, width))
        if mixed:
            self.weight_tilde = nn.Parameter(torch.empty(k, width))
            self.weight_mix = nn.Parameter(torch.empty(k, k))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights as `ACMConv` does; Chen et al. draw `W_c` in the same way."""
        uniform(self.weight, self.weight.shape[-1])
        if self.mix:
            uniform(self.weight_tilde, 1)
            uniform(self.weight_mix, len(self.channels))

    def forward(self, h: Tensor, first: Tensor, low: SparseMatrix):
        """Return the new `H`, `[N, width]`, and the channel weights `α`; `first` is `H^(0)`."""
        k = len(self.channels)
        smooth = low @ h
        # The channel dimension precedes the nodes, since each channel has a separate matrix.
        h = torch.stack([filtered(c, h, smooth) for c in self.channels], -3)
        # With `expand`, the order of the gradient's sum would depend on the batch.
        first = torch.stack([first] * k, -3)
        both = (1 - self.alpha) * h + self.alpha * first
        if self.star:
            w, w_residual = self.weight[..., :k, :, :], self.weight[..., k:, :, :]
            weighted = product(h, w) + product(first, w_residual)
        else:
            weighted = product(both, self.weight)
        h = (1 - self.beta) * both + self.beta * weighted
        h = torch.relu(h).transpose(-2, -3)
        if not self.mix:
            return h.sum(-2), h.new_ones(h.shape[:-1])
        alpha = weigh(h, self.weight_tilde, self.weight_mix, temperature=3)
        # The release multiplies the mixed output of its layers by the number of channels.
        return k * mix(h, alpha), alpha


class GCNII(nn.Module):
    r"""Compute GCNII or GCNII* (Chen et al., 2020), or their ACM forms, which use all channels.

    .. math::
        H^{(0)} = \mathrm{ReLU}(X W_{in} + b_{in}),\quad
        H^{(\ell)} = \mathrm{layer}_\ell(H^{(\ell-1)}),\quad
        Y = H^{(n)} W_{out} + b_{out},\qquad \beta_\ell = \log(\lambda / \ell + 1)

    The layers are `InitialResidual` with :math:`\hat A_{rw}` as the low-pass filter. Dropout acts
    before every product with weights. The first and last map follow the code of Chen et al. The
    paper does not define the ACM forms. Here each channel has a separate residual and weights,
    and the two maps have no channels. The paper's times per epoch agree with this choice.

    Args:
        in_channels, out_channels: Number of features of a node, `F`, and of classes, `C`.
        hidden, layers: Width of every layer, and number of layers between the two maps, `n`.
        dropout: Probability that a value is dropped.
        lambda_: :math:`\lambda`, from 0 to `e − 1`; with 0 the layers ignore their weights.
        alpha: :math:`\alpha`, from 0 to 1; with 0 only GCNII* has an initial residual.
        star: Whether the network is GCNII*.
        channels, mix: As in `ACMConv`, for every layer.

    Raises:
        UsageError: If a number is out of range.
    """

    stackable = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
        layers: int = 8,
        lambda_: float = 0.5,
        alpha: float = 0.1,
        star: bool = False,
        channels: Sequence[str] = ("low",),
        mix: bool = False,
    ):
        super().__init__()
        sizes(in_channels=in_channels, out_channels=out_channels, hidden=hidden, layers=layers)
        fraction("alpha", alpha)
        # If λ > e − 1, β exceeds 1, so the identity has the negative factor 1 − β.
        if not 0 <= finite("lambda", lambda_) <= math.e - 1:
            raise UsageError(f"lambda is {lambda_}: a number from 0 to e − 1 = 1.718 is needed")
        self.in_channels, self.channels, self.mix = in_channels, known_channels(channels), mix
        self.map_in = Linear(in_channels, hidden)
        self.convs = nn.ModuleList(
            InitialResidual(hidden, alpha, math.log(lambda_ / depth + 1), star, self.channels, mix)
            for depth in range(1, layers + 1)
        )
        self.map_out = Linear(hidden, out_channels)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers + 2))

    def reset_parameters(self) -> None:
        """Draw all weights anew; the weights of the two maps as `torch.nn.Linear` does."""
        for module in (self.map_in, *self.convs, self.map_out):
            module.reset_parameters()

    operator = random_walk

    def forward(self, x: Tensor | SparseMatrix, graph, return_channel_weights: bool = False):
        """Return the logits of all nodes, `[N, C]`; `graph` is `H_LP`, or edges, `[2, E]`.

        `return_channel_weights=True` also returns a list of `α`, `[N, channels]`, one per layer.
        """
        x, graph = inputs(self, x, graph, self.in_channels)
        first, *between, last = self.dropouts
        initial = h = torch.relu(self.map_in(first(x)))
        weights = []
        for dropout, conv in zip(between, self.convs):
            h, alpha = conv(dropout(h), initial, graph)
            weights.append(alpha)
        out = self.map_out(last(h))
        return (out, weights) if return_channel_weights else out
