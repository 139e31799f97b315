"""Describe a model, for the terminal (`acm models`) and for the book."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd
import torch

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments import recipe
from acm.experiments.recipes import (
    HYPERPARAMETERS,
    ORIGINS,
    WIDTH,
    arguments,
    default_options,
    in_words,
    read_options,
    write_options,
)
from acm.registry import MODELS, build
from acm.report.cells import PRINTED, Cell
from acm.report.comparison import Comparison
from acm.report.tables import html_box

#: The graphs for which the page of the book shows results and recipes.
GRAPHS = ("cornell", "chameleon", "cora")

#: The numbers of features, classes and nodes of Cora.
_CORA = 1433, 7, 2708


def size(name: str) -> str:
    """Return how many parameters a model has on Cora, with the recipe for Cora or the defaults."""
    try:
        cora = recipe(name, "cora")
        hidden, options = cora.hidden, cora.options
    except UsageError:  # a user's model has no recipe
        hidden, options = WIDTH, write_options(default_options(name))
    features, classes, nodes = _CORA
    keywords = arguments(name, options)
    with torch.random.fork_rng(devices=[]):
        model = build(name, features, classes, hidden, num_nodes=nodes, **keywords)
    return f"{sum(p.numel() for p in model.parameters()):,}"


def where_printed(name: str) -> str:
    """Return in words which tables of the paper print the model."""
    entry = MODELS[name]
    if not entry.tables:
        return "Not in this paper" if entry.beyond else "User model"
    return f"Table{'s'[: len(entry.tables) - 1]} {', '.join(map(str, entry.tables))}"


def _options(name: str) -> str:
    return ", ".join(f"{option} ({value})" for option, value in default_options(name).items())


def _recipes(name: str, split_scheme: str, datasets: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return for each graph the hyperparameters and their source, in words."""
    texts = {}
    for dataset in datasets:
        with contextlib.suppress(UsageError):  # a user's model
            r = recipe(name, dataset, split_scheme)
            values = {n: getattr(r, n) for n in HYPERPARAMETERS} | read_options(name, r.options)
            texts[dataset] = in_words(values), r.sentence()
    return texts


def card_text(name: str, split_scheme: str = "random") -> str:
    """Return the card of a model, as `acm models NAME` prints it."""
    entry = MODELS[name]
    mixed = "mixed node by node" if entry.mix else "not mixed"
    facts = {
        "heterophily": entry.heterophily,
        "paper": entry.source,
        "channels": f"{'+'.join(entry.channels)}, {mixed}" if entry.channels else "",
        "options": _options(name),
        "weights": f"{size(name)} on Cora",
        "stacks": "yes" if entry.stackable else "no",
    }
    lines = [f"{name} ({where_printed(name)})", "", f"  {entry.equation}", ""]
    lines += [f"{title:11}  {fact}" for title, fact in facts.items() if fact]
    lines += ["", f"recipes ({split_scheme} splits)"]
    recipes = _recipes(name, split_scheme, PAPER_DATASETS)
    for dataset, (values, source) in recipes.items():
        lines += [f"  {dataset:13}  {values}", f"{'':17}{source}"]
    return "\n".join(lines if recipes else [*lines, "  none: give lr, weight_decay and dropout"])


def cards(names: Sequence[str]) -> str:
    """Return the cards of models for the book, in MyST Markdown; the reader can open each card."""
    return "\n\n".join(map(_card, names))


def _card(name: str) -> str:
    entry = MODELS[name]
    options = f" Options: {_options(name)}." if _options(name) else ""
    # Graphs with the same hyperparameters from the same source share a line.
    graphs: dict[tuple[str, str], list[str]] = {}
    for dataset, texts in _recipes(name, "random", GRAPHS).items():
        graphs.setdefault(texts, []).append(dataset)
    recipes = "\n".join(
        f"- **{', '.join(datasets)}**: {_plain(' – '.join(texts))}."
        for texts, datasets in graphs.items()
    )
    return f"""\
<details class="model"><summary><strong>{escape(name)}</strong> \
{escape(entry.heterophily)}</summary><span id="{anchor(name)}"></span>

$$
{entry.latex}
$$

{where_printed(name)}. {size(name)} parameters on Cora.{options} Paper: {{cite:t}}`{entry.source}`.

Trained with

{recipes}

</details>"""


def overview(cells: Mapping[Cell, Comparison]) -> str:
    """Return an HTML table of all models: results on `GRAPHS`, and the sources of its recipes."""
    lines = []
    for name in (n for n, entry in MODELS.items() if entry.tables or entry.beyond):
        line = {"model": f'<a href="#{anchor(name)}">{escape(name)}</a>'}
        for dataset in GRAPHS:
            ours, paper = cells.get((name, dataset)), PRINTED.get((name, dataset))
            line[dataset] = f"{ours.mean:.1f}" if ours else "·"
            if paper and paper.mean is not None:
                line[dataset] += f" ({paper.mean:.1f})"
        count = Counter(recipe(name, dataset).origin for dataset in PAPER_DATASETS)
        line["recipes"] = "/".join(f"{count[o]} {o}" for o in ORIGINS if count[o])
        lines.append(line)
    return html_box(pd.DataFrame(lines).set_index("model"), "All models", "wraps")


def anchor(name: str) -> str:
    """Return the HTML id of a model's card."""
    return "card-" + name.lower().replace("*", "-star").replace("+", "-plus")


def _plain(text: str) -> str:
    """Escape the characters that have a meaning in Markdown."""
    return "".join(f"\\{c}" if c in "\\*_`$[]<>|{}" else c for c in text)
