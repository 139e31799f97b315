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
from acm.report.comparison import LIMIT, Comparison, Pooled, compare, pooled, verdict_of
from acm.report.numbers import signed

#: The key of a cell: its model and its graph.
Cell = tuple[str, str]


def row_names() -> list[str]:
    """Return the models of Table 3, from the first row to the last."""
    return [name for name, entry in MODELS.items() if 3 in entry.tables]


def all_cells() -> list[Cell]:
    """Return every cell of Table 3, row by row."""
    return [(model, dataset) for model in row_names() for dataset in PAPER_DATASETS]


def table_3(records: Iterable[Record]) -> dict[Cell, Comparison]:
    """Compare every cell of Table 3 that has records with the paper.

    Args:
        records: Records of any experiments, in any order. Only records with the cell's recipe and
            the cell's kind of splits count. Ablations do not count.

    Returns:
        Comparisons by model and graph, in the order of the table.
    """
    groups: dict[Cell, list[Record]] = {}
    for record in sorted(records, key=lambda r: r.split):
        groups.setdefault((record.model, record.dataset), []).append(record)
    by_recipe = {
        cell: _records_of_recipe(groups[cell], *cell) for cell in all_cells() if cell in groups
    }
    return {cell: compare(chosen) for cell, chosen in by_recipe.items() if chosen}


def _records_of_recipe(records: Sequence[Record], model: str, dataset: str) -> list[Record]:
    splits, entry = split_scheme(model, dataset), MODELS[model]
    wanted = recipe(model, dataset, splits)
    return [
        r
        for r in records
        if (r.split_scheme, r.seed) == (splits, 0)
        and (r.channels, r.mix) == ("+".join(entry.channels), entry.mix)
        and all(getattr(r, name) == getattr(wanted, name) for name in (*HYPERPARAMETERS, "options"))
    ]


def split_scheme(model: str, dataset: str) -> str:
    """Return the kind of splits of a cell; "random" if the paper has no such cell."""
    value = paper_value_of(model, dataset)
    return "random" if value is None else value.split_scheme


def paper_value_of(model: str, dataset: str) -> paper.PrintedValue | None:
    """Return the paper's cell in Table 3, or `None` if Table 3 has no such row or column."""
    try:
        return paper.printed("sota", model=model, dataset=dataset)
    except UsageError:
        return None


def off(cells: Mapping[Cell, Comparison]) -> dict[Cell, Comparison]:
    """Return the cells whose two means differ by more than two standard errors."""
    return {cell: c for cell, c in cells.items() if c.verdict in ("higher", "lower")}


def out_of_memory(cells: Mapping[Cell, Comparison]) -> tuple[pd.DataFrame, str]:
    """Return our results for the cells where the paper ran out of memory: a table and a sentence.

    Args:
        cells: Comparisons by cell, as `table_3` returns them.
    """
    failed = [c for c in all_cells() if (v := paper_value_of(*c)) and v.status == "OOM"]
    trained = [cell for cell in failed if cell in cells]
    table = pd.DataFrame(
        [(*cell, cells[cell].ours, len(cells[cell].records)) for cell in trained],
        columns=["model", "graph", "ours", "splits"],
    )
    graphs = " and ".join(dict.fromkeys(dataset for _, dataset in failed))
    return table, (
        f"The paper ran out of memory in {len(failed)} cells, on {graphs}. We trained"
        f" {len(trained)} of them."
    )


def coverage_sentence(cells: Mapping[Cell, Comparison]) -> str:
    """Return in words how many cells are trained, and how many of them agree with the paper."""
    verdicts = [c.verdict for c in cells.values() if c.verdict != "not comparable"]
    sentences = [f"{len(cells)} of the {len(all_cells())} cells of Table 3 are trained."]
    if missing := len(cells) - len(verdicts):
        sentences.append(
            f"{missing} of them cannot be compared with the paper, because a mean or a standard"
            " deviation is missing in the paper or here."
        )
    if verdicts:
        reproduced, higher, lower = map(verdicts.count, ("reproduced", "higher", "lower"))
        sentences.append(
            f"In {reproduced} of the {len(verdicts)} comparable cells"
            f" ({100 * reproduced / len(verdicts):.0f} %) our mean agrees with the paper's: the two"
            f" differ by at most {LIMIT:g} standard errors. Our mean is higher in {higher} of"
            f" the cells and lower in {lower}."
        )
    return " ".join(sentences)


@dataclass(frozen=True)
class Row:
    """Hold the comparison of one model over all its graphs.

    Attributes:
        model: The name of the model.
        cells: How many of its cells are trained and comparable.
        higher, lower: How many of these cells differ by more than two standard errors.
        pooled: The mean difference without Cornell, whose nodes, features, labels and splits are
            those of Texas. `None` if only Cornell is comparable.
    """

    model: str
    cells: int
    higher: int
    lower: int
    pooled: Pooled | None

    @property
    def verdict(self) -> str:
        """The verdict on the mean difference, with the same limit as for a single cell."""
        if self.pooled is None:
            return "not comparable"
        return verdict_of(self.pooled.delta, self.pooled.standard_error)


def rows(cells: Mapping[Cell, Comparison]) -> list[Row]:
    """Return a `Row` for every model that has a comparable cell."""
    result = []
    for model in row_names():
        by_graph = {
            dataset: c
            for (name, dataset), c in cells.items()
            if name == model and c.verdict != "not comparable"
        }
        if by_graph:
            verdicts = [c.verdict for c in by_graph.values()]
            higher, lower = verdicts.count("higher"), verdicts.count("lower")
            without_cornell = [c for dataset, c in by_graph.items() if dataset != "cornell"]
            mean = pooled(without_cornell) if without_cornell else None
            result.append(Row(model, len(by_graph), higher, lower, mean))
    return result


def lean_sentence(rows: Sequence[Row]) -> str:
    """Return in words which models differ from the paper over all their graphs."""
    comparable = [row for row in rows if row.pooled]
    if not comparable:
        return "No row can be compared."
    sentences = [f"{len(comparable)} models can be compared over all their graphs."]
    for verdict in ("higher", "lower"):
        differing = [row for row in comparable if row.verdict == verdict]
        names = ", ".join(f"{r.model} ({signed(r.pooled.delta, 1)} points)" for r in differing)
        sentences.append(
            f"{len(differing)} of them {'is' if len(differing) == 1 else 'are'} {verdict} than in"
            f" the paper{': ' if names else ''}{names}."
        )
    reproduced = sum(row.verdict == "reproduced" for row in comparable)
    mean = statistics.fmean(row.pooled.delta for row in comparable)
    sentences.append(
        f"The mean difference of the other {reproduced} is at most {LIMIT:g} standard errors."
        if reproduced
        else f"No model has a mean difference of at most {LIMIT:g} standard errors."
    )
    sentences.append(f"The average difference of all models is {signed(mean)} points.")
    return " ".join(sentences)
