"""Look up, build and register models by the names that the paper's tables print.

The table is in `acm.models`. Neither module imports PyTorch before a model is built. At the end,
this module loads the user's models: the modules or files that `ACM_MODELS` names.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from acm.errors import UsageError, unknown
from acm.models import MODELS, Entry


def model_name(name: str) -> str:
    """Return the name as the paper prints it, for a name in any case."""
    printed = {model.lower(): model for model in MODELS}
    if str(name).lower() not in printed:
        raise unknown("model", name, MODELS)
    return printed[str(name).lower()]


def build(
    name: str,
    in_channels: int,
    out_channels: int,
    hidden: int = 64,
    dropout: float = 0.5,
    channels: Sequence[str] | None = None,
    mix: bool | None = None,
    num_nodes: int | None = None,
    **options,
):
    """Return a new model, an `nn.Module`, by the row's name in any case.

    Args:
        name, in_channels, out_channels: The model; features `F` of a node; classes `C`.
        hidden, dropout: Width of a hidden layer; probability that a value is dropped.
        channels, mix: Other channels than the row's, or another mixing (the ablation of Table 2).
        num_nodes: `N`, for models whose weights depend on it (ACM-GCN+ and ACM-GCN++).
        options: Hyperparameters of this model, see `Entry.options`.

    Raises:
        UsageError: If there is no such model, hyperparameter or channel, or a value is wrong.
    """
    entry = MODELS[model_name(name)]
    for option in options:
        if option not in entry.options:
            names = ", ".join(entry.options)
            hint = f"its own are {names}" if names else "it has none of its own"
            raise UsageError(f"{entry.name} has no hyperparameter {option!r}: {hint}")
    arguments = {**entry.options, **entry.fixed, **options}
    if entry.channels:
        arguments["channels"] = entry.channels if channels is None else tuple(channels)
        arguments["mix"] = entry.mix if mix is None else mix
    elif channels or mix is not None:
        raise UsageError(f"{entry.name} has no channels to choose from: leave channels and mix out")
    if "num_nodes" in inspect.signature(entry.make).parameters:
        if num_nodes is None:
            raise UsageError(f"{entry.name} has weights for every node: num_nodes is needed")
        arguments["num_nodes"] = num_nodes
    return entry.make(in_channels, out_channels, hidden=hidden, dropout=dropout, **arguments)


def register(name: str, constructor: Callable | str, *, equation: str, **attributes) -> Entry:
    """Add a model of your own to the table.

    Args:
        name: The model's name, without commas.
        constructor: The class of the module, or `"module:class"`. It is called as
            `constructor(in_channels, out_channels, hidden=…, dropout=…, **options)`. The module is
            called as `model(x, graph)` and returns logits `[N, C]`. It has `reset_parameters()`,
            and `operator(edge_index, num_nodes)` if it does not propagate with `Â_rw`. Its class
            says `stackable = True` if its code also fits a batch of trials.
        equation: What the model computes, in one line.
        attributes: Other attributes of `Entry`. Without `options`, these are the constructor's
            arguments whose default is a number or a word.
    """
    if not isinstance(name, str) or not name.strip() or set(name) & set(",\n"):
        raise UsageError(f"a model's name is {name!r}: words without commas are needed")
    if name.casefold() in (model.casefold() for model in MODELS):
        raise UsageError(f"there is a model {name} already: another name is needed")
    arguments = {"hidden": 64, "dropout": 0.5} | dict(attributes.get("fixed", {}))
    arguments |= {"channels": None, "mix": None} if attributes.get("channels") else {}
    try:
        make = Entry(name, constructor, equation).make
        signature = inspect.signature(make)
        signature.bind(1, 1, **arguments)
    except (AttributeError, ImportError, TypeError, ValueError) as error:
        call = "constructor(in_channels, out_channels, hidden=…, dropout=…)"
        raise UsageError(f"{name} cannot be called as {call}: {error}") from error
    if isinstance(make, type) and not hasattr(make, "reset_parameters"):
        raise UsageError(f"{name} has no reset_parameters(), which draws a trial's first weights")
    handled = {"channels", "mix", "num_nodes", *arguments}  # by `build`
    defaults = {p.name: p.default for p in signature.parameters.values() if p.name not in handled}
    options = {n: value for n, value in defaults.items() if type(value) in (int, float, str)}
    attributes = {"stackable": getattr(make, "stackable", False), "options": options} | attributes
    if taken := {"lr", "weight_decay"} & set(attributes["options"]):
        wrong = ", ".join(sorted(taken))
        raise UsageError(f"{name} has a hyperparameter {wrong}: every training has one, rename it")
    MODELS[name] = Entry(name, constructor, equation, user=True, **attributes)
    return MODELS[name]


def load_user_models() -> None:
    """Import the modules or files named by `ACM_MODELS`, which register further models."""
    names = (name.strip() for name in os.environ.get("ACM_MODELS", "").split(","))
    for number, name in enumerate(filter(None, names)):
        try:
            if name.endswith(".py"):
                path = Path(name).expanduser().resolve()
                spec = importlib.util.spec_from_file_location(f"acm_models_{number}", path)
                sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
            # A folder without __init__.py imports as an empty module, which has no origin.
            elif importlib.import_module(name).__spec__.origin is None:
                raise IsADirectoryError("it is a folder")
        except Exception as error:
            reason = " ".join(str(error).split())
            raise UsageError(
                f"ACM_MODELS names {name!r}, which cannot be loaded ({type(error).__name__}:"
                f" {reason}): a module, or the path of a .py file, that registers models is needed"
            ) from error


load_user_models()
