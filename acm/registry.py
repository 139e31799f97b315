"""Every model by the name that the paper's tables print, and how to add one."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from torch import nn

from acm.errors import UsageError, unknown
from acm.nn.checks import CHANNELS
from acm.nn.gcnii import GCNII
from acm.nn.models import ARCHITECTURES, Architecture, Network
from acm.nn.structure import ACMPlus

#: What every constructor takes, and what only some models have.
_COMMON = ("in_channels", "out_channels", "hidden", "dropout")
_BY_ENTRY = ("channels", "mix", "num_nodes")


@dataclass(frozen=True)
class Entry:
    """A model, and what to know of it.

    Attributes:
        name: As the paper prints it.
        constructor: Called as `constructor(in_channels, out_channels, hidden, dropout, **own)`; or
            where it is, as `"module:name"`, imported when it is first needed.
        equation: What it computes, in one line.
        heterophily: What becomes of neighbours from other classes, in one sentence.
        tables: The numbers of the paper's tables that print it.
        source: The key of its paper in the bibliography.
        channels, mix: Its channels, if it has any that can be left out, and whether nodes mix them.
        beyond: Whether it is beyond this paper.
        fixed: Arguments of the constructor that make it this row.
        defaults: Other defaults of its own hyperparameters than the constructor's.
    """

    name: str
    constructor: Callable[..., nn.Module] | str
    equation: str
    heterophily: str = ""
    tables: tuple[int, ...] = ()
    source: str = ""
    channels: tuple[str, ...] = ()
    mix: bool = False
    beyond: bool = False
    fixed: Mapping[str, object] = field(default_factory=dict)
    defaults: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def make(self) -> Callable[..., nn.Module]:
        """The constructor itself."""
        return _resolve(self.constructor)

    @property
    def options(self) -> dict[str, int | float | str]:
        """The hyperparameters that only this model has, with their defaults."""
        given = (*_COMMON, *_BY_ENTRY, *self.fixed)
        parameters = inspect.signature(self.make).parameters.values()
        own = {p.name: p.default for p in parameters if p.name not in given}
        own |= self.defaults
        return {n: v for n, v in own.items() if type(v) in (int, float, str)}


@functools.cache
def _resolve(constructor: Callable[..., nn.Module] | str) -> Callable[..., nn.Module]:
    if not isinstance(constructor, str):
        return constructor
    module, name = constructor.split(":")
    return getattr(importlib.import_module(module), name)


MODELS: dict[str, Entry] = {}


def channelled(
    row: Architecture,
    in_channels: int,
    out_channels: int,
    hidden: int = 64,
    dropout: float = 0.5,
    channels: Sequence[str] | None = None,
    mix: bool | None = None,
) -> Network:
    """The network of a row, with other channels than its own if they are given."""
    row = replace(
        row,
        channels=row.channels if channels is None else tuple(channels),
        mix=row.mix if mix is None else mix,
    )
    return Network(row, in_channels, out_channels, hidden, dropout)


def register(
    name: str, constructor: Callable[..., nn.Module] | str, *, equation: str, **about
) -> Entry:
    """Add a model: from then on `build`, `acm.experiments` and `acm models` know it.

    Args:
        name: Its name, in any case on the command line.
        constructor: A module's class, called as
            `constructor(in_channels, out_channels, hidden=…, dropout=…, **own)`. The module is
            called as `model(x, graph)` and returns logits `[N, C]`; it has `reset_parameters()`,
            and `operator(edge_index, num_nodes)` if it propagates with something else than the
            low-pass filter `Â_rw`. Further arguments with a default that is a number or a word are
            hyperparameters of its own.
        equation: What it computes, in one line.
        about: Other attributes of `Entry`.

    Raises:
        UsageError: If another model has the name, or `build` could not call the constructor.
    """
    if not isinstance(name, str) or not name.strip() or set(name) & set(",\n"):
        raise UsageError(f"a model's name is {name!r}: words without commas are needed")
    if name.casefold() in (known.casefold() for known in MODELS):
        raise UsageError(f"there is a model {name} already: another name is needed")
    if not isinstance(equation, str) or "\n" in equation:
        raise UsageError(f"the equation of {name} is {equation!r}: one line of text is needed")
    if odd := set(about) - {f.name for f in fields(Entry)}:
        raise UsageError(f"{name}: a model has no {', '.join(sorted(odd))}")
    entry = Entry(name, constructor, equation, **about)
    _check_constructor(entry)
    MODELS[name] = entry
    return entry


def _check_constructor(entry: Entry) -> None:
    """Raise `UsageError` unless `build` can call it; one named by a text is looked at then."""
    make = entry.constructor
    if isinstance(make, str) and make.count(":") == 1:
        return
    if not callable(make):
        raise UsageError(
            f"the constructor of {entry.name} is {make!r}: a class, or 'module:class', is needed"
        )
    given = dict(hidden=64, dropout=0.5) | dict(entry.fixed)
    given |= dict(channels=entry.channels, mix=entry.mix) if entry.channels else {}
    try:
        inspect.signature(make).bind(1, 1, **given)
    except TypeError as error:
        raise UsageError(
            f"{entry.name} cannot be called as"
            f" constructor(in_channels, out_channels, hidden=…, dropout=…): {error}"
        ) from error
    if taken := {"lr", "weight_decay"} & set(entry.options):
        raise UsageError(
            f"{entry.name} has a hyperparameter {', '.join(sorted(taken))} of its own: another"
            " name is needed, for every training has one of that name"
        )
    if isinstance(make, type) and not hasattr(make, "reset_parameters"):
        raise UsageError(
            f"{entry.name} has no reset_parameters(), by which every trial draws initial weights"
        )


def model_name(name: str) -> str:
    """The name as the paper prints it, whatever the case; a near miss is told what is near.

    Raises:
        UsageError: If there is no such model; the line names those there are.
    """
    known = {model.lower(): model for model in MODELS}
    if str(name).lower() not in known:
        raise unknown("model", name, MODELS)
    return known[str(name).lower()]


def build(
    name: str,
    in_channels: int,
    out_channels: int,
    hidden: int = 64,
    dropout: float = 0.5,
    channels: Sequence[str] | None = None,
    mix: bool | None = None,
    num_nodes: int | None = None,
    **own,
) -> nn.Module:
    """The model of a row of the paper's tables.

    Args:
        name: The row's name, such as `"ACM-GCN"`, in any case.
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width of a hidden layer.
        dropout: Probability that a value is dropped.
        channels: Other channels than the row's (the ablation of Table 2).
        mix: Whether to mix them, where it is not as in the row.
        num_nodes: `N`, for the models whose weights depend on it (ACM-GCN+ and ACM-GCN++).
        own: Hyperparameters of the model's own, see `Entry.options`.

    Raises:
        UsageError: If there is no such model, an argument is out of range, or the model has no
            such hyperparameter or no channels to choose from.
    """
    entry = MODELS[model_name(name)]
    known = entry.options
    for word in own:
        if word not in known:
            has = f"its own are {', '.join(known)}" if known else "it has none of its own"
            raise UsageError(f"{entry.name} has no hyperparameter {word!r}: {has}")
    given = known | dict(entry.fixed) | own
    if entry.channels:
        given["channels"] = entry.channels if channels is None else tuple(channels)
        given["mix"] = entry.mix if mix is None else mix
    elif channels or mix:
        raise UsageError(f"{entry.name} has no channels to choose from: leave channels and mix out")
    if "num_nodes" in inspect.signature(entry.make).parameters:
        if num_nodes is None:
            raise UsageError(f"{entry.name} has weights for every node: num_nodes is needed")
        given["num_nodes"] = num_nodes
    return entry.make(in_channels, out_channels, hidden=hidden, dropout=dropout, **given)


_FOLDER = "it is a folder"


def load_user_models() -> None:
    """Import what `ACM_MODELS` names: modules, or files, that register further models.

    Raises:
        UsageError: If one of them cannot be loaded, whatever is wrong with it.
    """
    names = (name.strip() for name in os.environ.get("ACM_MODELS", "").split(","))
    for number, name in enumerate(filter(None, names)):
        try:
            if Path(name).expanduser().is_dir() and not name.isidentifier():
                raise IsADirectoryError(_FOLDER)
            if not name.endswith(".py"):
                # A folder of that name is a module as well, one of which nothing is executed.
                if importlib.import_module(name).__spec__.origin is None:
                    raise IsADirectoryError(_FOLDER)
                continue
            path = Path(name).expanduser().resolve()
            spec = importlib.util.spec_from_file_location(f"acm_models_{number}", path)
            sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        except Exception as error:
            said = " ".join(str(error).split())
            raise UsageError(
                f"ACM_MODELS names {name!r}, which cannot be loaded ({type(error).__name__}:"
                f" {said}): a module, or the path of a .py file, that registers models is needed"
            ) from error


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
        f"acm.baselines:{kind}",
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

load_user_models()
