"""Compare the recipe of every cell with the paper's tables, and check its stated source."""

import csv
import statistics
from pathlib import Path

import pytest

from acm import experiments, paper
from acm.data.names import PAPER_DATASETS
from acm.errors import UsageError
from acm.experiments import Validation, recipes
from acm.experiments.recipes import (
    HYPERPARAMETERS,
    ORIGINS,
    arguments,
    default_options,
    in_words,
    read_options,
    recipe,
    write_options,
)
from acm.registry import MODELS

TABLES = {
    "random": ("hyperparameters_baselines", "hyperparameters_acm"),
    "fixed": ("hyperparameters_fixed",),
}


@pytest.mark.parametrize("split_scheme", TABLES)
def test_every_published_optimum_is_the_recipe(split_scheme):
    seen = set()
    for table in TABLES[split_scheme]:
        for row in paper.table(table):
            seen.add((row.model, row.dataset))
            if row.lr == 0:
                continue
            r = recipe(row.model, row.dataset, split_scheme)
            if r.origin == "searched":
                assert row.row_status in ("misprint", "row_of_another_model")
                continue
            assert (r.lr, r.weight_decay, r.dropout, r.hidden) == (
                row.lr, row.weight_decay, row.dropout, row.hidden,
            )  # fmt: skip
            assert r.source.startswith(row.source) and r.origin in ("printed", "misprint")
            options = read_options(row.model, r.options)
            printed = dict(
                layers=row.layers, heads=row.heads, jk=row.jk, alpha=row.alpha,
                **{"lambda": row.lambda_},
            )  # fmt: skip
            for name, value in printed.items():
                if name in options and value is not None:
                    assert options[name] == value
    for model in (name for name, entry in MODELS.items() if entry.tables):
        for dataset in PAPER_DATASETS:
            r = recipe(model, dataset, split_scheme)
            assert r.origin in ORIGINS and "\n" not in r.sentence() and r.source
            printed = (model, dataset) in seen and (model, dataset, split_scheme) != ZERO
            # A search replaces a printed value only if it is a misprint: see above.
            assert r.origin in ("searched", *(("printed", "misprint") if printed else ("chosen",)))


#: Its learning rate is printed as 0.
ZERO = ("FAGCN", "squirrel", "fixed")


def test_the_sentence_names_misprints_and_gaps():
    for model in ("SGC-1", "SGC-2"):
        misprint = recipe(model, "pubmed")
        assert misprint.origin in ("misprint", "searched")
        assert f"the whole row equals that of ACM-{model}" in misprint.sentence()
        assert "most likely a misprint" in misprint.sentence()
    assert "outside the printed search range" in recipe("GCNII*", "film").sentence()
    assert "5e-6,1e-5: we use the first" in recipe("GCNII", "deezer-europe").sentence()
    assert recipe("GAT", "cora").sentence().startswith("not published; chosen because")
    assert recipe("GAT", "texas").sentence() == (
        "found by our search: best validation accuracy of 12 configurations (results/searches.csv)"
    )
    assert recipe("FAGCN", "squirrel", "fixed").lr == 0.01
    assert "recipe for random splits" in recipe("GCN", "cora", "fixed").sentence()


def test_what_was_chosen_lies_where_the_paper_searched():
    chosen = list(csv.DictReader(Path(experiments.__file__).with_name("recipes.csv").open()))
    assert len({(r["model"], r["dataset"], r["split_scheme"]) for r in chosen}) == len(chosen)
    for row in chosen:
        assert (
            row["model"] in MODELS
            and row["reason"]
            and row["status"] in ("to_search", "chosen", "searched")
        )
        assert set(read_options(row["model"], row["options"])) == set(default_options(row["model"]))
        rows = {r["dataset"] for r in chosen if r["model"] == row["model"]}
        datasets = set(PAPER_DATASETS) - rows if row["dataset"] == "*" else {row["dataset"]}
        for dataset in datasets:
            try:
                space = paper.search_space("real_world", row["model"], dataset)
            except UsageError:
                continue
            if recipe(row["model"], dataset, row["split_scheme"]).origin != "chosen":
                continue
            values = {n: float(row[n]) for n in ("lr", "weight_decay", "dropout", "hidden")}
            values |= read_options(row["model"], row["options"])
            for name, value in values.items():
                assert value in space.get(name, [value]), (row["model"], dataset, name)


def test_only_a_finished_search_replaces_a_misprint(monkeypatch):
    asked = dict(
        lr="0.5", weight_decay="0", dropout="0", hidden="64", options="",
        reason="best validation accuracy of 3 configurations (results/searches.csv)",
    )  # fmt: skip
    for status, origin in (("searched", "searched"), ("to_search", "misprint")):
        rows = {("SGC-1", "pubmed", "random"): asked | {"status": status}}
        monkeypatch.setattr(recipes, "_chosen_rows", lambda rows=rows: rows)
        assert recipe("SGC-1", "pubmed").origin == origin
        assert (recipe("SGC-1", "pubmed").lr == 0.5) is (status == "searched")
    rows = {("SGC-1", "pubmed", "random"): asked | {"status": "searched"}}
    monkeypatch.setattr(recipes, "_chosen_rows", lambda: rows)
    assert recipe("SGC-1", "pubmed").sentence() == (
        "found by our search: best validation accuracy of 3 configurations (results/searches.csv);"
        ' replaces Appendix A.4, hyperparameters of the baselines, PubMed, row "SGC-1":'
        " the whole row equals that of ACM-SGC-1, including the result: most likely a misprint"
    )


def rank(tried):
    loss = statistics.fmean(r.val_loss for r in tried)
    # Accuracies tie, and a sum's last digit depends on its order.
    return len(tried), round(statistics.fmean(r.val_accuracy for r in tried), 12), -loss


def test_what_was_searched_is_what_validation_prefers():
    rows = list(csv.DictReader(Path(experiments.__file__).with_name("recipes.csv").open()))
    done = [row for row in rows if row["status"] == "searched"]
    seen = experiments.results("searches", Validation).records()
    for row in done:
        place = row["model"], row["dataset"], row["split_scheme"]
        names = (*HYPERPARAMETERS, "options")
        points: dict[tuple, list] = {}
        for r in seen:
            # GraphSAGE was searched with both of its layers, of which one is the row's.
            if (r.model, r.dataset, r.split_scheme) == place and (
                r.model != "GraphSAGE" or r.options == row["options"]
            ):
                points.setdefault(tuple(getattr(r, name) for name in names), []).append(r)
        most = max(map(len, points.values()))
        assert most == len(experiments.trials_of(row["dataset"], row["model"]))
        best, _ = max(points.items(), key=lambda point: rank(point[1]))
        assert best == (*(float(row[name]) for name in HYPERPARAMETERS), row["options"]), place
        assert f"best validation accuracy of {len(points)} configurations" in row["reason"]
        assert row["reason"].endswith("(results/searches.csv)")
    # Nothing was searched in vain.
    assert {(r.model, r.dataset) for r in seen} == {(row["model"], row["dataset"]) for row in done}


def test_what_is_given_replaces_and_is_said():
    r = recipe("GCNII", "cora", "random", {"layers": 4, "lr": 0.5, "dropout": None})
    assert (r.lr, r.dropout, r.options) == (0.5, 0.5, "alpha=0.2 lambda=0.5 layers=4")
    assert r.sentence().startswith("layers, lr as given; weight_decay, dropout, hidden, alpha,")
    assert 'row "GCNII"' in r.sentence()
    values = {"lr": 1, "weight_decay": 0, "dropout": 0, "hidden": 8}
    assert recipe("GCN", "cora", given=values).sentence().endswith("dropout, hidden as given")
    unpublished = recipe("GCN", "tolokers", given={n: values[n] for n in list(values)[:3]})
    assert unpublished.hidden == 64
    assert unpublished.sentence() == "lr, weight_decay, dropout as given"
    assert recipe("GCN", "cora", given={}) == recipe("gcn", "cora")
    assert recipe("Snowball-2", "cora").sentence().endswith("not printed: act relu (the default)")


def test_hyperparameters_are_said_in_words():
    values = {"weight_decay": 5e-4, "hidden": 64, "jk": "cat", "alpha": 0.10}
    assert in_words(values) == "weight decay 0.0005, hidden 64, jk cat, alpha 0.1"


def test_options_are_text_and_back():
    for model in MODELS:
        values = default_options(model)
        text = write_options(values)
        assert read_options(model, text) == values
        assert write_options(read_options(model, text)) == text
        assert set(arguments(model, text)) == set(MODELS[model].options)
    assert arguments("GCNII", "layers=3 lambda=1") == {"layers": 3, "lambda_": 1.0}
    assert write_options({"b": 0.1, "a": 3}) == "a=3 b=0.1"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("GATT", "cora"), "did you mean GAT"),
        (("GAT", "corra"), "did you mean cora"),
        (("GAT", "cora", "mixed"), "random, fixed"),
        (("GAT", "tolokers"), "the paper has no hyperparameters for GAT on tolokers"),
    ],
)
def test_bad_names_are_said_in_one_line(arguments, words):
    with pytest.raises(UsageError, match=words) as error:
        recipe(*arguments)
    assert "\n" not in str(error.value)


def test_what_a_printed_recipe_leaves_out_is_what_was_chosen_for_the_very_cell():
    r = recipe("APPNP", "wisconsin")
    assert (r.origin, r.lr, r.weight_decay) == ("printed", 0.05, 0.001)
    assert r.options == "K=10 alpha=0.9"
    assert "not printed: K 10, alpha 0.9 (chosen because" in r.sentence()
    r = recipe("GAT+JK", "cora")
    assert r.origin == "printed" and "chosen because" not in r.sentence()
