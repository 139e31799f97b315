"""List all models: one `Entry` (a row) per model. This module does not import PyTorch.

To add a model to the package, write its module and add a row here. A test of the registry compares
each row with its constructor.

Symbols of the equations: `X` features, `H_l` hidden features, `Y` logits, `W` weights, `b` biases,
`Â` the low-pass filter, `Â_sym` its symmetric form, `F_c` the filter of channel `c`,
`∥` concatenation, `BN` batch normalization, `ACM` one ACM layer, and `Mix` the mixing of its
channels (steps 2 and 3 of section 4.3).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """One row of the table of models."""

    name: str  # as the paper prints it
    #: `"module:name"` or the constructor itself, which is called as
    #: `constructor(in_channels, out_channels, hidden=…, dropout=…, **options)`.
    constructor: str | Callable
    equation: str  # what the model computes, in one line of text
    latex: str = ""  # the same in LaTeX
    heterophily: str = ""  # how the model treats neighbors of other classes
    source: str = ""  # the key of the model's paper in the bibliography
    tables: tuple[int, ...] = ()  # numbers of the paper's tables that print the model
    channels: tuple[str, ...] = ()  # the channels; empty if the user cannot choose them
    mix: bool = False  # whether each node has its own mixing weights
    #: Hyperparameters that only this model has, with their defaults.
    options: Mapping[str, int | float | str] = field(default_factory=dict)
    #: Arguments that distinguish this row from other rows with the same constructor.
    fixed: Mapping[str, object] = field(default_factory=dict)
    stackable: bool = True  # whether trials with the default options can train as a batch
    user: bool = False  # whether a user registered the model

    @property
    def beyond(self) -> bool:
        """Whether this package adds the model to those of the paper's tables."""
        return not (self.tables or self.user)

    @property
    def make(self) -> Callable:
        """The constructor. The first access imports its module."""
        if not isinstance(self.constructor, str):
            return self.constructor
        module, name = self.constructor.split(":")
        return getattr(importlib.import_module(module), name)


_LOW = "Neighbors are averaged with positive weights, so neighbors of other classes blur a node."
_MIXED = (
    "Each node weights three channels: the mean over its neighborhood (low-pass), its difference"
    " from this mean (high-pass) and its own features (identity)."
)
_NO_GRAPH = "The model ignores the graph, so heterophily has no effect."
_LINEAR = {"channel": "low", "nonlinear": False, "input_dropout": False}
_THREE = {"channels": ("low", "high", "identity"), "mix": True}


def _aligned(*lines: str) -> str:
    return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"


def _network(name, equation, latex, heterophily, tables, source="luan2021heterophily", **fixed):
    """Return the row of a network of ACM layers, see `acm.nn.Network`."""
    channels = {"channels": (fixed.pop("channel"),)} if "channel" in fixed else _THREE
    fixed = {"hops": 1, "variant": "acm"} | fixed
    return Entry(name, "acm.nn.networks:Network", equation, latex, heterophily, source, tables,
        **channels, fixed=fixed)  # fmt: skip


def _gcnii(name, equation, *latex):
    """Return the row of GCNII, GCNII*, ACM-GCNII or ACM-GCNII*, see `acm.nn.GCNII`."""
    acm = name.startswith("ACM")
    low = "Every layer adds the unfiltered initial features H_0 with the weight α."
    # These depths are in the paper's search ranges: 4 to 64 layers, or 1 to 4 for ACM models.
    options = {"layers": 2 if acm else 8, "lambda_": 0.5, "alpha": 0.1}
    return Entry(name, "acm.nn.gcnii:GCNII", equation + ", β_l = log(λ/l + 1)",
        _aligned(*latex, r"\beta_l &= \log(\lambda / l + 1)"), _MIXED if acm else low,
        "chen2020simple", (3,), **(_THREE if acm else {"channels": ("low",)}),
        options=options, fixed={"star": name.endswith("*")})  # fmt: skip


def _snowball(number):
    """Return the row of Snowball-2 or Snowball-3."""
    return Entry(f"Snowball-{number}", "acm.baselines.plain:Snowball",
        "H_l = ReLU(Â [X, H_1, …, H_{l−1}] W_l + b_l), Y = Â [X, H_1, …, H_{n−1}] W_n + b_n",
        _aligned(r"H_l &= \operatorname{ReLU}(\hat A [X, H_1, \dots, H_{l-1}] W_l + b_l),",
                 r"Y &= \hat A [X, H_1, \dots, H_{n-1}] W_n + b_n"),
        "Every layer filters the features and the outputs of all earlier layers with a low-pass.",
        "luan2019break", (3,), options={"act": "relu"}, fixed={"layers": number})  # fmt: skip


def _acm_snowball(form, number):
    """Return the row of an ACM or ACMII form of Snowball."""
    layer = rf"\operatorname{{{form}}}([X, H_1, \dots, H_"
    return _network(f"{form}-Snowball-{number}",
        f"H_l = ReLU({form}([X, H_1, …, H_{{l−1}}])), Y = {form}([X, H_1, …, H_{{n−1}}])",
        _aligned(rf"H_l &= \operatorname{{ReLU}}({layer}{{l-1}}])),", rf"Y &= {layer}{{n-1}}])"),
        _MIXED, (3, 8), layers=number, variant=form.lower(), snowball=True)  # fmt: skip


def _acm_plus(name, residual, latex):
    """Return the row of ACM-GCN+ or ACM-GCN++."""
    layers = r"\operatorname{ACM}(\operatorname{ReLU}(\operatorname{ACM}(X))"
    return Entry(name, "acm.nn.structure:ACMPlus",
        f"ACM(ReLU(ACM(X)){residual}), with a channel ReLU(A W_A) and layer norm",
        _aligned(rf"& {layers}{latex}),", r"&\quad \text{with a channel } "
                 r"\operatorname{ReLU}(A W_A) \text{ and layer norm}"),
        "As ACM-GCN, with another channel that uses the neighbors' identities.",
        "luan2022revisiting", fixed={"residual": bool(residual)})  # fmt: skip


_ROWS = (
    Entry("MLP-2", "acm.baselines.plain:MLP", "ReLU(X W_0 + b_0) W_1 + b_1",
        r"\operatorname{ReLU}(X W_0 + b_0) W_1 + b_1", _NO_GRAPH, "chien2021adaptive", (3,)),
    Entry("GAT", "acm.baselines.attention:GAT",
        "h_i = ELU(∥_k Σ_j α^k_ij W^k h_j), α^k_ij = softmax_j LeakyReLU(a_k [W^k h_i ∥ W^k h_j])",
        _aligned(r"h_i &= \operatorname{ELU}(\mathop{\Vert}_k \sum_j \alpha^k_{ij} W^k h_j),",
                 r"\alpha^k_{ij} &= \operatorname{softmax}_j \operatorname{LeakyReLU}"
                 r"(a_k [W^k h_i \mathbin{\Vert} W^k h_j])"),
        "Each neighbor has a learned weight, but all weights are positive and sum to one.",
        "velickovic2018graph", (3,), options={"layers": 2, "heads": 8, "out_heads": 1}),
    Entry("APPNP", "acm.baselines.plain:APPNP",
        "Z_{k+1} = (1−α) Â_sym Z_k + α Z_0, Z_0 = MLP(X)",
        _aligned(r"Z_{k+1} &= (1-\alpha) \hat A_{\mathrm{sym}} Z_k + \alpha Z_0,",
                 r"Z_0 &= \operatorname{MLP}(X)"),
        "Every step applies a low-pass filter and adds the node's own prediction with weight α.",
        "klicpera2019predict", (3,), options={"K": 10, "alpha": 0.1}),
    Entry("GPRGNN", "acm.baselines.plain:GPRGNN", "Y = Σ_k γ_k Â_sym^k MLP(X), γ learned",
        r"Y = \sum_k \gamma_k \hat A_{\mathrm{sym}}^k \operatorname{MLP}(X),"
        r" \quad \gamma \text{ learned}",
        "The weight of a hop may become negative, so the filter of all nodes may be high-pass.",
        "chien2021adaptive", (3, 8), options={"K": 10, "alpha": 0.1, "dprate": 0.5}),
    Entry("H2GCN", "acm.baselines.neighborhoods:H2GCN",
        "Y = [r_0 ∥ … ∥ r_K] W, r_k = BN([Â_1 r_{k−1} ∥ Â_2 r_{k−1}]), r_0 = ReLU(X W_e)",
        _aligned(r"Y &= [r_0 \mathbin{\Vert} \dots \mathbin{\Vert} r_K] W,",
                 r"r_k &= \operatorname{BN}([\hat A_1 r_{k-1} \mathbin{\Vert} \hat A_2 r_{k-1}]),",
                 r"r_0 &= \operatorname{ReLU}(X W_e)"),
        "The node and the nodes at distance 1 and 2 stay separate until the last linear layer.",
        "zhu2020beyond", (3, 8), options={"layers": 2}, stackable=False),
    Entry("MixHop", "acm.baselines.neighborhoods:MixHop",
        "Y = Z_L W, H_l = ReLU(BN(Z_l)),"
        " Z_l = [H_{l−1} W_0 ∥ Â_sym H_{l−1} W_1 ∥ Â_sym² H_{l−1} W_2]",
        _aligned(r"Y &= Z_L W,", r"H_l &= \operatorname{ReLU}(\operatorname{BN}(Z_l)),",
                 r"Z_l &= [H_{l-1} W_0 \mathbin{\Vert} \hat A_{\mathrm{sym}} H_{l-1} W_1",
                 r"&\quad \mathbin{\Vert} \hat A_{\mathrm{sym}}^2 H_{l-1} W_2]"),
        "Powers of the filter are concatenated, so that weights can form differences between hops.",
        "abu2019mixhop", (3,), options={"layers": 2}, stackable=False),
    Entry("GCN+JK", "acm.baselines.neighborhoods:GCNJK",
        "Y = JK(H_1, …, H_{L−1}, Z_L) W, H_l = ReLU(BN(Z_l)), Z_l = Â_sym H_{l−1} W_l",
        _aligned(r"Y &= \operatorname{JK}(H_1, \dots, H_{L-1}, Z_L) W,",
                 r"H_l &= \operatorname{ReLU}(\operatorname{BN}(Z_l)),",
                 r"Z_l &= \hat A_{\mathrm{sym}} H_{l-1} W_l"),
        "The last linear layer sees every layer, including the first, which is blurred least.",
        "xu2018representation", (3,), options={"layers": 2, "jk": "max"}, stackable=False),
    Entry("GAT+JK", "acm.baselines.neighborhoods:GATJK",
        "Y = JK(H_1, …, H_{L−1}, Z_L) W, H_l = ELU(BN(Z_l)), Z_l = GATConv(H_{l−1})",
        _aligned(r"Y &= \operatorname{JK}(H_1, \dots, H_{L-1}, Z_L) W,",
                 r"H_l &= \operatorname{ELU}(\operatorname{BN}(Z_l)),",
                 r"Z_l &= \operatorname{GATConv}(H_{l-1})"),
        "The last linear layer sees every attention layer, also the first, which is blurred least.",
        "xu2018representation", (3,), options={"layers": 2, "heads": 8, "jk": "max"},
        stackable=False),
    Entry("FAGCN", "acm.baselines.attention:FAGCN",
        "h_i^l = ε h_i^0 + Σ_j tanh(g [h_i ∥ h_j]) / √(d_i d_j) h_j",
        r"h_i^l = \varepsilon h_i^0"
        r" + \sum_j \frac{\tanh(g [h_i \mathbin{\Vert} h_j])}{\sqrt{d_i d_j}} h_j",
        "Every edge has a learned weight from −1 to 1; negative weights sharpen differences.",
        "bo2021beyond", (3, 8), options={"layers": 2, "epsilon": 0.3}),
    Entry("GraphSAGE", "acm.baselines.neighborhoods:GraphSAGE",
        "h_i' = ReLU(W_1 h_i + W_2 mean_{j∈N(i)} h_j)",
        r"h_i' = \operatorname{ReLU}(W_1 h_i + W_2 \operatorname{mean}_{j \in N(i)} h_j)",
        "The node and the mean of its neighbors have separate weights. Our recipes use the"
        " aggregator gcn instead: one mean over the node and its neighbors, as in GCN.",
        "hamilton2017inductive", (3,), options={"layers": 2, "aggregator": "mean"}),
    Entry("Geom-GCN", "acm.baselines.geomgcn:GeomGCN",
        "H' = ReLU(∥_{i,r} Ã_{i,r} H W_{i,r}), i: in the graph or a latent space, r: the direction",
        _aligned(r"H' &= \operatorname{ReLU}(\mathop{\Vert}_{i,r} \tilde A_{i,r} H W_{i,r}),",
                 r"&\quad i \text{: in the graph or a latent space,}",
                 r"&\quad r \text{: the direction}"),
        "A node also has neighbors in a latent space, and each direction has separate weights.",
        "pei2020geom", (3, 8), options={"layers": 2}),
    _network("SGC-1", "Â X W", r"\hat A X W", _LOW, (2, 3), "wu2019simplifying",
        **_LINEAR, layers=1),
    _network("SGC-2", "Â² X W", r"\hat A^2 X W", _LOW, (3,), "wu2019simplifying",
        **_LINEAR, layers=1, hops=2),
    _gcnii("GCNII", "H_l = ReLU(((1−α) Â H_{l−1} + α H_0) ((1−β_l) I + β_l W_l))",
        r"H_l &= \operatorname{ReLU}(((1-\alpha) \hat A H_{l-1} + \alpha H_0)",
        r"&\quad ((1-\beta_l) I + \beta_l W_l)),"),
    _gcnii("GCNII*",
        "H_l = ReLU((1−β_l) ((1−α) Â H_{l−1} + α H_0) + β_l (Â H_{l−1} W_l + H_0 W'_l))",
        r"H_l &= \operatorname{ReLU}((1-\beta_l) ((1-\alpha) \hat A H_{l-1} + \alpha H_0)",
        r"&\quad + \beta_l (\hat A H_{l-1} W_l + H_0 W'_l)),"),
    _network("GCN", "Â ReLU(Â X W_0) W_1", r"\hat A \operatorname{ReLU}(\hat A X W_0) W_1", _LOW,
        (2, 3), "kipf2016classification", **_LINEAR, layers=2),
    _snowball(2), _snowball(3),
    _network("ACM-SGC-1", "Mix(Â X W_L, (I−Â) X W_H, X W_I)",
        r"\operatorname{Mix}(\hat A X W_L, (I-\hat A) X W_H, X W_I)",
        _MIXED, (2, 3, 8), layers=1, nonlinear=False),
    # The paper does not define the high-pass filter of two hops. We take I − Â², because section
    # 4.2 requires H_LP + H_HP = I. The authors' release uses Â² and I − Â, whose sum is not I.
    _network("ACM-SGC-2", "Mix(Â² X W_L, (I−Â²) X W_H, X W_I)",
        r"\operatorname{Mix}(\hat A^2 X W_L, (I-\hat A^2) X W_H, X W_I)",
        _MIXED, (3, 8), layers=1, hops=2, nonlinear=False),
    _gcnii("ACM-GCNII", "H_l = Mix_c ReLU(((1−α) F_c H_{l−1} + α H_0) ((1−β_l) I + β_l W_{c,l}))",
        r"H_l &= \operatorname{Mix}_c \operatorname{ReLU}(((1-\alpha) F_c H_{l-1} + \alpha H_0)",
        r"&\quad ((1-\beta_l) I + \beta_l W_{c,l})),"),
    _gcnii("ACM-GCNII*",
        "H_l = Mix_c ReLU((1−β_l) ((1−α) F_c H_{l−1} + α H_0)"
        " + β_l (F_c H_{l−1} W_{c,l} + H_0 W'_{c,l}))",
        r"H_l &= \operatorname{Mix}_c \operatorname{ReLU}((1-\beta_l) ((1-\alpha) F_c H_{l-1}"
        r" + \alpha H_0)", r"&\quad + \beta_l (F_c H_{l-1} W_{c,l} + H_0 W'_{c,l})),"),
    _network("ACM-GCN", "ACM(ReLU(ACM(X)))",
        r"\operatorname{ACM}(\operatorname{ReLU}(\operatorname{ACM}(X)))",
        _MIXED, (2, 3, 8), layers=2),
    _acm_snowball("ACM", 2), _acm_snowball("ACM", 3),
    _network("ACMII-GCN", "ACMII(ReLU(ACMII(X)))",
        r"\operatorname{ACMII}(\operatorname{ReLU}(\operatorname{ACMII}(X)))",
        _MIXED, (2, 3, 8), layers=2, variant="acmii"),
    _acm_snowball("ACMII", 2), _acm_snowball("ACMII", 3),
    _network("MLP-1", "X W", "X W", _NO_GRAPH, (), **(_LINEAR | {"channel": "identity"}), layers=1),
    _acm_plus("ACM-GCN+", "", ""),
    _acm_plus("ACM-GCN++", " + ReLU(X W_R)", r" + \operatorname{ReLU}(X W_R)"),
)  # fmt: skip

MODELS: dict[str, Entry] = {entry.name: entry for entry in _ROWS}
