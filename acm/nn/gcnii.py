"""GCNII and GCNII*, and what they are with the channels of an ACM layer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn.checks import features, finite, fraction, known_channels, random_walk, sizes, uniform
from acm.nn.mixing import mix, weigh
from acm.nn.stacked import Affine, Dropout, product


class InitialResidual(nn.Module):
    r"""A layer of GCNII (Chen et al., 2020, eq. 5), for each channel :math:`c` of a filterbank.

    .. math::
        H_c = \mathrm{ReLU}\big(((1-\alpha) F_c H + \alpha H^{(0)})
              ((1-\beta) I + \beta W_c)\big)

    and for GCNII* with a second matrix, that of the initial residual:

    .. math::
        H_c = \mathrm{ReLU}\big((1-\beta) ((1-\alpha) F_c H + \alpha H^{(0)})
              + \beta (F_c H W_c + H^{(0)} W'_c)\big)

    There Chen et al. (and this paper) print :math:`(1-\alpha) W_c` and :math:`\alpha W'_c` for what
    their code has as :math:`W_c` and :math:`W'_c`. For :math:`0 < \alpha < 1` both express the same
    functions; but all weights are drawn and decayed alike, so that those of the code count
    :math:`1/(1-\alpha)` and :math:`1/\alpha` times as much.

    With the low-pass channel alone that is GCNII. Several channels are weighed node by node and
    mixed as in `ACMConv`, or added up.

    Args:
        width: Features of a node, before and after.
        alpha: :math:`\alpha`, the share of the initial residual.
        beta: :math:`\beta`, the share of the weights.
        star: Whether the initial residual has weights of its own.
        channels, mixed: As in `ACMConv`.
        printed: Whether GCNII* is as printed, instead of as its authors' code has it.

    Attributes:
        weight: `W_c`, and `W'_c` after these, `[channels or 2 · channels, width, width]`.
    """

    def __init__(
        self,
        width: int,
        alpha: float,
        beta: float,
        star: bool = False,
        channels: Sequence[str] = ("low",),
        mixed: bool = False,
        printed: bool = False,
    ):
        super().__init__()
        self.alpha, self.beta, self.star, self.printed = alpha, beta, star, printed
        self.channels, self.mix = tuple(channels), mixed
        k = len(self.channels)
        self.weight = nn.Parameter(torch.empty((1 + star) * k, width, width))
        if mixed:
            self.weight_tilde = nn.Parameter(torch.empty(k, width))
            self.weight_mix = nn.Parameter(torch.empty(k, k))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw as `ACMConv` does; for `W_c` that is Chen et al.'s own draw as well."""
        uniform(self.weight, self.weight.shape[-1])
        if self.mix:
            uniform(self.weight_tilde, 1)
            uniform(self.weight_mix, len(self.channels))

    def forward(self, h: Tensor, first: Tensor, low: SparseMatrix):
        """The next `H`, and the node-wise `α` of the channels.

        Args:
            h: :math:`H`, `[N, width]`.
            first: :math:`H^{(0)}`, `[N, width]`.
            low: `H_LP`.
        """
        k = len(self.channels)
        smooth = low @ h if self.channels != ("identity",) else h
        filtered = {"low": smooth, "high": h - smooth, "identity": h}
        # Channels stand before the nodes here: each has weights of its own.
        h = torch.stack([filtered[c] for c in self.channels], -3)
        # Not `expand`: in what order its gradient is summed up depends on the batch.
        first = torch.stack([first] * k, -3)
        scaled = (1 - self.alpha) * h, self.alpha * first
        both = scaled[0] + scaled[1]
        if self.star:
            h, first = scaled if self.printed else (h, first)
            own, others = self.weight[..., :k, :, :], self.weight[..., k:, :, :]
            weighted = product(h, own) + product(first, others)
        else:
            weighted = product(both, self.weight)
        h = (1 - self.beta) * both + self.beta * weighted
        h = torch.relu(h).transpose(-2, -3)
        if not self.mix:
            return h.sum(-2), h.new_ones(h.shape[:-1])
        alpha = weigh(h, self.weight_tilde, self.weight_mix, temperature=3)
        return k * mix(h, alpha), alpha  # times their number: FIDELITY 16


class GCNII(nn.Module):
    r"""GCNII, GCNII* (Chen et al., 2020) and, with all channels, ACM-GCNII and ACM-GCNII*.

    .. math::
        H^{(0)} = \mathrm{ReLU}(X W_{in} + b_{in}),\quad
        H^{(\ell)} = \mathrm{layer}_\ell(H^{(\ell-1)}),\quad
        Y = H^{(n)} W_{out} + b_{out},\qquad \beta_\ell = \log(\lambda / \ell + 1)

    with the layers of `InitialResidual`, :math:`\hat A_{rw}` as low-pass filter, and dropout before
    everything that has weights. No formula of the maps in and out is printed; they are those of
    Chen et al.'s code. That each channel of an ACM form has a residual and weights of its own, and
    that the maps in and out have no channels, is our choice (the printed times of an epoch agree
    with it: those of one to four layers lie on a line, one ACM layer apart).

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of every layer.
        dropout: Probability that a value is dropped.
        layers: How many layers there are between the two maps.
        lambda_: :math:`\lambda`, from 0: with 0 no layer has weights.
        alpha: :math:`\alpha`, from 0 to 1: with 0 there is no initial residual but, in GCNII*, the
            one with weights.
        star: Whether it is GCNII*.
        channels: Channels of every layer, as in `ACMConv`.
        mix: Whether nodes weigh the channels; else these are added up.
        printed: As in `InitialResidual`.

    Raises:
        UsageError: If a number is out of range.
    """

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
        printed: bool = False,
    ):
        super().__init__()
        sizes(in_channels=in_channels, out_channels=out_channels, hidden=hidden, layers=layers)
        fraction("alpha", alpha)
        # From there on the identity would count negatively.
        if not 0 <= finite("lambda", lambda_) <= math.e - 1:
            raise UsageError(f"lambda is {lambda_}: a number from 0 to e − 1 = 1.718 is needed")
        self.channels, self.mix = known_channels(channels), mix
        self.map_in = Affine(in_channels, hidden)
        self.convs = nn.ModuleList(
            InitialResidual(
                hidden, alpha, math.log(lambda_ / depth + 1), star, self.channels, mix, printed
            )
            for depth in range(1, layers + 1)
        )
        self.map_out = Affine(hidden, out_channels)
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in range(layers + 2))

    def reset_parameters(self) -> None:
        """Draw all weights anew, those of the maps in and out as `torch.nn.Linear` does."""
        for module in (self.map_in, *self.convs, self.map_out):
            module.reset_parameters()

    #: What every layer filters with.
    operator = random_walk

    def forward(self, x: Tensor | SparseMatrix, graph, return_channel_weights: bool = False):
        """The logits of all nodes, `[N, C]`.

        Args:
            x: Node features, `[N, F]`, dense or sparse.
            graph: `H_LP`, or edges, `[2, E]`.
            return_channel_weights: Whether to return also each layer's `α`, `[N, channels]`, in a
                list.
        """
        weight = self.map_in.weight
        (x,) = features((x,), weight.shape[-2], weight.dim() > 2)
        if not isinstance(graph, SparseMatrix):
            graph = self.operator(graph, x.shape[-2]).to(weight)
        first, *between, last = self.dropouts
        initial = h = torch.relu(self.map_in(first(x)))
        weights = []
        for dropout, conv in zip(between, self.convs):
            h, alpha = conv(dropout(h), initial, graph)
            weights.append(alpha)
        out = self.map_out(last(h))
        return (out, weights) if return_channel_weights else out
