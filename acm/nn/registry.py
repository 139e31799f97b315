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
from acm.nn.models import Architecture, Network

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
    def own(self) -> dict[str, int | float | str]:
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
    if taken := {"lr", "weight_decay"} & set(entry.own):
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
        own: Hyperparameters of the model's own, see `Entry.own`.

    Raises:
        UsageError: If there is no such model, an argument is out of range, or the model has no
            such hyperparameter or no channels to choose from.
    """
    entry = MODELS[model_name(name)]
    known = entry.own
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


def load_own() -> None:
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
