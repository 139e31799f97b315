"""Table 3: which of its cells have records, and how these stand to the paper's."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments import Record, recipe
from acm.experiments.recipes import HYPERPARAMETERS
from acm.nn import MODELS
from acm.report.comparison import LIMIT, Comparison, Pooled, compare, compare_cells, pooled

#: A cell's place: model and graph.
Place = tuple[str, str]


def row_names() -> list[str]:
    """The models of Table 3, from its first row to its last."""
    return [name for name, entry in MODELS.items() if 3 in entry.tables]


def table_3(records: Iterable[Record]) -> dict[Place, Comparison]:
    """Ours against the paper's for every cell of Table 3 that there are records of.

    A cell may have been run with several sets of hyperparameters: those of its recipe count, or
    else those that were stored first. Ablations and fixed splits belong to other tables.

    Args:
        records: Of any experiments, in any order.

    Returns:
        Comparisons by model and graph, in the order of the table.
    """
    rows = row_names()
    there = [r for r in records if r.protocol == "random" and r.model in rows and _whole(r)]
    found: dict[Place, Comparison] = {}
    for c in compare_cells(there):
        c = compare(sorted(c.records, key=lambda r: r.split))
        place = c.records[0].model, c.records[0].dataset
        if place[1] in PAPER_DATASETS and (place not in found or _by_recipe(c.records[0])):
            found[place] = c
    order = [(model, dataset) for model in rows for dataset in PAPER_DATASETS]
    return {place: found[place] for place in order if place in found}


def _whole(record: Record) -> bool:
    own = MODELS[record.model]
    return record.channels == "+".join(own.channels) and record.mix == own.mix


def _by_recipe(record: Record) -> bool:
    asked = recipe(record.model, record.dataset)
    names = (*HYPERPARAMETERS, "options")
    return record.seed == 0 and all(getattr(record, n) == getattr(asked, n) for n in names)


def published(model: str, dataset: str) -> paper.Published | None:
    """The paper's cell in Table 3, whether or not it was run; `None` where there is none."""
    try:
        return paper.published("sota", model=model, dataset=dataset)
    except UsageError:
        return None


def off(cells: Mapping[Place, Comparison]) -> dict[Place, Comparison]:
    """Those whose two means differ by more than two standard errors."""
    return {place: c for place, c in cells.items() if c.verdict in ("higher", "lower")}


def coverage_sentence(cells: Mapping[Place, Comparison]) -> str:
    """How many cells were run, and how many of these agree with the paper, in words."""
    whole = len(row_names()) * len(PAPER_DATASETS)
    counted = [c.verdict for c in cells.values() if c.verdict != "not comparable"]
    said = f"There are records of {len(cells)} of Table 3's {whole} cells"
    if left := len(cells) - len(counted):
        said += f"; {left} cannot be compared, for want of a mean or a spread on either side"
    if not counted:
        return f"{said}."
    number = {verdict: counted.count(verdict) for verdict in ("reproduced", "higher", "lower")}
    return (
        f"{said}. Of {len(counted)} that can be compared {number['reproduced']}"
        f" ({100 * number['reproduced'] / len(counted):.0f} %) lie within {LIMIT:g} standard errors"
        f" of the paper's mean, {number['higher']} above it and {number['lower']} below."
    )


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


def rows(cells: Mapping[Place, Comparison]) -> list[Row]:
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
    """Which rows are off as a whole, in words."""
    there = [row for row in rows if row.pooled]
    if not there:
        return "No row can be compared yet."
    named = {
        side: ", ".join(
            f"{row.model} ({row.pooled.delta:+.1f})" for row in there if row.verdict == side
        )
        for side in ("higher", "lower")
    }
    mean = statistics.fmean(row.pooled.delta for row in there)
    return (
        f"Of {len(there)} rows, those whose mean difference is more than {LIMIT:g} of its standard"
        f" errors above zero are {named['higher'] or 'none'}; below zero:"
        f" {named['lower'] or 'none'}. The mean over the rows is {mean:+.2f} points."
    )
