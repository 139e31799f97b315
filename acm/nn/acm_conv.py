"""The ACM layer (section 4.3, eq. `acm_gnn_spectral`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.filters import SparseMatrix, known_norm, low_pass
from acm.nn.checks import CHANNELS, features, finite, known_channels, sizes, uniform
from acm.nn.mixing import extract, filter_and_mix, mix, weigh
from acm.nn.stacked import joint_product


class ACMConv(nn.Module):
    r"""Adaptive channel mixing: low-pass, high-pass and identity channel, weighed node by node.

    The three steps of section 4.3, for the channels :math:`c \in \{L, H, I\}` with the filters
    :math:`H_{LP}`, :math:`H_{HP} = I - H_{LP}` and :math:`I`:

    1. *Extract*: :math:`H_c = \mathrm{ReLU}(F_c\, X W_c)` (`"acm"`, option 1) or
       :math:`H_c = F_c\, \mathrm{ReLU}(X W_c)` (`"acmii"`, option 2), :math:`F_c` the filter;
    2. *Weigh*: :math:`\tilde\alpha_c = \sigma(H_c \tilde W_c)` and
       :math:`[\alpha_L, \alpha_H, \alpha_I] = \mathrm{softmax}([\tilde\alpha_L, \tilde\alpha_H,
       \tilde\alpha_I]\, W_{Mix} / T)`;
    3. *Mix*: :math:`H = s \sum_c \mathrm{diag}(\alpha_c) H_c`, with :math:`s = 1` in the paper and
       the number of channels in the authors' release.

    Args:
        in_channels: Features of a node, `F_{l-1}`.
        out_channels: Width of the output, `F_l`.
        variant: `"acm"` or `"acmii"`.
        channels: Which of `"low"`, `"high"`, `"identity"` there are (Table 2 leaves some out);
            they are kept in this order.
        mix: Whether nodes weigh the channels; else these are simply added up.
        temperature: `T` of the softmax.
        scale: `s`, a factor on the mixed output.
        act: The nonlinearity of step 1; `None` for none (ACM-SGC).
        hops: `k`: the low-pass filter is `H_LP^k` and the high-pass filter `I − H_LP^k`.
        norm: `"rw"` or `"sym"`, the normalisation of the low-pass filter.
        cached: Whether to keep the filter of the first graph seen (transductive learning).

    Attributes:
        weight: `W_c` of every channel, `[F_{l-1}, len(channels), F_l]`: that of channel `c` is
            `weight[:, channels.index(c)]`.
        weight_tilde: `W̃_c`, `[len(channels), F_l]`.
        weight_mix: `W_Mix`, `[len(channels), len(channels)]`.

    Shapes:
        - **input:** node features `[N, F_in]`; edges `[2, E]`, edge weights `[E]` *(optional)*
        - **output:** node features `[N, F_out]`; with `return_channel_weights=True` also the
          weights `[α_c]` in the order of `channels`, `[N, len(channels)]`

    Raises:
        UsageError: If the variant, a channel or the normalisation is unknown, or an argument of
            the wrong kind or out of range.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        variant: str = "acm",
        channels: Sequence[str] = CHANNELS,
        mix: bool = True,
        temperature: float = 3.0,
        scale: float = 1.0,
        act: Callable[[Tensor], Tensor] | None = torch.relu,
        hops: int = 1,
        norm: str = "rw",
        cached: bool = False,
    ):
        super().__init__()
        if variant not in ("acm", "acmii"):
            raise UsageError(f"unknown variant {variant!r}: 'acm' and 'acmii' are known")
        channels = known_channels(channels)
        if act is not None and not callable(act):
            raise UsageError(f"act is {act!r}: a function such as torch.relu is needed, or None")
        known_norm(norm)
        sizes(in_channels=in_channels, out_channels=out_channels, hops=hops)
        if not 0 < finite("temperature", temperature):
            raise UsageError(f"temperature is {temperature}: a positive number is needed")
        finite("scale", scale)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.variant, self.channels, self.mix = variant, channels, mix
        self.temperature, self.scale, self.act = temperature, scale, act
        self.hops, self.norm, self.cached = hops, norm, cached
        self._filter: SparseMatrix | None = None

        k = len(channels)
        self.weight = nn.Parameter(torch.empty(in_channels, k, out_channels))
        if mix:
            self.weight_tilde = nn.Parameter(torch.empty(k, out_channels))
            self.weight_mix = nn.Parameter(torch.empty(k, k))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Draw :math:`W_c` from ±1/√F_out, :math:`\tilde W_c` from ±1, :math:`W_{Mix}` from ±1/√3.

        These are the release's uniform draws; the paper does not state any. With fewer channels
        the 3 is their number.
        """
        uniform(self.weight, self.out_channels)
        if self.mix:
            uniform(self.weight_tilde, 1)
            uniform(self.weight_mix, len(self.channels))
        self._filter = None

    def forward(
        self,
        x: Tensor | SparseMatrix | tuple[Tensor | SparseMatrix, ...],
        edge_index: Tensor | SparseMatrix,
        edge_weight: Tensor | None = None,
        return_channel_weights: bool = False,
    ):
        """Filter and mix the features of all nodes.

        Args:
            x: Node features, `[N, F_in]`, dense, `torch.sparse`, or a `SparseMatrix`; or several
                such parts in a tuple, which stand side by side and so stay as sparse as they are.
            edge_index: Edges, `[2, E]`; or the adjacency as a `torch.sparse` tensor `[N, N]`, rows
                are targets; or a `SparseMatrix`, which is taken for `H_LP` itself.
            edge_weight: Weights, `[E]`.
            return_channel_weights: Whether to return the node-wise `α` as well.
        """
        # The features of many trials are a batch for as many sets of weights, and only for these.
        stacked = self.weight.dim() > 3
        x = features(x if isinstance(x, tuple) else (x,), self.in_channels, stacked)
        low = self._low_pass(edge_index, edge_weight, x[0].shape[-2])
        # Step 1 begins with one product for all channels, their weights side by side.
        h = joint_product(x, self.weight.flatten(-2))
        h = h.view(*h.shape[:-1], len(self.channels), self.out_channels)
        act = self.act
        if self.variant == "acmii" and act is not None:
            h, act = act(h), None
        if self.mix and not return_channel_weights:
            return filter_and_mix(
                h, low, self.weight_tilde, self.weight_mix, self.channels, act,
                self.temperature, self.scale, self.hops,
            )  # fmt: skip
        h = extract(h, low, self.channels, self.hops)
        h = h if act is None else act(h)
        if not self.mix:
            out, alpha = h.sum(-2), h.new_ones(h.shape[:-1])
        else:
            alpha = weigh(h, self.weight_tilde, self.weight_mix, self.temperature)
            out = mix(h, alpha)
        out = out if self.scale == 1 else self.scale * out
        return (out, alpha) if return_channel_weights else out

    def _low_pass(self, edge_index, edge_weight, num_nodes: int) -> SparseMatrix:
        if isinstance(edge_index, SparseMatrix):
            if edge_index.shape != (num_nodes, num_nodes):
                raise UsageError(
                    f"the filter is {edge_index.shape[0]} x {edge_index.shape[1]}:"
                    f" {num_nodes} x {num_nodes} is needed for {num_nodes} nodes"
                )
            if edge_weight is not None:
                raise UsageError("a SparseMatrix is the filter itself: leave edge_weight out")
            return edge_index
        low = self._filter
        if low is None:
            plain = isinstance(edge_index, Tensor) and edge_index.layout == torch.strided
            if edge_weight is None and plain and edge_index.dim() == 2:
                # A layer in float64 is to have a filter that was normalised in float64.
                exact = torch.promote_types(self.weight.dtype, torch.float32)
                edge_weight = torch.ones(edge_index.shape[1], dtype=exact, device=edge_index.device)
            low = low_pass(edge_index, num_nodes, edge_weight, self.norm)
        elif low.shape[0] != num_nodes:
            raise UsageError(
                f"the layer has cached the filter of a graph of {low.shape[0]} nodes, and this one"
                f" has {num_nodes}: reset_parameters() forgets it, cached=False keeps none"
            )
        weight = self.weight
        if (low.value.dtype, low.value.device) != (weight.dtype, weight.device):
            low = low.to(weight)
        if self.cached:
            self._filter = low
        return low

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels},"
            f" variant={self.variant!r}, channels={self.channels}, mix={self.mix})"
        )
