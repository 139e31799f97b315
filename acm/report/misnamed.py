"""Printed rows of SGC that are most likely those of its ACM form: by dropout, time and training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments import Record
from acm.nn import MODELS, model_name
from acm.report.comparison import Comparison, by_cell, compare
from acm.report.table3 import Place

ROWS = ("SGC-1", "SGC-2")


@dataclass(frozen=True)
class Misnamed:
    """A printed row of SGC, trained as what it is called and as its ACM form.

    Attributes:
        model, dataset: The cell.
        epochs: How long the paper's trainings went on, by its times.
        own: Our training of the model, against the paper's mean.
        instead: That of the ACM form with the hyperparameters of the row, against the same mean.
    """

    model: str
    dataset: str
    epochs: float
    own: Comparison
    instead: Comparison


def rows_with_dropout(model: str) -> list[str]:
    """The graphs whose printed row of SGC-1 or SGC-2 has a dropout; most have none.

    Raises:
        UsageError: If it is another model.
    """
    model = _sgc(model)
    return [name for name in PAPER_DATASETS if (row := _row(model, name)) and row.dropout]


def misnamed(
    cells: Mapping[Place, Comparison], records: Iterable[Record], model: str
) -> list[Misnamed]:
    """Each printed row of SGC-1 or SGC-2 with a dropout, of which both trainings are at hand.

    Args:
        cells: As `table_3` returns them.
        records: Of any experiments; of the ACM form those with the row's hyperparameters count, if
            they are of as many splits as the model's own.
        model: The name of the row.

    Raises:
        UsageError: If it is another model.
    """
    model, found = _sgc(model), []
    form = MODELS[f"ACM-{model}"]
    whole = form.name, "random", "+".join(form.channels), form.mix
    forms = by_cell([r for r in records if (r.model, r.protocol, r.channels, r.mix) == whole])
    there = {(c[0].dataset, c[0].lr, c[0].weight_decay, c[0].dropout): c for c in forms}
    for dataset in rows_with_dropout(model):
        row, own = _row(model, dataset), cells.get((model, dataset))
        trained = there.get((dataset, row.lr, row.weight_decay, row.dropout), [])
        if own is not None and len(trained) == len(own.records):
            instead = replace(compare(trained), published=own.published)
            found.append(Misnamed(model, dataset, row.epochs, own, instead))
    return found


def misnamed_table(found: list[Misnamed]) -> pd.DataFrame:
    """Accuracy and length of each: as printed, by its name, and as the ACM form.

    Raises:
        UsageError: If there is none.
    """
    if not found:
        raise UsageError("no row was trained as both models")
    return pd.DataFrame(
        {
            "paper": [each.own.published.shown for each in found],
            "epochs, paper": [f"{each.epochs:,.0f}" for each in found],
            "SGC": [each.own.ours for each in found],
            "epochs, SGC": [f"{each.own.epochs:,.0f}" for each in found],
            "ACM-SGC": [each.instead.ours for each in found],
            "epochs, ACM-SGC": [f"{each.instead.epochs:,.0f}" for each in found],
        },
        index=pd.Index([f"{each.model}, {each.dataset}" for each in found], name="row"),
    )


def misnamed_sentence(found: list[Misnamed]) -> str:
    """With how many of the printed means each training agrees, in words."""
    form = sum(each.instead.verdict == "reproduced" for each in found)
    own = sum(each.own.verdict == "reproduced" for each in found)
    return (
        f"Of {len(found)} printed means the ACM form agrees with {form or 'none'}, the model that"
        f" they are printed for with {own or 'none'}."
    )


def times(model: str) -> dict[str, float]:
    """By graph the printed time of an epoch of SGC-1 or SGC-2, over that of its ACM form.

    Raises:
        UsageError: If it is another model.
    """
    model = _sgc(model)
    both = {name: (_row(model, name), _row(f"ACM-{model}", name)) for name in PAPER_DATASETS}
    return {name: row.epoch_ms / form.epoch_ms for name, (row, form) in both.items() if row}


def _sgc(model: str) -> str:
    if (name := model_name(model)) not in ROWS:
        raise UsageError(f"{model}: one of {', '.join(ROWS)} is needed")
    return name


def _row(model: str, dataset: str) -> paper.Hyperparameters | None:
    try:
        return paper.hyperparameters(model, dataset)
    except UsageError:
        return None
