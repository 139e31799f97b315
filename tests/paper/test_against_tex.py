"""Compare every number of every table with the paper's LaTeX source, by a separate parser.

Nothing here uses `acm.paper`'s code: the source is parsed from its characters, the CSV files are
read as they stand, and both become the same mapping from (row, heading) to (print, bold).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = Path(__file__).resolve().parents[2] / "acm" / "paper" / "data"
SECOND_HALVES = ("ablation_times", "sota", "metrics_estimated")
HEADINGS = {"layers": "# layers", "heads": "Gat heads", "jk": "JK Type", "alpha": "alpha_l"}
SEARCH_HEADINGS = {"heads": "head", "jk": "JK type", "alpha": "alpha_l"}
TIMES = "average epoch time/average total time"
#: Columns that say how a number is to be read; `acm.paper` explains them.
READING = {"split_scheme", "splits", "spread_kind", "row_status", "row_of", "outside_range",
           "not_in_model", "damaged"}  # fmt: skip
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def read(name: str) -> list[dict[str, str]]:
    with (DATA / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


INDEX = {record["key"]: record for record in read("index")}
RECORDS = {key: read(key) for key in INDEX}


def of(key: str, tables: dict) -> dict:
    """The half of the parsed tables that the key names."""
    return tables[INDEX[key]["label"]][key in SECOND_HALVES]


def as_read(raw: str, *numbers: str) -> str:
    """The print, and how it was read if it does not hold just the numbers it is read as."""
    there = NUMBER.findall(raw.replace(",", "") if re.fullmatch(r"[\d,]+", raw) else raw)
    wanted = [number for number in numbers if number]
    return raw if there == wanted else f"{raw} read as {wanted}"


def csv_facts(key: str, records: list[dict[str, str]]) -> list[tuple[tuple, tuple]]:
    """What one CSV file says is printed, as pairs of (row, heading) and (print, bold)."""
    found = []
    for r in records:
        if INDEX[key]["kind"] == "values":
            text = f"{r['mean']} ± {r['std']}" if r["std"] else r["mean"]
            if r["raw"]:
                no_number = r["status"] in ("NA", "OOM", "text")
                text = r["raw"] if no_number else as_read(r["raw"], r["mean"], r["std"])
            name = f"{r['row']} {r['components']}" if "components" in r else r["row"]
            found.append(((name, r["column"]), (text, r["bold"] == "yes")))
            continue
        if INDEX[key]["kind"] == "hyperparameters":
            name = f"{r['block']} {r['row']}"
            text = f"{r['epoch_ms']}ms/{r['total_s']}s" if r["epoch_ms"] + r["total_s"] else ""
            if r["raw"]:
                text = as_read(r["raw"], r["epoch_ms"], r["total_s"])
            found.append(((name, TIMES), (text, False)))
            names = HEADINGS
            other = {"label", "block", "row", "name", "dataset", "epoch_ms", "total_s", "raw"}
        else:
            name, names, other = r["row"], SEARCH_HEADINGS, {"label", "row", "models", "inferred"}
        for field in r.keys() - other - READING:
            found.append(((name, names.get(field, field)), (r[field], False)))
    return found


def differences(printed: dict, held: list[tuple[tuple, tuple]]) -> list[str]:
    """What the source prints and the file lacks, has otherwise, has twice, or has in addition."""
    found = [f"twice: {place}" for place, n in Counter(p for p, _ in held).items() if n > 1]
    own = dict(held)
    found += [f"missing: {place}" for place in printed.keys() - own.keys()]
    found += [f"extra: {place}" for place in own.keys() - printed.keys()]
    found += [
        f"{place}: printed {printed[place]}, held {own[place]}"
        for place in printed.keys() & own.keys()
        if printed[place] != own[place]
    ]
    return sorted(found)


def test_the_index_lists_the_tables_of_the_source_in_its_order(table_bodies):
    held = {r["label"]: int(r["position"]) for r in INDEX.values()}
    assert held == {label: at for at, label in enumerate(table_bodies, 1)}
    assert {p.stem for p in DATA.glob("*.csv")} == INDEX.keys() | {"index", "errata"}
    assert all(r["label"] == INDEX[key]["label"] for key in INDEX for r in RECORDS[key])


@pytest.mark.parametrize("key", INDEX)
def test_every_cell_is_held_as_printed(parsed, key):
    assert of(key, parsed)
    assert differences(of(key, parsed), csv_facts(key, RECORDS[key])) == []


@pytest.mark.parametrize("label", dict.fromkeys(r["label"] for r in INDEX.values()))
def test_the_same_decimals_stand_in_the_source_however_it_is_cut(table_bodies, label):
    sizes = r"\[rgb\]\{[^}]*\}|p\{[\d.]+em\}|\\cmidrule\{[^}]*\}"
    held = Counter()
    for key in (key for key, record in INDEX.items() if record["label"] == label):
        for _, (text, _bold) in csv_facts(key, RECORDS[key]):
            held.update(re.findall(r"\d+\.\d+", text))
    assert held == Counter(re.findall(r"\d+\.\d+", re.sub(sizes, "", table_bodies[label])))


def places_of_digits() -> list[tuple[str, int, str, int]]:
    """Every digit that a CSV file holds for a number: key, record, field, position."""
    other = {"label", "row", "block", "name", "column", "dataset", "models", "inferred"} | READING
    return [
        (key, line, field, at)
        for key, records in RECORDS.items()
        for line, record in enumerate(records)
        for field in record.keys() - other
        for at, char in enumerate(record[field])
        if char.isdigit()
    ]


PLACES = sorted(places_of_digits())


@settings(max_examples=100, deadline=None)
@given(place=st.sampled_from(PLACES), shift=st.integers(1, 9))
def test_any_changed_digit_is_found(parsed, place, shift):
    key, line, field, at = place
    records = [dict(record) for record in RECORDS[key]]
    text = records[line][field]
    records[line][field] = text[:at] + str((int(text[at]) + shift) % 10) + text[at + 1 :]
    assert differences(of(key, parsed), csv_facts(key, records)) != []


@pytest.mark.parametrize("key", INDEX)
def test_a_lost_a_doubled_and_an_added_row_are_found(parsed, key):
    records = RECORDS[key]
    assert any("missing" in d for d in differences(of(key, parsed), csv_facts(key, records[1:])))
    doubled = [*records, records[0]]
    assert any("twice" in d for d in differences(of(key, parsed), csv_facts(key, doubled)))
    added = [*records, records[0] | {"row": "GCN-9"}]
    assert any("extra" in d for d in differences(of(key, parsed), csv_facts(key, added)))


def test_a_change_of_the_source_is_found(tex, parse):
    changed = tex.replace(r"\textbf{58.02 $\pm$ 1.86} & 67.01", r"58.02 $\pm$ 1.86 & 67.01")
    changed = parse(changed.replace("25.41ms/8.11s", "25.41ms/8.12s"))
    found = {key: differences(of(key, changed), csv_facts(key, RECORDS[key])) for key in INDEX}
    assert {key: names for key, names in found.items() if names} == {
        "sota": [
            "('ACM-GCN', 'Squirrel'): printed ('58.02 ± 1.86', False), held ('58.02 ± 1.86', True)"
        ],
        "hyperparameters_baselines": [
            f"('Cornell GCNII', '{TIMES}'): printed ('25.41ms/8.12s', False), "
            "held ('25.41ms/8.11s', False)"
        ],
    }


def test_the_plain_columns_follow_from_the_printed_ones():
    for key, records in RECORDS.items():
        for r in records:
            if INDEX[key]["kind"] == "search":
                continue
            printed = r.get("column", r.get("block"))
            assert r["dataset"] == ("" if printed == "Rank" else printed.lower())
            assert r["damaged"] in ("", "yes")
            if INDEX[key]["kind"] == "values":
                word = {"NA": "NA", "OOM": "OOM"}.get(r["raw"], "text" if "%" in r["raw"] else "ok")
                assert (r["status"], bool(r["mean"])) == (word, word == "ok")
                signed = r["row"].endswith(("*", "†")) and "GCNII" not in r["row"]
                assert r["marker"] == (r["row"][-1] if signed else "")
            if key in ("sota", "fixed", "hyperparameters_baselines", "hyperparameters_acm"):
                plain = r["row"].removesuffix(r.get("marker", ""))
                assert plain.casefold() == r["name"].casefold()
