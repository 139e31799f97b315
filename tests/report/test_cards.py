"""The cards show the size, results and recipes of every model."""

import re
from html import escape
from pathlib import Path

import jupytext
import pytest

from acm.experiments import recipe, trials_of
from acm.registry import MODELS, build
from acm.report.cells import table_3
from acm.report.pages.models import GRAPHS, anchor, card_text, cards, overview, size
from tests.records import make_record
from tests.report.test_table3 import Table

ROOT = Path(__file__).parents[2]
SHOWN = [name for name, entry in MODELS.items() if entry.tables or entry.beyond]


@pytest.fixture(scope="module")
def cells():
    return table_3([make_record(t, 0.9) for t in trials_of("cornell", "GCN", splits=2)])


def test_sizes_are_those_of_the_models_on_cora():
    # 1433 features, 64 hidden, 7 classes; MLP-2 has biases, GCN none.
    assert size("GCN") == "92,160" and size("MLP-2") == "92,231"
    own = sum(
        p.numel() for p in build("FAGCN", 1433, 7, recipe("FAGCN", "cora").hidden).parameters()
    )
    assert size("FAGCN") == f"{own:,}"


@pytest.mark.parametrize("name", ["GAT", "GCN", "GCNII*", "ACM-GCN", "ACM-GCN++"])
def test_a_card_of_the_book(name):
    card, entry = cards([name]), MODELS[name]
    assert f'id="{anchor(name)}"' in card and entry.latex in card
    assert escape(entry.heterophily) in card and f"{{cite:t}}`{entry.source}`" in card
    assert f"{size(name)} parameters on Cora" in card
    for dataset in GRAPHS:
        r = recipe(name, dataset)
        lines = [line.replace("\\", "") for line in card.splitlines() if line.startswith("- **")]
        (line,) = (line for line in lines if dataset in line.split("**")[1].split(", "))
        assert f"lr {r.lr:g}," in line and f"hidden {r.hidden}" in line
        assert line.endswith(f"{r.sentence()}.")
    assert card.count("<details") == card.count("</details>") == 1


def test_several_cards_and_an_overview(cells):
    assert cards(["SGC-1", "SGC-2"]).count("<details") == 2
    table = overview(cells)
    head, *lines = Table(table).lines
    assert head == ["model", "cornell", "chameleon", "cora", "recipes"]
    assert [line[0] for line in lines] == SHOWN
    assert all(f'<a href="#{anchor(name)}">{name}</a>' in table for name in SHOWN)
    (gcn,) = (line for line in lines if line[0] == "GCN")
    assert gcn[1:] == ["90.0 (82.5)", "· (64.2)", "· (87.8)", "9 printed/1 searched"]


def test_anchors_are_those_of_one_card_each():
    found = [anchor(name) for name in MODELS]
    assert len(set(found)) == len(found) and all(re.fullmatch("[a-z0-9-]+", a) for a in found)


def test_the_page_has_a_card_for_every_model():
    page = jupytext.read(ROOT / "notebooks" / "models.md", fmt="md:myst")
    said: list[str] = []
    names = {"cards": said.extend, "Markdown": str}
    for part in page.cells:
        if part.cell_type == "code" and "Markdown(cards(" in part.source:
            exec(part.source, names)
    assert sorted(said) == sorted(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_every_paper_is_in_the_bibliography(name):
    entries = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    assert f"{{{MODELS[name].source}," in entries


def test_a_card_for_the_terminal():
    card = card_text("ACM-GCNII*")
    assert card.startswith("ACM-GCNII* (Table 3)\n\n  H_l = Mix_c ReLU(")
    assert "channels     low+high+identity, mixed node by node" in card
    assert f"weights      {size('ACM-GCNII*')} on Cora\nstacks       yes" in card
    assert card.count(" printed: ") == 10
