"""Look up, build and register models by the names that the paper's tables print.

The table of models is in `acm.models`. PyTorch is imported only when a model is built. The import
of this module also loads the user's models, from the modules and files that `ACM_MODELS` lists.
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
    """Return the model's name as the paper prints it; the case of letters is ignored."""
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
    """Build the model `name` as an `nn.Module`; the case of letters is ignored.

    Args:
        name, in_channels, out_channels: The model's name; number of features; number of classes.
        hidden, dropout: Width of the hidden layers; dropout probability.
        channels, mix: Values that replace those of the row, as in the ablation (Table 2).
        num_nodes: Number of nodes, for models with weights for every node (ACM-GCN+, ACM-GCN++).
        options: Other hyperparameters of the model, see `Entry.options`.

    Raises:
        UsageError: If the model, a hyperparameter or a channel is unknown, or a value is wrong.
    """
    entry = MODELS[model_name(name)]
    for option in options:
        if option not in entry.options:
            names = ", ".join(entry.options)
            hint = f"choose from {names}" if names else "it only has hidden and dropout"
            raise UsageError(f"{entry.name} has no hyperparameter {option!r}: {hint}")
    arguments = {**entry.options, **entry.fixed, **options}
    if entry.channels:
        arguments["channels"] = entry.channels if channels is None else tuple(channels)
        arguments["mix"] = entry.mix if mix is None else mix
    elif channels or mix is not None:
        raise UsageError(f"{entry.name} has no channels to choose from: omit channels and mix")
    if "num_nodes" in inspect.signature(entry.make).parameters:
        if num_nodes is None:
            raise UsageError(f"{entry.name} has weights for every node: num_nodes is needed")
        arguments["num_nodes"] = num_nodes
    return entry.make(in_channels, out_channels, hidden=hidden, dropout=dropout, **arguments)


def register(name: str, constructor: Callable | str, *, equation: str, **attributes) -> Entry:
    """Add your own model to the table and return its row.

    Args:
        name: The model's name, without commas.
        constructor: The class of the module, or `"module:class"`. It is called as
            `constructor(in_channels, out_channels, hidden=…, dropout=…, **options)`. The module is
            called as `model(x, graph)` and returns logits `[N, C]`. It needs a method
            `reset_parameters()`. It also needs `operator(edge_index, num_nodes)` if it does
            not propagate with `Â_rw`. Set `stackable = True` in a class that can train several
            trials at once, as a batch.
        equation: What the model computes, in one line.
        attributes: Other attributes of `Entry`. The default of `options` is all arguments of the
            constructor whose default is a number or a string.
    """
    if not isinstance(name, str) or not name.strip() or set(name) & set(",\n"):
        raise UsageError(f"the model name {name!r} is not valid: use words without commas")
    if name.casefold() in (model.casefold() for model in MODELS):
        raise UsageError(f"a model {name} already exists: choose another name")
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
        raise UsageError(f"{name} has no reset_parameters() to draw a trial's initial weights")
    handled = {"channels", "mix", "num_nodes", *arguments}  # set by `build`
    defaults = {p.name: p.default for p in signature.parameters.values() if p.name not in handled}
    options = {n: value for n, value in defaults.items() if type(value) in (int, float, str)}
    attributes = {"stackable": getattr(make, "stackable", False), "options": options} | attributes
    if reserved := {"lr", "weight_decay"} & set(attributes["options"]):
        names = ", ".join(sorted(reserved))
        raise UsageError(f"{name} has a hyperparameter {names}, as the trainer has: rename it")
    MODELS[name] = Entry(name, constructor, equation, user=True, **attributes)
    return MODELS[name]


def load_user_models() -> None:
    """Import the modules and files in the environment variable `ACM_MODELS`, to register models."""
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
                f"ACM_MODELS lists {name!r}, which cannot be loaded ({type(error).__name__}:"
                f" {reason}): an entry must be a module, or the path of a .py file"
            ) from error


load_user_models()
