"""Table 3 from any records: the right cells, and pages that show all of them and no other."""

import math
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib
import pytest

matplotlib.use("Agg")

from acm.data import PAPER_DATASETS  # noqa: E402
from acm.experiments import results, trials_of  # noqa: E402
from acm.paper import printed  # noqa: E402
from acm.report.cells import (  # noqa: E402
    PRINTED,
    ROWS,
    coverage_sentence,
    rows,
    rows_sentence,
    table_3,
)
from acm.report.comparison import compare_cells  # noqa: E402
from acm.report.figures import plot_splits
from acm.report.reasons import explain
from acm.report.tables import comparison_table, matrix_html, table_html
from tests.records import make_record  # noqa: E402
from tests.records import make_records as records  # noqa: E402


def like_the_paper(model, dataset, shift=0.0):
    """Two splits whose mean is the paper's, plus a shift in points."""
    mean = printed("sota", model=model, dataset=dataset).mean + shift
    return records(model, dataset, mean / 100 - 0.001, mean / 100 + 0.001)


class Table(HTMLParser):
    """Texts of a table's cells, row by row; white space between cells is dropped."""

    def __init__(self, html):
        super().__init__()
        self.lines, self.open = [], False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.lines.append([])
        if tag in ("td", "th"):
            self.lines[-1].append("")
            self.open = True

    def handle_endtag(self, tag):
        self.open = self.open and tag not in ("td", "th")

    def handle_data(self, data):
        if self.open:
            self.lines[-1][-1] += data


def test_the_rows_are_those_that_the_paper_prints():
    assert len(ROWS) == 28 and ROWS[0] == "MLP-2" and len(PRINTED) == 280
    for model in ROWS:
        assert printed("sota", model=model, dataset="cora").mean is not None


def test_which_records_make_the_table():
    whole = records("ACM-GCN", "cornell", 0.9, 0.95)
    found = table_3(
        [
            *records("GCN", "cora", 0.8),
            *reversed(whole),
            *records("ACM-GCN", "cornell", 0.1, channels="low+high"),
            *records("ACM-GCN", "cornell", 0.1, split_scheme="fixed"),
            *records("ACM-GCN", "synthetic", 0.1),
            *records("MLP-1", "cornell", 0.1),
        ]
    )
    assert list(found) == [("GCN", "cora"), ("ACM-GCN", "cornell")]
    assert found["ACM-GCN", "cornell"].records == tuple(whole)


def test_of_several_runs_of_a_cell_the_recipes_counts():
    by_recipe = records("GCN", "cora", 0.8, 0.9)
    other = records("GCN", "cora", 0.7, hyperparameters={"lr": 0.5})
    options = records("GCNII", "cora", 0.7, hyperparameters={"layers": 3})
    seed = [replace(r, seed=1) for r in by_recipe]
    for order in ([*other, *seed, *by_recipe, *options], [*by_recipe, *seed, *other]):
        assert list(table_3(order)) == [("GCN", "cora")]
        assert table_3(order)["GCN", "cora"].records == tuple(by_recipe)
    assert table_3([*other, *seed, *options]) == {}


@pytest.fixture(scope="module")
def cells():
    return table_3(
        [
            *like_the_paper("GCN", "cornell", -30),
            *like_the_paper("GCN", "texas", -20),
            *like_the_paper("GCN", "cora"),
            *like_the_paper("GraphSAGE", "cora", 12),
            *records("SGC-1", "cora", 0.5),
        ]
    )


def test_sentences_count_what_is_there(cells):
    assert coverage_sentence({}, {}).startswith("0 of the 280 cells of Table 3 are trained")
    assert coverage_sentence(cells, {"another training rule": 3, "another numerics": 0}) == (
        "5 of the 280 cells of Table 3 are trained. Of the trained cells, 4 are comparable, and 1"
        " lack a mean or a standard deviation in the paper or here. In 1 of the comparable"
        " cells (25 %) our mean agrees with the paper's: the two means differ by at most 2 standard"
        " errors. Our mean is higher in 1 of the comparable cells, and lower in 2. Unused records:"
        " 3 of another training rule."
    )


def test_a_row_leaves_cornell_out_of_its_mean(cells):
    table = rows(cells).set_index("model")
    assert list(table.index) == ["GraphSAGE", "GCN"]
    assert table[["cells", "higher", "lower"]].values.tolist() == [[1, 1, 0], [3, 0, 2]]
    assert table["mean Δ"].tolist() == pytest.approx([12, (-20 + 0) / 2])
    assert table["verdict"].tolist() == ["higher", "lower"]
    assert rows_sentence(table) == (
        "For each of 2 models we average our mean minus the paper's over the graphs. For 0 models"
        " this average is within 2 standard errors of zero. For 1 models it is above this range,"
        " and for 1 models below. The average over all models is +1.00 points."
    )
    assert rows(table_3(like_the_paper("GCN", "cornell"))).empty


def test_the_table_that_sorts_has_every_cell_and_its_reason(cells):
    reasons = explain(cells, {("GCN", "texas"): "a < b"})
    why = [reasons.get(cell, "") for cell in cells]
    html = table_html(comparison_table(cells.values()).assign(why=why), "Every cell")
    head, *lines = Table(html).lines
    assert head == [
        *("model", "graph", "verdict", "splits", "ours", "paper", "Δ", "SE", "Δ / SE", "why")
    ]
    assert [tuple(line[:2]) for line in lines] == list(cells)
    there = {tuple(line[:2]): dict(zip(head[2:], line[2:])) for line in lines}
    texas, cornell, cora = (there["GCN", graph] for graph in ("texas", "cornell", "cora"))
    assert (texas["verdict"], texas["Δ"], texas["why"]) == ("▼ lower", "−20.00", "a < b")
    assert (cornell["verdict"], cornell["why"]) == ("▼ lower", "unexplained")
    assert (cora["verdict"], cora["Δ"], cora["why"]) == ("= reproduced", "0.00", "")
    sgc = there["SGC-1", "cora"]
    assert (sgc["verdict"], sgc["SE"], sgc["Δ / SE"]) == ("○ not comparable", "–", "–")
    for line, c in zip(there.values(), cells.values()):
        assert line["ours"] == c.ours and line["paper"] == c.paper_value.shown
        assert math.isnan(c.standard_error) == (line["SE"] == "–")


def test_the_matrix_has_all_cells_of_the_table(cells):
    head, *lines = Table(matrix_html(cells)).lines
    assert head == ["model", *PAPER_DATASETS] and [line[0] for line in lines] == [*ROWS]
    shown = {
        (line[0], dataset): text for line in lines for dataset, text in zip(head[1:], line[1:])
    }
    assert len(shown) == 280
    # A quiet mark, which the legend above the table explains once.
    assert sum(text == "·" for text in shown.values()) == 280 - len(cells)
    assert matrix_html(cells).count("not run") == 1
    assert '<span class="not-run">· not run</span>' in matrix_html(cells).partition("<table")[0]
    assert shown["GCN", "texas"] == "▼ −20.0 lower"
    assert shown["GraphSAGE", "cora"] == "▲ +12.0 higher"
    assert shown["GCN", "cora"] == "= 0.0 reproduced"
    assert shown["SGC-1", "cora"].endswith("not comparable")


def test_nothing_run_is_an_empty_table():
    assert len(Table(table_html(comparison_table([]), "")).lines) == 1
    assert len(Table(matrix_html({})).lines) == 29


def test_a_figure_shows_every_split_and_the_papers(cells):
    column = {model: c for (model, dataset), c in cells.items() if dataset == "cora"}
    (axes,) = plot_splits(column, "cora").axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["GraphSAGE ▲", "SGC-1", "GCN"]
    dots = [line.get_xdata() for line in axes.lines if line.get_marker() == "o"]
    assert dots[0] == pytest.approx([100 * r.test_accuracy for r in column["GraphSAGE"].records])
    assert [c.lines[0].get_xdata()[0] for c in axes.containers] == [
        PRINTED[model, "cora"].mean for model in column
    ]
    assert plot_splits({}).axes[0].get_yticklabels() == []


def test_what_the_paper_has_of_sparse_splits_is_held_against_such():
    there = [
        make_record(trial, accuracy)
        for split_scheme, accuracy in (("random", 0.87), ("sparse", 0.79))
        for model in ("GPRGNN", "GCN")
        for trial in trials_of("cora", model, split_scheme, splits=2)
    ]
    found = table_3(there)
    assert {place: c.records[0].split_scheme for place, c in found.items()} == {
        ("GPRGNN", "cora"): "sparse",
        ("GCN", "cora"): "random",
    }


def test_three_rows_have_citation_graphs_with_sparse_splits():
    by = {}
    for c in compare_cells(results("sota").records()):
        by[c.records[0].model, c.records[0].dataset, c.records[0].split_scheme] = c
    for model in ("GAT", "APPNP", "GPRGNN"):
        sparse, dense = by[model, "cora", "sparse"], by[model, "cora", "random"]
        assert sparse.verdict == "reproduced"
        assert dense.mean - sparse.paper_value.mean > 5
        assert dense.mean - sparse.paper_value.mean > 10 * dense.std / len(dense.records) ** 0.5
