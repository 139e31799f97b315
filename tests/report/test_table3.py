"""Table 3 from any records: the right cells, and pages that show all of them and no other."""

import math
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib
import pytest

matplotlib.use("Agg")

from acm.data import PAPER_DATASETS  # noqa: E402
from acm.errors import UsageError  # noqa: E402
from acm.experiments import results, trials_of  # noqa: E402
from acm.paper import printed  # noqa: E402
from acm.report.cells import (  # noqa: E402
    coverage_sentence,
    lean_sentence,
    out_of_memory,
    row_names,
    rows,
    table_3,
)
from acm.report.comparison import compare_cells  # noqa: E402
from acm.report.figures import plot_column, plot_columns
from acm.report.reasons import explain
from acm.report.tables import cells_html, matrix_html, rows_html
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
    assert len(row_names()) == 28 and row_names()[0] == "MLP-2"
    for model in row_names():
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
    assert coverage_sentence({}) == "0 of the 280 cells of Table 3 are trained."
    assert coverage_sentence(cells) == (
        "5 of the 280 cells of Table 3 are trained. 1 of them cannot be compared with the"
        " paper, because a mean or a standard deviation is missing in the paper or here. In 1 of"
        " the 4 comparable cells (25 %) our mean agrees with the paper's: the two differ by at most"
        " 2 standard errors. Our mean is higher in 1 of the cells and lower in 2."
    )


def test_what_the_paper_had_no_memory_for_is_shown():
    snowball = records("Snowball-2", "deezer-europe", 0.6, 0.62)
    others = records("GCN", "deezer-europe", 0.6, 0.62) + records("Geom-GCN", "film", 0.3, 0.32)
    table, said = out_of_memory(table_3(snowball + others))
    assert table.values.tolist() == [["Snowball-2", "deezer-europe", "61.00 ± 1.41", 2]]
    # GraphSAGE and all Snowballs; Geom-GCN has NA there.
    assert said.startswith(
        "The paper ran out of memory in 7 cells, on deezer-europe. We trained 1 of"
    )
    empty, said = out_of_memory({})
    assert empty.empty and list(empty) == list(table) and said.endswith("We trained 0 of them.")


def test_a_row_leaves_cornell_out_of_its_mean(cells):
    gat, gcn = rows(cells)
    assert (gat.model, gat.cells, gat.higher, gat.lower) == ("GraphSAGE", 1, 1, 0)
    assert (gcn.model, gcn.cells, gcn.higher, gcn.lower) == ("GCN", 3, 0, 2)
    assert gcn.pooled.delta == pytest.approx((-20 + 0) / 2) and gcn.verdict == "lower"
    assert gat.pooled.delta == pytest.approx(12) and gat.verdict == "higher"
    said = lean_sentence([gat, gcn])
    assert said == (
        "2 models can be compared over all their graphs. 1 of them is higher than in the"
        " paper: GraphSAGE (+12.0 points). 1 of them is lower than in the paper: GCN (−10.0"
        " points). No model has a mean difference of at most 2 standard errors. The average"
        " difference of all models is +1.00 points."
    )
    assert lean_sentence([]) == "No row can be compared."
    (alone,) = rows(table_3(like_the_paper("GCN", "cornell")))
    assert alone.pooled is None and alone.verdict == "not comparable"
    assert lean_sentence([alone]) == "No row can be compared."


def test_the_table_that_sorts_has_every_cell_and_its_reason(cells):
    html = cells_html(cells, explain(cells, {("GCN", "texas"): "a < b"}))
    head, *lines = Table(html).lines
    assert head == ["model", "graph", "verdict", "ours", "paper", "Δ", "SE", "Δ / SE", "why"]
    assert [tuple(line[:2]) for line in lines] == list(cells)
    there = {tuple(line[:2]): line for line in lines}
    assert [there["GCN", "texas"][k] for k in (2, 5, 8)] == ["▼ lower", "−20.00", "a < b"]
    assert [there["GCN", "cornell"][k] for k in (2, 8)] == ["▼ lower", "unexplained"]
    assert [there["GCN", "cora"][k] for k in (2, 5, 8)] == ["= reproduced", "0.00", ""]
    assert there["SGC-1", "cora"][2] == "○ not comparable"
    assert there["SGC-1", "cora"][6:] == ["–", "–", ""]
    for line, c in zip(lines, cells.values()):
        assert line[3] == c.ours and line[4] == c.paper_value.shown
        assert math.isnan(c.standard_error) == (line[6] == "–")


def test_the_matrix_has_all_cells_of_the_table(cells):
    head, *lines = Table(matrix_html(cells)).lines
    assert head == ["model", *PAPER_DATASETS] and [line[0] for line in lines] == row_names()
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


def test_the_table_of_rows(cells):
    head, gat, gcn = Table(rows_html(rows(cells))).lines
    assert head[2] == "mean Δ" and gcn[:3] == ["GCN", "▼ lower", "−10.00"]
    assert gcn[5:] == ["3", "0", "2"] and gat[:2] == ["GraphSAGE", "▲ higher"]


def test_nothing_run_is_empty_tables_and_no_figure():
    assert len(Table(cells_html({}, {})).lines) == 1 and len(Table(matrix_html({})).lines) == 29
    with pytest.raises(UsageError, match="no cell of Table 3 was run on cora"):
        plot_column({}, "cora")


def test_a_column_shows_every_split_and_the_papers(cells):
    assert len(plot_columns(cells)) == 3 and plot_columns({}) == []
    (axes,) = plot_column(cells, "cora").axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["GraphSAGE ▲", "SGC-1", "GCN"]
    dots = [line.get_xdata() for line in axes.lines if line.get_marker() == "o"]
    assert dots[0] == pytest.approx(
        [100 * r.test_accuracy for r in cells["GraphSAGE", "cora"].records]
    )
    assert [c.lines[0].get_xdata()[0] for c in axes.containers] == [
        printed("sota", model=m, dataset="cora").mean for m in ("GraphSAGE", "SGC-1", "GCN")
    ]


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
