"""Define the ACM layer (section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from acm.errors import UsageError
from acm.filters import SparseMatrix, check_norm, low_pass
from acm.nn.checks import CHANNELS, features, finite, known_channels, sizes, uniform
from acm.nn.mixing import extract, filter_and_mix, fused
from acm.nn.stacked import joint_product


class ACMConv(nn.Module):
    r"""Filter node features by three channels, and mix the channels node by node (section 4.3).

    The channels :math:`c \in \{L, H, I\}` have the filters :math:`F_L = H_{LP}`,
    :math:`F_H = I - H_{LP}` and :math:`F_I = I`.

    1. *Extract*: :math:`H_c = \mathrm{ReLU}(F_c X W_c)` (`"acm"`, option 1) or
       :math:`H_c = F_c\, \mathrm{ReLU}(X W_c)` (`"acmii"`, option 2).
    2. *Weigh*: :math:`\tilde\alpha_c = \sigma(H_c \tilde W_c)` and :math:`[\alpha_L, \alpha_H,
       \alpha_I] = \mathrm{softmax}([\tilde\alpha_L, \tilde\alpha_H, \tilde\alpha_I]\, W_{Mix}/T)`.
    3. *Mix*: :math:`H = s \sum_c \mathrm{diag}(\alpha_c) H_c`. The paper has :math:`s = 1`;
       in the authors' release, :math:`s` is the number of channels.

    Args:
        in_channels, out_channels: Features of a node in input and output, `F_in` and `F_out`.
        variant: `"acm"` or `"acmii"`.
        channels: One or more of `"low"`, `"high"`, `"identity"`; the layer uses this order.
        mix: Whether each node weighs the channels; otherwise step 3 adds the channels.
        temperature, scale: `T` and `s`.
        act: The nonlinearity of step 1, or `None` (ACM-SGC).
        hops, norm: The power `k` and the normalization, `"rw"` or `"sym"`, of the filters
            `H_LP^k` and `I − H_LP^k`.

    Attributes:
        weight: All `W_c`, `[F_in, len(channels), F_out]`; `W_c` is `weight[:, channels.index(c)]`.
        weight_tilde: All `W̃_c`, `[len(channels), F_out]`.
        weight_mix: `W_Mix`, `[len(channels), len(channels)]`.

    Raises:
        UsageError: If an argument is unknown, of the wrong kind or out of range.

    >>> x, edge_index = torch.eye(3), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> conv = ACMConv(3, 2)
    >>> out, alpha = conv(x, edge_index, return_channel_weights=True)
    >>> out.shape, alpha.shape, torch.allclose(alpha.sum(1), torch.ones(3))
    (torch.Size([3, 2]), torch.Size([3, 3]), True)
    """

    stackable = True

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
    ):
        super().__init__()
        if variant not in ("acm", "acmii"):
            raise UsageError(f"unknown variant {variant!r}: the variants are 'acm' and 'acmii'")
        channels = known_channels(channels)
        check_norm(norm)
        sizes(in_channels=in_channels, out_channels=out_channels, hops=hops)
        if not 0 < finite("temperature", temperature):
            raise UsageError(f"temperature is {temperature}: a positive number is needed")
        finite("scale", scale)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.variant, self.channels, self.mix, self.act = variant, channels, mix, act
        self.temperature, self.scale, self.hops, self.norm = temperature, scale, hops, norm
        k = len(channels)
        self.weight = nn.Parameter(torch.empty(in_channels, k, out_channels))
        if mix:
            self.weight_tilde = nn.Parameter(torch.empty(k, out_channels))
            self.weight_mix = nn.Parameter(torch.empty(k, k))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw `W_c` within ±1/√F_out, `W̃_c` within ±1, and `W_Mix` within ±1/√len(channels)."""
        uniform(self.weight, self.out_channels)
        if self.mix:
            uniform(self.weight_tilde, 1)
            uniform(self.weight_mix, len(self.channels))

    def forward(
        self,
        x: Tensor | SparseMatrix | tuple[Tensor | SparseMatrix, ...],
        edge_index: Tensor | SparseMatrix,
        edge_weight: Tensor | None = None,
        return_channel_weights: bool = False,
    ):
        """Return the mixed features, `[N, F_out]`.

        Args:
            x: Node features, `[N, F_in]`, dense, `torch.sparse`, or a `SparseMatrix`; or a tuple
                of such matrices, which together have `F_in` columns.
            edge_index: Edges, `[2, E]`; or the adjacency as a `torch.sparse` tensor `[N, N]`,
                whose rows are targets; or the filter `H_LP` as a `SparseMatrix`, which is faster.
            edge_weight: Weights of the edges, `[E]`.
            return_channel_weights: Whether to also return each node's `α`, `[N, len(channels)]`.
        """
        # Only stacked weights may have stacked features.
        x = features(x if isinstance(x, tuple) else (x,), self.in_channels, self.weight.dim() > 3)
        low = self._low_pass(edge_index, edge_weight, x[0].shape[-2])
        # One product computes `X W_c` of all channels.
        h = joint_product(x, self.weight.flatten(-2))
        h, act = h.unflatten(-1, (len(self.channels), self.out_channels)), self.act
        if self.variant == "acmii" and act is not None:
            h, act = act(h), None
        if not self.mix:
            h = extract(h, low, self.channels, self.hops)
            out = (h if act is None else act(h)).sum(-2)
            out = out if self.scale == 1 else self.scale * out
            return (out, h.new_ones(h.shape[:-1])) if return_channel_weights else out
        options = self.channels, act, self.temperature, self.scale, self.hops
        compute = filter_and_mix if return_channel_weights else fused
        return compute(h, self.weight_tilde, self.weight_mix, low, *options)

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
        if edge_weight is None and getattr(edge_index, "layout", None) == torch.strided:
            # A layer in float64 needs a filter that was normalized in float64.
            dtype = torch.promote_types(self.weight.dtype, torch.float32)
            edge_weight = edge_index.new_ones(edge_index.shape[-1:], dtype=dtype)
        return low_pass(edge_index, num_nodes, edge_weight, self.norm).to(self.weight)
