"""The book itself, built as `make book` builds it, and looked at as a reader's browser does."""

import subprocess
import sys
from pathlib import Path

import pytest

from check_book import pages
from make_book import make
from notebooks import Project
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


def test_a_warning_fails_the_build_every_time(tmp_path):
    for name, text in {
        "_config.yml": "title: A\nonly_build_toc_files: true\n",
        "_toc.yml": "format: jb-book\nroot: page\n",
        "page.md": "# Page\n\nSee {ref}`nowhere`.\n",
    }.items():
        (tmp_path / name).write_text(text)
    for _ in range(2):
        found = make(tmp_path, tmp_path)
        assert any("nowhere" in line for line in found), found


FACTS = """({
  wide: document.documentElement.scrollWidth,
  room: innerWidth,
  typeset: document.querySelectorAll("mjx-container").length,
  formulas: document.querySelectorAll(".math.notranslate").length,
  failed: document.querySelectorAll("mjx-merror").length,
  theme: document.documentElement.dataset.theme,
})"""


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
    assert seen.facts["wide"] <= seen.facts["room"], "the page scrolls sideways"
    assert seen.facts["typeset"] == seen.facts["formulas"] and seen.facts["failed"] == 0
