"""Test the typed access to the printed tables, and its error messages."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys

import pytest

import acm.paper
from acm.errors import UsageError
from acm.paper import (
    PrintedValue,
    hyperparameters,
    printed,
    printed_values,
    search_space,
    table,
    tables,
)
from acm.paper.tables import known_datasets, records

PLACES = {t.key: t for t in tables()}
VALUES = [t.key for t in tables() if t.kind == "values"]
OPTIMA = [t.key for t in tables() if t.kind == "hyperparameters"]


def test_a_cell_comes_with_its_numbers_and_its_place():
    cell = printed("sota", model="ACM-GCN", dataset="cornell")
    assert (cell.mean, cell.std, cell.unit, cell.status) == (94.75, 3.8, "%", "ok")
    assert cell.source == 'Table 3, row "ACM-GCN", column "Cornell"'


@pytest.mark.parametrize(
    ("asked", "mean", "std"),
    [
        (dict(table="SOTA", model="acm-gcn", column="rank"), 4.8, None),
        (dict(table="statistics", row="H_edge", dataset="Film"), 0.375, None),
        (dict(table="statistics", row="#edges", dataset="squirrel"), 217073, None),
        (dict(table="metrics", row="s_agg(s(a,x))", dataset="texas"), 0.6557, None),
        (dict(table="metrics_estimated", row="DD", dataset="cora"), 0.3198, 0.0225),
        (dict(table="fixed", model="Geom-GCN*", dataset="citeseer"), 78.02, 1.15),
        (dict(table="sota", model="mlp-2", dataset="pubmed"), 86.43, 0.13),
        (dict(table="ablation", model="GCN", dataset="film"), 35.51, 0.99),
        (dict(table="ablation", row="SGC-1 w/", components="LP+HP+Mixing", column="Rank"), 10.44,
         None),
        (dict(table="ablation_times", model="ACMII-GCN", dataset="squirrel"), 10, None),
        (dict(table="hyperparameters_acm", model="ACM-GCN", dataset="film"), 41.62, 1.15),
        (dict(table="hyperparameters_acm", model="ACM-GCN", dataset="film",
              column="average epoch time"), 10.72, None),
    ],
)  # fmt: skip
def test_every_kind_of_table_answers(asked, mean, std):
    cell = printed(**asked)
    assert (cell.mean, cell.std) == (mean, std)


def test_a_cell_without_a_number_says_why():
    for model, dataset, status in [
        ("GraphSAGE", "deezer-europe", "OOM"),
        ("Geom-GCN", "deezer-europe", "NA"),
    ]:
        cell = printed("sota", model=model, dataset=dataset)
        assert (cell.mean, cell.std, cell.status) == (None, None, status)
    blank = printed(
        "hyperparameters_baselines", model="GCNII", dataset="texas", column="average epoch time"
    )
    assert (blank.mean, blank.status) == (None, "blank")
    rule = printed("statistics", row="splits", dataset="deezer-europe")
    assert (rule.status, rule.text) == ("text", "50%/25%/25%")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: printed("sotta", model="GCN"),
            r"table 'sotta' \(did you mean sota\?\).*ablation",
        ),
        (
            lambda: printed("sota", model="ACM-GNC", dataset="cora"),
            r"model 'ACM-GNC' in table sota \(did you mean ACM-GCN\?\): .* MLP-2, .*ACMII-Snow",
        ),
        (
            lambda: printed("fixed", model="ACM-GCN", dataset="deezer-europe"),
            r"dataset 'deezer-europe' in table fixed: the datasets are cornell, .*pubmed$",
        ),
        (
            lambda: printed("statistics", row="H_edg", dataset="cora"),
            r"row 'H_edg' in table statistics \(did you mean H_edge\?\)",
        ),
        (lambda: printed("sota", model="GCN"), r"11 cells .* also give column \(Cornell"),
        (
            lambda: printed("ablation", model="GCN", components="LP+HP+Mixing", dataset="film"),
            r"^0 cells in table ablation match all keywords$",
        ),
        (
            lambda: hyperparameters("GCN", "deezer-europe"),
            r"'deezer-europe' among the printed optima of GCN: .* are cornell, .*pubmed$",
        ),
        (
            lambda: hyperparameters("MLP-2", "cornell"),
            r"model 'MLP-2' among the printed optima for random splits: the models are SGC-1, ",
        ),
        (lambda: hyperparameters("GCN", "cornell", "fixed"), r"model 'GCN' .*for fixed splits"),
        (lambda: hyperparameters("ACM-GNC", "cora"), r"model 'ACM-GNC' .*did you mean ACM-GCN\?\)"),
        (lambda: hyperparameters("GCN", "pubmd"), r"'pubmd' .*did you mean pubmed\?"),
        (
            lambda: hyperparameters("GCN", "cora", "fix"),
            r"split scheme .fix. \(did you mean fixed\?\)",
        ),
        (lambda: search_space("real", "GCN", "cora"), r"search table 'real'.*are synthetic, abl"),
        (lambda: search_space("real_world", "MLP-1", "cora"), r"model 'MLP-1' in table search_"),
        (lambda: search_space("real_world", "GCN"), r"dataset 'None' .*datasets are cornell"),
        (lambda: table("sota2"), r"table 'sota2' \(did you mean sota\?\)"),
        (lambda: printed("sota", modl="GCN"), r"keyword 'modl' \(did you mean model\?\)"),
    ],
)
def test_a_refusal_is_one_line_that_names_what_would_be_right(call, says):
    with pytest.raises(UsageError) as refusal:
        call()
    assert re.search(says, str(refusal.value))
    assert "\n" not in str(refusal.value)


def test_an_optimum_is_typed():
    found = hyperparameters("acm-gcnii", "Cornell")
    result = printed("hyperparameters_acm", model="ACM-GCNII", dataset="cornell")
    assert vars(found) == dict(
        model="ACM-GCNII", dataset="cornell", split_scheme="random", lr=0.01,
        weight_decays=(1e-3,), dropout=0.5, hidden=64, layers=1, heads=None, jk=None, lambda_=0.5,
        alpha=0.4, results=result.mean, std=result.std, notes=(), epoch_ms=6.81, seconds=1.43,
        source='Appendix A.4, hyperparameters of ACM-GNNs, Cornell, row "ACM-GCNII"',
        row_status="as_printed", row_of="", outside_range=(), not_in_model=(),
    )  # fmt: skip
    assert hyperparameters("GAT+JK", "texas").heads == 2
    assert hyperparameters("GAT+JK", "texas").jk == "cat"
    fixed = hyperparameters("ACM-GCN", "cornell", "fixed")
    assert (fixed.lr, fixed.weight_decay, fixed.dropout) == (0.05, 5e-4, 0.5)
    assert (fixed.layers, fixed.alpha) == (None, None)


def test_of_several_weight_decays_all_are_kept_and_the_first_is_used():
    found = hyperparameters("ACM-SGC-1", "deezer-europe")
    assert found.weight_decays == (0, 5e-6, 1e-5, 5e-5)
    assert found.weight_decay == 0
    assert "weight_decay is printed as 0,5e-6,1e-5,5e-5: we use the first" in [
        n.text for n in found.notes
    ]


@pytest.mark.parametrize("dataset", known_datasets()[:6])
@pytest.mark.parametrize("model", ["SGC-1", "GCN", "ACM-SGC-1", "ACM-GCN", "ACMII-GCN"])
def test_the_full_rows_of_the_ablation_are_named_as_the_models_they_are(model, dataset):
    cell = printed("ablation", model=model, dataset=dataset)
    assert cell.components == ("LP" if model in ("SGC-1", "GCN") else "LP+HP+Identity+Mixing")
    assert hyperparameters(model, dataset).model == model


def test_ranges_are_read_for_the_graph_that_is_asked():
    others = search_space("real_world", "ACM-GCN", "cora")
    assert others["lr"] == [0.01, 0.05, 0.1]
    assert others["weight_decay"] == [0, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2]
    assert others["dropout"] == [i / 10 for i in range(10)]
    assert others["hidden"] == [64]
    assert "layers" not in others
    deezer = search_space("Real_World", "acm-gcn", "Deezer-Europe")
    assert deezer["lr"] == [0.002, 0.01, 0.05]
    assert deezer["weight_decay"] == [0, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3]
    assert search_space("real_world", "GraphSAGE", "deezer-europe")["hidden"] == [8]
    assert search_space("real_world", "GAT+JK", "cora")["jk"] == ["max", "cat"]
    assert search_space("synthetic", "MLP-1") == {"lr": [0.05], "weight_decay": [5e-5, 1e-4, 5e-4]}


def test_a_range_read_otherwise_than_printed_says_so():
    found = search_space("real_world", "GCNII*", "cora")
    assert found["alpha"] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert any("{0.1,0.2,0.3,0,4,0.5}" in note for note in found.notes)
    second = search_space("ablation", "ACMII-GCN no mixing")
    assert second == search_space("ablation", "ACM-GCN no mixing")
    assert any("no printed row names ACMII-GCN no mixing" in note for note in second.notes)


def test_places_are_what_a_reader_can_look_up():
    for found in tables():
        assert found.place and "tab:" not in found.place and "_" not in found.place
        assert (found.cited_as is None) == bool(found.appendix)
        assert not found.appendix or re.match(r"Appendix (A\.[1-4]|I), \w", found.appendix)
    found = hyperparameters("GCN", "cornell")
    assert found.source.startswith("Appendix A.4, hyperparameters of the baselines, Cornell")
    said = [
        n
        for r in table("hyperparameters_baselines")
        for n in (r.source, *(note.text for note in r.notes))
    ]
    said += [cell.source for key in VALUES + OPTIMA for cell in printed_values(key)]
    said += [search_space("real_world", "GCN", "cora").source]
    assert not [line for line in said if "tab:" in line]


@pytest.mark.parametrize("key", VALUES + OPTIMA)
def test_every_row_of_every_table_is_typed(key):
    rows = table(key)
    assert rows
    if key in VALUES:
        for cell in rows:
            assert isinstance(cell, PrintedValue)
            assert (cell.mean is None) == (cell.status != "ok")
            assert cell.mean is None or isinstance(cell.mean, float)
            assert cell.std is None or isinstance(cell.std, float)
            assert cell.column == "Rank" or cell.dataset in known_datasets()
            assert cell.row in cell.source and cell.column in cell.source
            assert cell.source.startswith(f"Table {PLACES[cell.table].cited_as}, ") and cell.text
    else:
        for row in rows:
            for number in (row.lr, row.dropout, *row.weight_decays):
                assert isinstance(number, float) and 0 <= number < 1
            assert isinstance(row.hidden, int)
            assert row.dataset in known_datasets()
            assert row == hyperparameters(row.model, row.dataset, row.split_scheme)


@pytest.mark.parametrize("name", ["synthetic", "ablation", "real_world"])
def test_every_range_is_typed(name):
    for record in records(f"search_{name}"):
        for model in record["models"].split("; "):
            space = search_space(name, model, "cora")
            assert {"lr", "weight_decay"} <= space.keys()
            for field, found in space.items():
                assert {type(v) for v in found} == {
                    {"jk": str, "hidden": int, "heads": int, "layers": int}.get(field, float)
                }


def test_no_two_cells_of_a_table_share_their_names():
    for key in VALUES:
        cells = [(cell.name, cell.column) for cell in table(key)]
        assert len(cells) == len(set(cells))
    for key in OPTIMA:
        rows = [(row.model, row.dataset) for row in table(key)]
        assert len(rows) == len(set(rows))


def test_importing_the_room_brings_in_no_numerical_library():
    code = "import sys, acm.paper; print({'torch', 'numpy', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_examples_of_the_room_are_true():
    assert doctest.testmod(acm.paper) == (0, 3)


def test_of_what_splits_a_number_is_and_what_its_spread_means():
    def cell(model, dataset, table="sota"):
        return printed(table, model=model, dataset=dataset)

    sparse = [(c.name, c.dataset) for c in table("sota") if c.split_scheme == "sparse"]
    graphs = ("cora", "citeseer", "pubmed")
    assert sorted(sparse) == sorted((m, d) for m in ("GAT", "APPNP", "GPRGNN") for d in graphs)
    assert cell("ACM-GCN", "cora", "fixed").split_scheme == "fixed"
    assert cell("MLP-2", "cora").split_scheme == cell("H2GCN", "cora").split_scheme == "random"
    # Own runs: over ten splits, five on Deezer-Europe, and divided by as many.
    assert cell("ACM-GCN", "cora").standard_error == pytest.approx(1.22 / 9**0.5)
    assert cell("GCN", "deezer-europe").standard_error == pytest.approx(0.53 / 4**0.5)
    # From elsewhere: a standard deviation, or half a 95 % interval.
    assert cell("GAT", "wisconsin").standard_error == pytest.approx(4.66 / 10**0.5)
    assert cell("MLP-2", "deezer-europe").standard_error == pytest.approx(0.72 / 5**0.5)
    assert cell("MLP-2", "texas").standard_error == pytest.approx(0.71 / 1.96)
    assert cell("GraphSAGE", "cora").standard_error == pytest.approx(0.26 / 1.96)
    assert cell("GraphSAGE", "cora").split_scheme == "random"
    assert cell("Geom-GCN", "texas").standard_error is None


def test_no_standard_deviation_over_splits_could_be_so_small():
    # Of 61 test nodes with 91 % right, chance alone has 3.7 points; over a hundred runs the mean's
    # 95 % interval is then 0.7 wide to either side, and that is what is printed.
    for model in ("MLP-2", "APPNP", "GPRGNN"):
        for dataset in ("cornell", "texas"):
            found = printed("sota", model=model, dataset=dataset)
            right = found.mean / 100
            chance = 100 * (right * (1 - right) / 61) ** 0.5
            assert found.std < chance / 4
            assert found.std == pytest.approx(1.96 * chance / 100**0.5, rel=0.2)


def test_graphsage_has_such_intervals_without_a_star():
    # Test nodes of a random split of each graph.
    tested = {
        "cornell": 61, "texas": 61, "chameleon": 457, "film": 1579,
        "squirrel": 1041, "cora": 609, "citeseer": 733, "pubmed": 3945,
    }  # fmt: skip
    for dataset, nodes in tested.items():
        found = printed("sota", model="GraphSAGE", dataset=dataset)
        right = found.mean / 100
        chance = 100 * (right * (1 - right) / nodes) ** 0.5
        assert found.marker == "" and found.std < chance / 4
        assert found.std == pytest.approx(1.96 * chance / 100**0.5, rel=0.25)
    # Wisconsin's, of 80 test nodes, is a standard deviation: there is none of GPRGNN's authors.
    assert printed("sota", model="GraphSAGE", dataset="wisconsin").std > 5
    # Whatever else is said to be a standard deviation of ten splits could be one.
    tested |= {"wisconsin": 80}
    for found in table("sota"):
        if found.dataset in tested and found.std and found.unit == "%":
            right = found.mean / 100
            chance = 100 * (right * (1 - right) / tested[found.dataset]) ** 0.5
            assert found.interval or found.std > 0.3 * chance, found
