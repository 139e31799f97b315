"""A cell of ours against the paper's."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import pandas as pd

from acm import paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments import Record, Trial, recipe
from acm.experiments.recipes import HYPERPARAMETERS
from acm.registry import MODELS

#: What stands for a number that there is none of.
NONE = "–"


def signed(number: float, decimals: int = 2) -> str:
    """A difference with its sign, which is `−` and no hyphen; what rounds to nothing has none.

    >>> signed(-1.05), signed(2, 1), signed(-0.001), signed(float("nan"))
    ('−1.05', '+2.0', '0.00', '–')
    """
    if math.isnan(number):
        return NONE
    shown = f"{number:+.{decimals}f}"
    return shown.replace("-", "−") if shown.strip("+-0.") else shown[1:]


class SignedTable(pd.DataFrame):
    """A table of numbers that are shown as `signed` writes them.

    The numbers stay numbers; `attrs["signed"]` has the decimals by column.
    """

    @property
    def _constructor(self):
        return SignedTable

    @classmethod
    def of(cls, table: pd.DataFrame, decimals: Mapping[str, int]) -> SignedTable:
        """A table with columns that have a sign."""
        found = cls(table)
        found.attrs["signed"] = dict(decimals)
        return found

    def _shown(self) -> pd.DataFrame:
        columns = {name: d for name, d in self.attrs.get("signed", {}).items() if name in self}
        return pd.DataFrame(self).assign(
            **{name: [signed(x, d) for x in self[name]] for name, d in columns.items()}
        )

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_html_(self) -> str | None:
        return self._shown()._repr_html_()


#: How the ablation (Table 2) names the channels that are left when some are taken out.
_ABLATION = {"low+high": "LP+HP", "low+identity": "LP+Identity"}

#: Beyond so many standard errors two means are told apart.
LIMIT = 2.0


@dataclass(frozen=True)
class Comparison:
    """Ours and the paper's test accuracy of one cell, in percent.

    Attributes:
        records: The records of the cell, one a split.
        paper_value: The paper's cell, or `None` where it has none.
        mean, std: Of ours; `std` is that of a sample, NaN of a single split.
    """

    records: tuple[Record, ...]
    paper_value: paper.PrintedValue | None
    mean: float
    std: float

    @property
    def ours(self) -> str:
        """Our mean, and its standard deviation where there is one, as the paper prints them."""
        return f"{self.mean:.2f}" + ("" if math.isnan(self.std) else f" ± {self.std:.2f}")

    @property
    def epochs(self) -> float:
        """The mean number of epochs of our trainings."""
        return statistics.fmean(record.epochs for record in self.records)

    @property
    def delta(self) -> float:
        """Ours less the paper's mean, in points; NaN without a published one."""
        there = self.paper_value is not None and self.paper_value.mean is not None
        return self.mean - self.paper_value.mean if there else math.nan

    @property
    def standard_error(self) -> float:
        """The standard error of `delta`: of two means of independent splits."""
        if math.isnan(self.delta) or self.paper_value.std is None:
            return math.nan
        return math.hypot(self.std / math.sqrt(len(self.records)), self.paper_value.standard_error)

    @property
    def same_splits(self) -> bool:
        """Whether the paper's number is of splits that were drawn as ours."""
        return (
            self.paper_value is None
            or self.paper_value.split_scheme == self.records[0].split_scheme
        )

    @property
    def verdict(self) -> str:
        """`"reproduced"` within two standard errors, else `"higher"` or `"lower"`.

        `"not comparable"` where the paper has no mean and standard deviation, or we one split, or
        the splits are drawn otherwise.
        """
        if math.isnan(self.standard_error) or not self.same_splits:
            return "not comparable"
        if abs(self.delta) <= LIMIT * self.standard_error:
            return "reproduced"
        return "higher" if self.delta > 0 else "lower"

    def sentence(self) -> str:
        """The comparison in words."""
        first = self.records[0]
        n = len(self.records)
        ours = (
            f"{first.model} on {first.dataset}: {self.ours} % over {n}"
            f" {first.split_scheme} split{'s' if n > 1 else ''}"
        )
        if math.isnan(self.delta):
            return f"{ours}; the paper has no such number."
        # What the paper prints otherwise than it means is said beside its place.
        where = "; ".join(filter(None, (self.paper_value.source, self.paper_value.slip)))
        theirs = (
            f"{ours}; the paper has {self.paper_value.shown} ({where}),"
            f" a difference of {signed(self.delta)} points"
        )
        if not self.same_splits:
            return (
                f"{theirs}; there is no verdict, for that number is of"
                f" {self.paper_value.split_scheme} splits."
            )
        if self.verdict == "not comparable":
            return f"{theirs}; without a spread on both sides there is no verdict."
        ratio = abs(self.delta) / self.standard_error if self.standard_error else math.inf
        return (
            f"{theirs} or {ratio:.2f} standard errors ({self.standard_error:.2f}): {self.verdict}."
        )


@dataclass(frozen=True)
class Pooled:
    """Several cells taken together: whether their differences lean to one side.

    Attributes:
        below, cells: How many of the cells lie below the paper's.
        delta: The mean difference, in points.
        standard_error: Its standard error, the cells taken as independent.
        p_value: Two-sided, of the sign test: that signs are a fair coin's, the cells independent.
    """

    below: int
    cells: int
    delta: float
    standard_error: float
    p_value: float

    def sentence(self) -> str:
        """The finding in words."""
        return (
            f"{self.below} of {self.cells} means of ours lie below the paper's; were the cells"
            f" independent and either side as likely, so lopsided an outcome would have"
            f" probability {self.p_value:.3f}. The mean difference is {signed(self.delta)} points,"
            f" with a standard error of {self.standard_error:.2f}."
        )


def pooled(comparisons: Sequence[Comparison]) -> Pooled:
    """The differences of several cells taken together; cells without a verdict are left out.

    Raises:
        UsageError: If no cell is comparable.
    """
    there = [c for c in comparisons if c.verdict != "not comparable"]
    if not there:
        raise UsageError("no cell is comparable: each needs a published one and two splits")
    below, n = sum(c.delta < 0 for c in there), len(there)
    tail = sum(math.comb(n, k) for k in range(max(below, n - below), n + 1)) / 2**n
    error = math.sqrt(sum(c.standard_error**2 for c in there)) / n
    return Pooled(below, n, statistics.fmean(c.delta for c in there), error, min(1.0, 2 * tail))


def compare_cells(records: Sequence[Record]) -> list[Comparison]:
    """`compare` for each cell that the records are of, in their order."""
    return [compare(cell) for cell in by_cell(records)]


def by_cell(records: Sequence[Record]) -> list[list[Record]]:
    """The records, those of one cell together, in the order of their first."""
    cells: dict[tuple, list[Record]] = {}
    for record in records:
        cells.setdefault(_cell(record), []).append(record)
    return list(cells.values())


def compare(records: Sequence[Record]) -> Comparison:
    """Hold the records of one cell against the paper's number for it.

    Random splits are held against Table 3, or Table 2 where channels or the mixing are left out;
    fixed splits against Table 8; sparse ones against those numbers of Table 3 that are of such.

    Raises:
        UsageError: If there is no record, or they are not all of one cell.
    """
    if not records:
        raise UsageError("there is no record to compare")
    kinds = {_cell(r) for r in records}
    if len(kinds) > 1:
        differ = [name for k, name in enumerate(_ASKED) if len({kind[k] for kind in kinds}) > 1]
        raise UsageError(f"the records are of several cells: they differ in {', '.join(differ)}")
    accuracy = [100 * r.test_accuracy for r in records]
    std = statistics.stdev(accuracy) if len(accuracy) > 1 else math.nan
    return Comparison(tuple(records), _published(records[0]), statistics.fmean(accuracy), std)


_ASKED = tuple(f.name for f in fields(Trial) if f.name != "split")


def _cell(record: Record) -> tuple:
    """What the records of one cell have in common."""
    return tuple(getattr(record, name) for name in _ASKED)


def _published(record: Record) -> paper.PrintedValue | None:
    own = MODELS[record.model]
    table, model = "fixed" if record.split_scheme == "fixed" else "sota", record.model
    complete = record.channels == "+".join(own.channels)
    if not complete or record.mix != own.mix:
        # The ablation leaves out either a channel or the mixing, on random splits.
        left = "no mixing" if complete else record.mix and _ABLATION.get(record.channels)
        if not left or record.split_scheme != "random":
            return None
        table, model = "ablation", f"{model} {left}"
    try:
        found = paper.printed(table, model=model, dataset=record.dataset)
    except UsageError:
        return None
    return None if record.split_scheme == "sparse" != found.split_scheme else found


def agreement(record: Record, kept: Record) -> str:
    """Whether a training gave what a kept record of the same trial says, in words.

    Raises:
        UsageError: If the two are not of one trial.
    """
    if record.trial != kept.trial:
        raise UsageError("the two records are of different trials")
    if record.outcome == kept.outcome:
        return "This machine reproduces the kept record to the last bit."
    same = record.test_accuracy == kept.test_accuracy
    return (
        f"This machine gives {100 * record.test_accuracy:.2f} % where the kept record has"
        f" {100 * kept.test_accuracy:.2f} %"
        + (", the same accuracy by another path" if same else "")
        + f" (validation loss {record.val_loss:.6f} against {kept.val_loss:.6f})."
        f" The two ran on {record.device} with {record.versions} and on {kept.device} with"
        f" {kept.versions}, which round differently, and training amplifies that."
    )


#: A cell's place: model and graph.
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
