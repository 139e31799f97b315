"""Describe a model, for the terminal (`acm models`) and for the book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

import torch

from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments.recipes import (
    ORIGINS,
    WIDTH,
    Recipe,
    arguments,
    default_options,
    recipe,
    write_options,
)
from acm.registry import MODELS, Entry, build
from acm.report.cells import Cell, paper_value_of
from acm.report.comparison import Comparison
from acm.report.numbers import NONE
from acm.training.stack import private_generator

#: A card of the book shows the results on these graphs.
GRAPHS = ("cornell", "chameleon", "cora")

#: The mark of a cell without records; the page explains it in a legend.
_NOT_TRAINED = "·"

_NO_RECIPE = "none: give lr, weight_decay and dropout"

#: The numbers of features, classes and nodes of Cora.
_CORA = 1433, 7, 2708


def where_printed(entry: Entry) -> str:
    """Return in words which tables of the paper print the model."""
    if not entry.tables:
        return "beyond this paper" if entry.beyond else "a model of your own"
    tables = ", ".join(map(str, entry.tables))
    return f"Table{'s' * (len(entry.tables) > 1)} {tables}"


def size(name: str) -> str:
    """Return the number of weights on Cora; `-` if the model cannot be built."""
    try:
        cora = recipe(name, "cora")
        hidden, options = cora.hidden, cora.options
    except UsageError:  # a user's model has no recipe
        hidden, options = WIDTH, write_options(default_options(name))
    features, classes, nodes = _CORA
    try:
        with private_generator(torch.device("cpu")):
            model = build(
                name, features, classes, hidden, num_nodes=nodes, **arguments(name, options)
            )
    except UsageError:
        return "-"
    return f"{sum(p.numel() for p in model.parameters()):,}"


def recipes(
    name: str, split_scheme: str = "random", datasets: Sequence[str] = PAPER_DATASETS
) -> dict[str, Recipe | None]:
    """Return the recipe of the model on each graph; `None` if there is no recipe."""
    by_graph: dict[str, Recipe | None] = {}
    for dataset in datasets:
        try:
            by_graph[dataset] = recipe(name, dataset, split_scheme)
        except UsageError:
            by_graph[dataset] = None
    return by_graph


def origins(name: str, split_scheme: str = "random") -> str:
    """Return in words how many of the ten recipes come from which source."""
    count = Counter(r.origin if r else "none" for r in recipes(name, split_scheme).values())
    return ", ".join(f"{count[o]} {o}" for o in (*ORIGINS, "none") if count[o])


def _hyperparameters(r: Recipe) -> str:
    """Return all hyperparameters of a recipe in one line."""
    options = f", {r.options.replace(' ', ', ').replace('=', ' ')}" if r.options else ""
    return (
        f"lr {r.lr:g}, weight decay {r.weight_decay:g}, dropout {r.dropout:g}, hidden {r.hidden}"
        + options
    )


def card_text(name: str, split_scheme: str = "random") -> str:
    """Return the card of a model, as `acm models NAME` prints it."""
    entry = MODELS[name]
    lines = [f"{entry.name} ({where_printed(entry)})", "", f"  {entry.equation}", ""]
    if entry.heterophily:
        lines.append(f"heterophily  {entry.heterophily}")
    if entry.source:
        lines.append(f"paper        {entry.source}")
    if entry.channels:
        mixed = "mixed node by node" if entry.mix else "not mixed"
        lines.append(f"channels     {'+'.join(entry.channels)}, {mixed}")
    if options := default_options(name):
        lines.append(f"options      {_in_words(options)}")
    lines += [
        f"weights      {size(name)} on Cora",
        f"stacks       {'yes' if entry.stackable else 'no'}",
        "",
    ]
    lines.append(f"recipes ({split_scheme} splits)")
    by_graph = recipes(name, split_scheme)
    if not any(by_graph.values()):
        lines.append(f"  {_NO_RECIPE}")
        by_graph = {}
    for dataset, r in by_graph.items():
        lines.append(f"  {dataset:13}  {_hyperparameters(r) if r else _NO_RECIPE}")
        if r:
            lines.append(f"{'':17}{r.sentence()}")
    return "\n".join(lines)


def _in_words(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name} ({value})" for name, value in options.items())


def cards(names: Sequence[str], cells: Mapping[Cell, Comparison]) -> str:
    """Return the cards of some models for the book, as MyST Markdown; a click opens a card.

    Args:
        names: The names of the models.
        cells: Comparisons by cell, as `acm.report.cells.table_3` returns them.
    """
    return "\n\n".join(_card(MODELS[name], cells) for name in names)


def _card(entry: Entry, cells: Mapping[Cell, Comparison]) -> str:
    name = entry.name
    about = [where_printed(entry), f"{size(name)} parameters on Cora"]
    if options := default_options(name):
        about.append(f"options: {_in_words(options)}")
    rows = ["| graph | paper | ours |", "| --- | --- | --- |"]
    rows += [f"| {dataset} | {' | '.join(_results(name, dataset, cells))} |" for dataset in GRAPHS]
    misprints = []
    for dataset in GRAPHS:
        if (value := paper_value_of(name, dataset)) and value.misprint:
            misprints += [f"A misprint in the paper: {dataset} is {_plain(value.misprint)}.", ""]
    # Graphs that have the same recipe from the same source share a line.
    trained: dict[str, list[str]] = {}
    for dataset, r in recipes(name, datasets=GRAPHS).items():
        text = f"{_hyperparameters(r)} – {r.sentence()}" if r else "no recipe"
        trained.setdefault(text, []).append(dataset)
    lines = [f"- **{', '.join(graphs)}**: {_plain(text)}." for text, graphs in trained.items()]
    return "\n".join(
        [
            f'<details class="model"><summary><strong>{escape(name)}</strong>'
            f' {escape(entry.heterophily)}</summary><span id="{anchor(name)}"></span>',
            "",
            "$$",
            getattr(entry, "latex", ""),
            "$$",
            "",
            f"{'. '.join(a[0].upper() + a[1:] for a in about)}. Paper: {{cite:t}}`{entry.source}`.",
            "",
            *rows,
            "",
            *misprints,
            "Trained with",
            "",
            *lines,
            "",
            "</details>",
        ]
    )


def _results(name: str, dataset: str, cells: Mapping[Cell, Comparison]) -> tuple[str, str]:
    """Return the paper's result and ours; `–` and "not run" if there is none."""
    value, comparison = paper_value_of(name, dataset), cells.get((name, dataset))
    ours = f"{comparison.ours}, {comparison.verdict}" if comparison else "not run"
    return value.shown if value else NONE, ours


def overview(cells: Mapping[Cell, Comparison]) -> str:
    """Return all models as a MyST Markdown table: results on three graphs, origins of recipes."""
    lines = [
        # Long cells are wrapped, so that the last columns stay visible.
        "```{rst-class} wraps",
        "```",
        "",
        f"| model | {' | '.join(GRAPHS)} | recipes |",
        f"| --- |{' --- |' * len(GRAPHS)} --- |",
    ]
    for name, entry in MODELS.items():
        if not (entry.tables or entry.beyond):  # a user's model
            continue
        results = []
        for dataset in GRAPHS:
            ours, theirs = cells.get((name, dataset)), paper_value_of(name, dataset)
            results.append(
                (f"{ours.mean:.1f}" if ours else _NOT_TRAINED)
                + (f" ({theirs.mean:.1f})" if theirs and theirs.mean is not None else "")
            )
        lines.append(
            f'| <a href="#{anchor(name)}">{escape(name)}</a> | {" | ".join(results)}'
            f" | {origins(name).replace(', ', '/')} |"
        )
    return "\n".join(lines)


def anchor(name: str) -> str:
    """Return the HTML id of a model's card."""
    return "card-" + name.lower().replace("*", "-star").replace("+", "-plus")


def _plain(text: str) -> str:
    """Escape the characters that have a meaning in Markdown."""
    return "".join(f"\\{c}" if c in "\\*_`$[]<>|{}" else c for c in text)
