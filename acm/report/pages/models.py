"""What there is to know of a model: for the terminal (`acm models`) and for the book."""

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

#: The graphs whose results a card of the book shows.
GRAPHS = ("cornell", "chameleon", "cora")

#: A cell that nothing was run of; the page has a legend.
_NOT_RUN = "·"

_NONE = "none: give lr, weight_decay and dropout"

#: Of Cora: features, classes, nodes.
_CORA = 1433, 7, 2708


def where_printed(entry: Entry) -> str:
    """Which tables of the paper print the model, in words."""
    if not entry.tables:
        return "beyond this paper" if entry.beyond else "a model of your own"
    tables = ", ".join(map(str, entry.tables))
    return f"Table{'s' * (len(entry.tables) > 1)} {tables}"


def size(name: str) -> str:
    """The number of weights on Cora with the recipe for it; `-` where it cannot be built here."""
    try:
        return f"{sum(p.numel() for p in _build(name, *_CORA).parameters()):,}"
    except UsageError:
        return "-"


def _build(name: str, features: int, classes: int, nodes: int, hidden: int | None = None):
    try:
        r = recipe(name, "cora")
        wide, options = r.hidden, r.options
    except UsageError:  # a model of somebody's own
        wide, options = WIDTH, write_options(default_options(name))
    given = arguments(name, options)
    with private_generator(torch.device("cpu")):
        return build(name, features, classes, hidden or wide, num_nodes=nodes, **given)


def recipes(
    name: str, split_scheme: str = "random", datasets: Sequence[str] = PAPER_DATASETS
) -> dict[str, Recipe | None]:
    """What the model is trained with on each graph; `None` where nothing is known."""
    found: dict[str, Recipe | None] = {}
    for dataset in datasets:
        try:
            found[dataset] = recipe(name, dataset, split_scheme)
        except UsageError:
            found[dataset] = None
    return found


def origins(name: str, split_scheme: str = "random") -> str:
    """For how many of the ten graphs the recipe comes from where, in words."""
    count = Counter(r.origin if r else "none" for r in recipes(name, split_scheme).values())
    return ", ".join(f"{count[o]} {o}" for o in (*ORIGINS, "none") if count[o])


def values(r: Recipe) -> str:
    """All hyperparameters of a recipe, in a line."""
    more = f", {r.options.replace(' ', ', ').replace('=', ' ')}" if r.options else ""
    return (
        f"lr {r.lr:g}, weight decay {r.weight_decay:g}, dropout {r.dropout:g}, hidden {r.hidden}"
        + more
    )


def card_text(name: str, split_scheme: str = "random") -> str:
    """The card of a model as `acm models NAME` prints it."""
    entry = MODELS[name]
    lines = [f"{entry.name} ({where_printed(entry)})", "", f"  {entry.equation}", ""]
    if entry.heterophily:
        lines.append(f"heterophily  {entry.heterophily}")
    if entry.source:
        lines.append(f"paper        {entry.source}")
    if entry.channels:
        mixed = "mixed node by node" if entry.mix else "not mixed"
        lines.append(f"channels     {'+'.join(entry.channels)}, {mixed}")
    if own_values := default_options(name):
        lines.append(f"its own      {_own(own_values)}")
    lines += [
        f"weights      {size(name)} on Cora",
        f"stacks       {'yes' if entry.stackable else 'no'}",
        "",
    ]
    lines.append(f"recipes ({split_scheme} splits)")
    known = recipes(name, split_scheme)
    if not any(known.values()):
        lines.append(f"  {_NONE}")
        known = {}
    for dataset, r in known.items():
        lines.append(f"  {dataset:13}  {values(r) if r else _NONE}")
        if r:
            lines.append(f"{'':17}{r.sentence()}")
    return "\n".join(lines)


def _own(own_values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} ({value})" for name, value in own_values.items())


def cards(names: Sequence[str], cells: Mapping[Cell, Comparison]) -> str:
    """The cards of some models for the book, as MyST Markdown; each opens at a click.

    Args:
        names: Of the models.
        cells: As `acm.report.comparison.table_3` returns them.
    """
    return "\n\n".join(_card(MODELS[name], cells) for name in names)


def _card(entry: Entry, cells: Mapping[Cell, Comparison]) -> str:
    name = entry.name
    about = [where_printed(entry), f"{size(name)} parameters on Cora"]
    if own_values := default_options(name):
        about.append(f"its own hyperparameters: {_own(own_values)}")
    rows = ["| graph | paper | ours |", "| --- | --- | --- |"]
    rows += [f"| {dataset} | {' | '.join(result(name, dataset, cells))} |" for dataset in GRAPHS]
    slips = []
    for dataset in GRAPHS:
        if (there := paper_value_of(name, dataset)) and there.slip:
            slips += [f"A slip of the paper: {dataset} is {_plain(there.slip)}.", ""]
    # Graphs with one recipe, from one place, share a line.
    trained: dict[str, list[str]] = {}
    for dataset, r in recipes(name, datasets=GRAPHS).items():
        said = f"{values(r)} – {r.sentence()}" if r else "nothing is known"
        trained.setdefault(said, []).append(dataset)
    lines = [f"- **{', '.join(there)}**: {_plain(said)}." for said, there in trained.items()]
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
            *slips,
            "Trained with",
            "",
            *lines,
            "",
            "</details>",
        ]
    )


def result(name: str, dataset: str, cells: Mapping[Cell, Comparison]) -> tuple[str, str]:
    """The paper's result, or `–`, and ours, or "not run"."""
    there = paper_value_of(name, dataset)
    cell = cells.get((name, dataset))
    ours = "not run" if cell is None else f"{cell.ours}, {cell.verdict}"
    return there.shown if there else NONE, ours


def overview(cells: Mapping[Cell, Comparison]) -> str:
    """Write all models as a MyST Markdown table: results on three graphs, origins of recipes."""
    lines = [
        # Long lines break rather than push the last columns out of sight.
        "```{rst-class} wraps",
        "```",
        "",
        f"| model | {' | '.join(GRAPHS)} | recipes |",
        f"| --- |{' --- |' * len(GRAPHS)} --- |",
    ]
    for name, entry in MODELS.items():
        if not (entry.tables or entry.beyond):  # somebody's own
            continue
        results = []
        for dataset in GRAPHS:
            ours, theirs = cells.get((name, dataset)), paper_value_of(name, dataset)
            results.append(
                (f"{ours.mean:.1f}" if ours else _NOT_RUN)
                + (f" ({theirs.mean:.1f})" if theirs and theirs.mean is not None else "")
            )
        lines.append(
            f'| <a href="#{anchor(name)}">{escape(name)}</a> | {" | ".join(results)}'
            f" | {origins(name).replace(', ', '/')} |"
        )
    return "\n".join(lines)


def anchor(name: str) -> str:
    """Where on the page of cards a model's card is."""
    return "card-" + name.lower().replace("*", "-star").replace("+", "-plus")


def _plain(text: str) -> str:
    """Text that Markdown would otherwise read signs of its own in."""
    return "".join(f"\\{c}" if c in "\\*_`$[]<>|{}" else c for c in text)
