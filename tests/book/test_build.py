"""The book itself, built as `make book` builds it, and looked at as a reader's browser does."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from check_book import pages
from make_book import make
from notebooks import Project, build
from tests.book.browser import Browser, chromium

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The built book's folder. The live page is executed as `make book` executes it."""
    ran = subprocess.run(
        [sys.executable, ROOT / "book" / "_ext" / "notebooks.py", "live"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    output = tmp_path_factory.mktemp("book")
    assert make(ROOT, output) == []
    return output / "_build" / "html"


def test_building_again_reads_nothing_again(built):
    before = {page: (built / f"{page}.html").stat().st_mtime_ns for page in pages(ROOT)}
    assert make(ROOT, built.parents[1]) == []
    after = {page: (built / f"{page}.html").stat().st_mtime_ns for page in pages(ROOT)}
    assert after == before


def test_live_pages_are_not_committed():
    live = [notebook for notebook in Project(ROOT).sources if notebook.live]
    assert live
    for notebook in live:
        ran = subprocess.run(["git", "check-ignore", "-q", notebook.target], cwd=ROOT, check=False)
        assert ran.returncode == 0, notebook.stem


def live_text(built_in: Path) -> str:
    notebook = nbformat.read(built_in / "book" / "nb" / "this-machine.ipynb", as_version=4)
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    return "\n".join(str(o.get("data", {}).get("text/markdown", "")) for o in outputs)


@pytest.mark.data
def test_this_machine_trains_on_cornell(built):
    assert "uses the graph cornell" in live_text(ROOT)
    assert re.search("Equal to the bit|Different rounding", live_text(ROOT))


def test_this_machine_trains_on_the_embedded_graph_where_there_is_no_data(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "this-machine.md", tmp_path / "notebooks")
    # Nothing listens there, and nothing is cached.
    monkeypatch.setenv("ACM_DATA_MIRROR", "http://127.0.0.1:9")
    monkeypatch.setenv("ACM_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    build(Project(tmp_path), "live")
    assert "uses the graph synthetic" in live_text(tmp_path) and "127.0.0.1:9" in live_text(
        tmp_path
    )
    assert re.search("Equal to the bit|Different rounding", live_text(tmp_path))


def small_book(folder: Path, config: str, page: str) -> None:
    for name, text in {
        "_config.yml": f"title: A\nonly_build_toc_files: true\n{config}",
        "_toc.yml": "format: jb-book\nroot: page\n",
        "page.md": f"# Page\n\n{page}\n",
    }.items():
        (folder / name).write_text(text)


def test_a_warning_fails_the_build_every_time(tmp_path):
    small_book(tmp_path, "", "See {ref}`nowhere`.")
    for _ in range(2):
        found = make(tmp_path, tmp_path)
        assert any("nowhere" in line for line in found), found


def test_an_edited_style_sheet_reaches_the_book(tmp_path):
    config = (
        f"sphinx:\n  local_extensions: {{static_files: '{ROOT / 'book' / '_ext'}'}}\n"
        "  config: {html_static_path: [static], html_css_files: [book.css]}\n"
    )
    small_book(tmp_path, config, "Text.")
    style = tmp_path / "static" / "book.css"
    style.parent.mkdir()
    for text in ("a { color: red }", "a { color: blue }"):
        style.write_text(text)
        make(tmp_path, tmp_path)
        built = tmp_path / "_build" / "html" / "_static" / "book.css"
        assert built.read_text() == text


FACTS = """(() => {
  // What opens at a click is looked at, too.
  document.querySelectorAll(".bd-article details").forEach((e) => { e.open = true; });
  return {
  wide: document.documentElement.scrollWidth,
  typeset: document.querySelectorAll("mjx-container").length,
  formulas: document.querySelectorAll(".math.notranslate").length,
  bare: [...document.querySelectorAll(".math.notranslate")].filter(
    (e) => !e.querySelector("mjx-container")).length,
  left: [...document.querySelectorAll(".mathjax_process")].filter(
    (e) => e.textContent.includes("\\\\(") || e.textContent.includes("$")).length,
  failed: document.querySelectorAll("mjx-merror").length,
  cut: [...document.querySelectorAll("mjx-container")].filter((formula) => {
    // From its signs outwards: each box shows the beginning of what it holds, and the rest when
    // it is scrolled.
    const signs = [formula, ...formula.querySelectorAll("mjx-mi, mjx-mn, mjx-mo, mjx-mtext")]
      .map((e) => e.getBoundingClientRect());
    let left = Math.min(...signs.map((r) => r.left));
    let right = Math.max(...signs.map((r) => r.right));
    for (let box = formula; box !== document.body; box = box.parentElement) {
      const overflow = getComputedStyle(box).overflowX;
      if (overflow === "visible") continue;
      const edge = box.getBoundingClientRect(), start = edge.left + box.clientLeft;
      const reach = overflow === "auto" ? box.scrollWidth : box.clientWidth;
      if (left < start - 1 || right > start - box.scrollLeft + reach + 1) return true;
      [left, right] = [start, start + box.clientWidth];
    }
    return left < -1 || right > document.documentElement.scrollWidth + 1;
  }).map((formula) => formula.textContent.slice(0, 40)),
  faint: (() => {
    // Text against the ground that it stands on, as WCAG measures contrast.
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (rgb) => {
      const [r, g, b] = rgb.slice(0, 3).map((v) => v / 255).map(
        (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ground = (e) => {
      for (; e; e = e.parentElement) {
        const [r, g, b, opacity = 1] = numbers(getComputedStyle(e).backgroundColor);
        if (opacity > 0.5) return [r, g, b];
      }
      return [255, 255, 255];
    };
    const written = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    return [...document.querySelectorAll("main *")].filter((e) => {
      const style = getComputedStyle(e);
      if (!written(e) || !e.getClientRects().length || style.visibility === "hidden") return false;
      const [a, b] = [light(numbers(style.color)), light(ground(e))];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 3;
    }).map((e) => e.textContent.trim().slice(0, 40));
  })(),
  theme: document.documentElement.dataset.theme,
  };
})()"""


@pytest.fixture(scope="module")
def browser(built):
    if chromium() is None:
        pytest.skip("no Chromium here")
    with Browser(built) as browser:
        yield browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", pages(ROOT))
def test_a_page_in_the_browser(browser, page, width, scheme):
    seen = browser.open(f"{page}.html", width, scheme, FACTS)
    assert [u for u in seen.requests if not u.startswith((browser.base, "data:"))] == []
    assert seen.failures == [] and seen.complaints == []
    assert seen.facts["theme"] == scheme
    # Not innerWidth: a phone zooms out until too wide a page fits.
    assert seen.facts["wide"] <= width, "the page scrolls sideways"
    # Every formula of the text, and all those inside HTML that a cell made.
    assert seen.facts["typeset"] >= seen.facts["formulas"] and seen.facts["failed"] == 0
    assert seen.facts["bare"] == seen.facts["left"] == 0
    assert seen.facts["faint"] == [], "these cannot be read on what they stand on"
    assert seen.facts["cut"] == [], "the beginning or the end of these cannot be seen"
