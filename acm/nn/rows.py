"""The rows of Tables 2, 3 and 8, one entry each, in the order of Table 3; then what is beyond."""

from __future__ import annotations

import functools

from acm.nn.checks import CHANNELS
from acm.nn.gcnii import GCNII
from acm.nn.models import ARCHITECTURES
from acm.nn.registry import channelled, register
from acm.nn.structure import ACMPlus

_PAPER = "luan2021heterophily"
_LOW = "Neighbours are averaged by positive weights: where classes mix, they blur."
_MIXED = (
    "Each node weighs what its neighbours agree on (low-pass), how it differs from them (high-pass)"
    " and itself (identity)."
)
_NONE = "Neighbours have no part in it: they do neither harm nor good."
_FIRST = "Every layer returns to the first features by a share α; the rest of it is low-pass."


def _layers(name: str, heterophily: str, tables: tuple[int, ...], source: str = _PAPER) -> None:
    """A row whose network is made of ACM layers, or of what these are with one channel."""
    row = ARCHITECTURES[name]
    register(
        name,
        functools.partial(channelled, row),
        equation=row.equation,
        heterophily=heterophily,
        tables=tables,
        source=source,
        channels=row.channels,
        mix=row.mix,
        beyond=not tables,
    )


def _gcnii(name: str) -> None:
    """GCNII or GCNII*, or an ACM form: these have the filter F_c and weights for each channel."""
    acm, star = name.startswith("ACM-"), name.endswith("*")
    one = "((1−α) Â H_{l−1} + α H_0) ((1−β_l) I + β_l W_l)"
    two = "(1−β_l) ((1−α) Â H_{l−1} + α H_0) + β_l (Â H_{l−1} W_l + H_0 W'_l)"
    inner = two if star else one
    if acm:
        inner = inner.replace("Â", "F_c").replace("W_l", "W_{c,l}").replace("W'_l", "W'_{c,l}")
    register(
        name,
        GCNII,
        equation=f"H_l = {'Mix_c ' if acm else ''}ReLU({inner}), β_l = log(λ/l + 1)",
        heterophily=_MIXED if acm else _FIRST,
        tables=(3,),
        source="chen2020simple",
        channels=CHANNELS if acm else ("low",),
        mix=acm,
        fixed={"star": star},
        # In the ranges that were searched: 4 to 64 layers, and 1 to 4 of an ACM form.
        defaults={"layers": 2 if acm else 8},
    )


def _other(name: str, kind: str, source: str, tables: tuple[int, ...], equation: str, said: str,
           **more):  # fmt: skip
    """A row of another paper."""
    register(
        name,
        f"acm.nn.baselines:{kind}",
        equation=equation,
        heterophily=said,
        tables=tables,
        source=source,
        **more,
    )


# The row is from other papers, whose perceptron has biases, and dropout on its input.
_other("MLP-2", "MLP", "chien2021adaptive", (3,), "ReLU(X W_0 + b_0) W_1 + b_1", _NONE)
_other(
    "GAT", "GAT", "velickovic2018graph", (3,),
    "h_i = ELU(∥_k Σ_j α^k_ij W^k h_j), α^k_ij = softmax_j LeakyReLU(a_k [W^k h_i ∥ W^k h_j])",
    "It learns which neighbours to listen to, but all weights are positive and sum to one.",
)  # fmt: skip
_other(
    "APPNP", "APPNP", "klicpera2019predict", (3,),
    "Z_{k+1} = (1−α) Â_sym Z_k + α Z_0, Z_0 = MLP(X)",
    "Every step returns to the node's own prediction by a share α; the rest of it is low-pass.",
)  # fmt: skip
_other(
    "GPRGNN", "GPRGNN", "chien2021adaptive", (3, 8),
    "Y = Σ_k γ_k Â_sym^k MLP(X), γ learned",
    "The weights of the hops may turn negative: one filter for all nodes, high-pass if need be.",
)  # fmt: skip
_other(
    "H2GCN", "H2GCN", "zhu2020beyond", (3, 8),
    "Y = [r_0 ∥ … ∥ r_K] W, r_k = BN([Â_1 r_{k−1} ∥ Â_2 r_{k−1}]), r_0 = ReLU(X W_e)",
    "The node, its neighbours and theirs are kept apart; only the last map joins them.",
)  # fmt: skip
_other(
    "MixHop", "MixHop", "abu2019mixhop", (3,),
    "Y = Z_L W, H_l = ReLU(BN(Z_l)),"
    " Z_l = [H_{l−1} W_0 ∥ Â_sym H_{l−1} W_1 ∥ Â_sym² H_{l−1} W_2]",
    "Powers of the filter stand side by side: differences between hops can be learned.",
)  # fmt: skip
_other(
    "GCN+JK", "GCNJK", "xu2018representation", (3,),
    "Y = JK(H_1, …, H_{L−1}, Z_L) W, H_l = ReLU(BN(Z_l)), Z_l = Â_sym H_{l−1} W_l",
    "The last map sees every layer, the least blurred among them.",
)  # fmt: skip
_other(
    "GAT+JK", "GATJK", "xu2018representation", (3,),
    "Y = JK(H_1, …, H_{L−1}, Z_L) W, H_l = ELU(BN(Z_l)), Z_l = GATConv(H_{l−1})",
    "The last map sees every layer of attention, the least blurred among them.",
)  # fmt: skip
_other(
    "FAGCN", "FAGCN", "bo2021beyond", (3, 8),
    "h_i^l = ε h_i^0 + Σ_j tanh(g [h_i ∥ h_j]) / √(d_i d_j) h_j",
    "Every edge has a learned weight between −1 and 1: negative ones sharpen differences.",
)  # fmt: skip
_other(
    "GraphSAGE", "GraphSAGE", "hamilton2017inductive", (3,),
    "h_i' = ReLU(W_1 h_i + W_2 mean_{j∈N(i)} h_j)",
    "The node and the mean of its neighbours have weights of their own: it can tell them apart."
    " The aggregator gcn, of the row's recipes, takes the mean of all: that is a GCN.",
)  # fmt: skip
_other(
    "Geom-GCN", "GeomGCN", "pei2020geom", (3, 8),
    "H' = ReLU(∥_{i,r} Ã_{i,r} H W_{i,r}), i: in the graph or a latent space, r: the direction",
    "Neighbours near in a latent space join those of the graph, told apart by direction.",
)  # fmt: skip
_layers("SGC-1", _LOW, (2, 3), "wu2019simplifying")
_layers("SGC-2", _LOW, (3,), "wu2019simplifying")
_gcnii("GCNII")
_gcnii("GCNII*")
_layers("GCN", _LOW, (2, 3), "kipf2016classification")
for _number in (2, 3):
    _other(
        f"Snowball-{_number}", "Snowball", "luan2019break", (3,),
        "H_l = ReLU(Â [X, H_1, …, H_{l−1}] W_l + b_l), Y = Â [X, H_1, …, H_{n−1}] W_n + b_n",
        "Every layer sees the features and all layers before; each is low-pass.",
        fixed={"layers": _number},
    )  # fmt: skip
_layers("ACM-SGC-1", _MIXED, (2, 3, 8))
_layers("ACM-SGC-2", _MIXED, (3, 8))
_gcnii("ACM-GCNII")
_gcnii("ACM-GCNII*")
_layers("ACM-GCN", _MIXED, (2, 3, 8))
_layers("ACM-Snowball-2", _MIXED, (3, 8))
_layers("ACM-Snowball-3", _MIXED, (3, 8))
_layers("ACMII-GCN", _MIXED, (2, 3, 8))
_layers("ACMII-Snowball-2", _MIXED, (3, 8))
_layers("ACMII-Snowball-3", _MIXED, (3, 8))

_layers("MLP-1", _NONE, ())
for _name, _residual, _more in (
    ("ACM-GCN+", False, ""),
    ("ACM-GCN++", True, " + ReLU(X W_R)"),
):
    register(
        _name,
        ACMPlus,
        equation=f"ACM(ReLU(ACM(X)){_more}), with a channel ReLU(A W_A) and layer norm",
        heterophily="As ACM-GCN; and who the neighbours are counts, whatever their features.",
        source="luan2022revisiting",
        beyond=True,
        fixed={"residual": _residual},
    )
