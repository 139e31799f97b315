"""Compare the cells and the rows of Table 3 with the paper."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments import Record, recipe
from acm.experiments.recipes import HYPERPARAMETERS
from acm.registry import MODELS
from acm.report.comparison import LIMIT, Comparison, Pooled, compare, pooled
from acm.report.numbers import signed

#: The key of a cell: its model and its graph.
Cell = tuple[str, str]


def row_names() -> list[str]:
    """The models of Table 3, from its first row to its last."""
    return [name for name, entry in MODELS.items() if 3 in entry.tables]


def table_3(records: Iterable[Record]) -> dict[Cell, Comparison]:
    """Ours against the paper's for every cell of Table 3 that there are records of.

    Args:
        records: Of any experiments, in any order. Those count that are of a cell's recipe, on
            splits drawn as its own: not other hyperparameters, nor ablations.

    Returns:
        Comparisons by model and graph, in the order of the table.
    """
    there: dict[Cell, list[Record]] = {}
    for record in sorted(records, key=lambda r: r.split):
        there.setdefault((record.model, record.dataset), []).append(record)
    found = {}
    for place in ((model, dataset) for model in row_names() for dataset in PAPER_DATASETS):
        if place in there and (kept := _by_recipe(there[place], *place)):
            found[place] = compare(kept)
    return found


def _by_recipe(records: Sequence[Record], model: str, dataset: str) -> list[Record]:
    splits = split_scheme(model, dataset)
    asked, own = recipe(model, dataset, splits), MODELS[model]
    names = (*HYPERPARAMETERS, "options")
    return [
        r
        for r in records
        if (r.split_scheme, r.seed) == (splits, 0)
        and (r.channels, r.mix) == ("+".join(own.channels), own.mix)
        and all(getattr(r, name) == getattr(asked, name) for name in names)
    ]


def split_scheme(model: str, dataset: str) -> str:
    """On what splits a cell is to be run: as the paper's number, else on random ones."""
    cell = paper_value_of(model, dataset)
    return "random" if cell is None else cell.split_scheme


def paper_value_of(model: str, dataset: str) -> paper.PrintedValue | None:
    """The paper's cell in Table 3, whether or not it was run; `None` where there is none."""
    try:
        return paper.printed("sota", model=model, dataset=dataset)
    except UsageError:
        return None


def off(cells: Mapping[Cell, Comparison]) -> dict[Cell, Comparison]:
    """Those whose two means differ by more than two standard errors."""
    return {place: c for place, c in cells.items() if c.verdict in ("higher", "lower")}


def out_of_memory(cells: Mapping[Cell, Comparison]) -> tuple[pd.DataFrame, str]:
    """Ours where the paper has none because it ran out of memory: a table, and it in words.

    Args:
        cells: As `table_3` returns them.
    """
    places = [(model, dataset) for model in row_names() for dataset in PAPER_DATASETS]
    failed = [p for p in places if (cell := paper_value_of(*p)) and cell.status == "OOM"]
    there = [place for place in failed if place in cells]
    table = pd.DataFrame(
        [(*place, cells[place].ours, len(cells[place].records)) for place in there],
        columns=["model", "graph", "ours", "splits"],
    )
    graphs = list(dict.fromkeys(dataset for _, dataset in failed))
    return table, (
        f"The paper ran out of memory in {len(failed)} cells, on {' and '.join(graphs)}. Here"
        f" {len(there)} of them were run."
    )


def coverage_sentence(cells: Mapping[Cell, Comparison]) -> str:
    """How many cells were run, and how many of these agree with the paper, in words."""
    whole = len(row_names()) * len(PAPER_DATASETS)
    counted = [c.verdict for c in cells.values() if c.verdict != "not comparable"]
    said = [f"{len(cells)} of the {whole} cells of Table 3 have been run so far."]
    if left := len(cells) - len(counted):
        said.append(
            f"{left} of them cannot be compared with the paper, because a mean or a standard"
            " deviation is missing there or here."
        )
    if counted:
        number = {verdict: counted.count(verdict) for verdict in ("reproduced", "higher", "lower")}
        share = 100 * number["reproduced"] / len(counted)
        said.append(
            f"In {number['reproduced']} of the {len(counted)} that can be compared"
            f" ({share:.0f} %) our mean agrees with the paper's, which is to say that the two"
            f" differ by at most {LIMIT:g} standard errors. In {number['higher']} ours is higher,"
            f" in {number['lower']} it is lower."
        )
    return " ".join(said)


@dataclass(frozen=True)
class Row:
    """A model on all graphs together.

    Attributes:
        model: Its name.
        cells: How many of its cells were run and can be compared.
        higher, lower: How many of these are more than two standard errors off.
        pooled: Their mean difference; Cornell is left out of it, which has the nodes, features,
            labels and splits of Texas. `None` where nothing else is left.
    """

    model: str
    cells: int
    higher: int
    lower: int
    pooled: Pooled | None

    @property
    def verdict(self) -> str:
        """`"higher"` or `"lower"` where the mean difference is more than two standard errors."""
        if self.pooled is None:
            return "not comparable"
        if abs(self.pooled.delta) <= LIMIT * self.pooled.standard_error:
            return "reproduced"
        return "higher" if self.pooled.delta > 0 else "lower"


def rows(cells: Mapping[Cell, Comparison]) -> list[Row]:
    """Every model with a cell that can be compared, on all its graphs together."""
    found = []
    for model in row_names():
        own = {d: c for (m, d), c in cells.items() if m == model}
        own = {d: c for d, c in own.items() if c.verdict != "not comparable"}
        if own:
            verdicts = [c.verdict for c in own.values()]
            rest = [c for d, c in own.items() if d != "cornell"]
            together = pooled(rest) if rest else None
            counts = verdicts.count("higher"), verdicts.count("lower")
            found.append(Row(model, len(own), *counts, together))
    return found


def lean_sentence(rows: Sequence[Row]) -> str:
    """Which models are off over all their graphs together, in words."""
    there = [row for row in rows if row.pooled]
    if not there:
        return "No row can be compared yet."
    named = {side: [row for row in there if row.verdict == side] for side in ("higher", "lower")}
    said = [f"{len(there)} models can be compared over all their graphs together."]
    for side, rows_off in named.items():
        listed = ", ".join(f"{r.model} ({signed(r.pooled.delta, 1)} points)" for r in rows_off)
        said.append(
            f"{len(rows_off)} of them {'is' if len(rows_off) == 1 else 'are'} {side} than in the"
            f" paper{': ' if listed else ''}{listed}."
        )
    rest = len(there) - sum(map(len, named.values()))
    mean = statistics.fmean(row.pooled.delta for row in there)
    said.append(
        f"The mean difference of the other {rest} is within {LIMIT:g} of its standard errors."
        if rest
        else f"None has a mean difference within {LIMIT:g} of its standard errors."
    )
    said.append(f"The average difference of all models is {signed(mean)} points.")
    return " ".join(said)
