"""Tables that sort, in a browser without a network, by mouse and by keyboard."""

import shutil
from pathlib import Path

import pytest

from tests.book.browser import Browser, chromium

ROOT = Path(__file__).parents[2]

TABLE = """<!doctype html><link rel="icon" href="data:,"><title>A table</title>{script}
<table class="sortable"><thead><tr><th>name</th><th>number</th><th>why</th></tr></thead><tbody>
<tr><th>B-2</th><td>−3.0</td><td>x</td></tr>
<tr><th>A-10</th><td>–</td><td></td></tr>
<tr><th>A-9</th><td>20 ± 1</td><td>y</td></tr>
<tr><th>c</th><td>5</td><td></td></tr>
</tbody></table>
<table><thead><tr><th>left alone</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>
"""

# Presses headings one after another, and reads the order after each.
PRESS = """(() => {
  const [table, other] = document.querySelectorAll("table");
  const read = () => ({
    names: [...table.tBodies[0].rows].map((row) => row.cells[0].textContent),
    sort: [...table.tHead.rows[0].cells].map((cell) => cell.getAttribute("aria-sort")),
  });
  const found = [read()];
  for (const column of [0, 0, 1, 1, 2]) {
    const button = table.tHead.rows[0].cells[column].querySelector("button");
    if (!button) break;
    button.focus();
    button.click();
    found.push({...read(), focused: document.activeElement === button, type: button.type});
  }
  return {found, buttons: document.querySelectorAll("button").length,
    other: other.querySelectorAll("button").length,
    heads: [...table.tHead.rows[0].cells].map((cell) => cell.textContent)};
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if chromium() is None:
        pytest.skip("no Chromium here")
    folder = tmp_path_factory.mktemp("sortable")
    shutil.copy(ROOT / "book" / "_static" / "sortable.js", folder)
    script = '<script src="sortable.js"></script>'
    (folder / "with.html").write_text(TABLE.format(script=script), encoding="utf-8")
    (folder / "without.html").write_text(TABLE.format(script=""), encoding="utf-8")
    with Browser(folder) as browser:
        yield browser


def test_headings_sort_their_column_both_ways(browser):
    seen = browser.open("with.html", 1280, "light", PRESS)
    start, *pressed = seen.facts["found"]
    assert start["names"] == ["B-2", "A-10", "A-9", "c"] and start["sort"] == [None] * 3
    assert [one["names"] for one in pressed] == [
        ["A-9", "A-10", "B-2", "c"],
        ["c", "B-2", "A-10", "A-9"],
        ["B-2", "c", "A-9", "A-10"],  # by number; what has none comes last
        ["A-9", "c", "B-2", "A-10"],
        ["B-2", "A-9", "c", "A-10"],  # what stands empty comes last, in the order it had
    ]
    assert [one["sort"] for one in pressed[:3]] == [
        ["ascending", None, None], ["descending", None, None], [None, "ascending", None],
    ]  # fmt: skip
    # A button is reached by the keyboard and keeps the focus when it has done its work.
    assert all(one["focused"] and one["type"] == "button" for one in pressed)
    assert seen.facts["other"] == 0 and seen.facts["heads"] == ["name", "number", "why"]
    assert seen.complaints == []


def test_without_the_script_it_is_a_table(browser):
    seen = browser.open("without.html", 390, "dark", PRESS)
    assert seen.facts["buttons"] == 0 and len(seen.facts["found"]) == 1
