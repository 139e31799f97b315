"""The errata as data: every entry points to a test and a page that exist, and what had no test."""

from __future__ import annotations

import ast
import re
import unicodedata
from fractions import Fraction
from pathlib import Path

import pytest
from scipy.sparse.csgraph import connected_components
from torch_geometric.utils import to_scipy_sparse_matrix

from acm.data import PAPER_DATASETS, describe, load
from acm.data.generator import HOMOPHILY_LEVELS, inter_class_draws
from acm.errors import UsageError
from acm.paper import ERRATA_KINDS, errata, printed, table, tables
from acm.report.pages.errata import errata_html

ROOT = Path(__file__).resolve().parents[2]


def slug(heading: str) -> str:
    """The anchor of a heading, as docutils makes it."""
    plain = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode().lower()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", plain))


def headings(stem: str) -> list[str]:
    text = (ROOT / "notebooks" / f"{stem}.md").read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [slug(found) for found in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)]


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("entry", errata(), ids=lambda entry: entry.id)
def test_every_entry_has_its_place_test_and_page(entry):
    assert all(vars(entry).values())
    assert entry.kind in ERRATA_KINDS and entry.says != entry.right
    path, name = entry.test.split("::")
    assert name in functions(ROOT / path)
    stem, _, anchor = entry.page.partition("#")
    assert anchor in headings(stem)


def test_every_label_stands_in_the_source(tex):
    labels = set(re.findall(r"\\label\{([^}]*)\}", tex))
    assert {entry.label for entry in errata()} <= labels


def test_ids_are_unique_and_kinds_part_the_entries():
    ids = [entry.id for entry in errata()]
    assert len(set(ids)) == len(ids)
    assert sorted(e.id for kind in ERRATA_KINDS for e in errata(kind)) == sorted(ids)
    with pytest.raises(UsageError, match="algebra"):
        errata("algebr")


def test_cards_link_escape_and_mark_formulas():
    html = errata_html(errata())
    assert html.count('class="sd-card ') == len(errata())
    assert 'href="filterbank.html#the-printed-number-of-parameters' in html
    assert 'href="#some-fixed-splits' in html
    assert r"\((-1, 1]\)" in html and "$" not in html
    assert "strict \\(&gt;\\)" in html


def test_damaged_cells_are_those_that_the_source_breaks(table_bodies):
    damaged = [
        cell
        for found in tables()
        if found.kind == "values"
        for cell in table(found.key)
        if cell.damaged
    ]
    assert len(damaged) == 3
    for cell in damaged:
        assert "±" not in cell.text and cell.text in table_bodies[cell.label]
        assert None not in (cell.mean, cell.std)


def test_table_6_of_the_text_is_another_table(tex):
    assert "from Table 6 we can see that the $S_\\text{agg}" in tex
    label = {found.position: found.label for found in tables()}
    assert label[6] == "tab:hyperparameters_baselines"
    assert label[8] == "tab:estimation_dataset_stats"
    assert any(cell.name == "S_agg(S(Â,X))" for cell in table("metrics"))


def test_28_levels_are_19_kinds_of_graph():
    draws = {h: inter_class_draws(h) for h in HOMOPHILY_LEVELS}
    exact = {h: int(2 / Fraction(str(h)) - 2) for h in HOMOPHILY_LEVELS}
    assert draws == exact
    assert len(draws) == 28 and len(set(draws.values())) == 19
    assert [h for h in draws if draws[h] == 0] == [0.95, 0.9, 0.85, 0.8, 0.75, 0.7]
    assert [h for h in draws if draws[h] == 1] == [0.65, 0.6, 0.55]


@pytest.mark.data
def test_loops_and_parts_of_the_ten_graphs():
    loops, parts = {}, {}
    for name in PAPER_DATASETS:
        data = load(name)
        matrix = to_scipy_sparse_matrix(data.edge_index, num_nodes=data.num_nodes)
        loops[name] = int((matrix.diagonal() != 0).sum())
        parts[name] = connected_components(matrix, directed=False)[0]
    assert {name for name in loops if not loops[name]} == {"deezer-europe", "cora"}
    assert {name: n for name, n in parts.items() if n > 1} == {"cora": 78, "citeseer": 438}
    assert [describe(name).isolated_nodes for name in ("cora", "citeseer")] == [0, 48]


@pytest.mark.data
def test_films_edges_in_table_3_are_no_count_of_its_file():
    data = load("film")
    loops = int((data.edge_index[0] == data.edge_index[1]).sum())
    both = data.num_edges
    counts = {data.raw_rows, data.directed_edges, both, both - loops, (both - loops) // 2}
    counts |= {count + sign * loops for count in counts for sign in (1, -1)}
    assert printed("statistics", row="#edges", dataset="film").mean not in counts
