"""The sliders of the page on theorem 1, moved in a browser without a network."""

import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest

from acm.theory import theorem1
from tests.book.browser import Browser, chromium

ROOT = Path(__file__).parents[2]

# Moves a slider as a hand does, and reads the curve in the figure's own units.
MOVE = """(() => {
  const box = document.querySelector(".theorem-1");
  const read = () => {
    const points = box.querySelector(".curve").getAttribute("points").split(" ");
    const text = [...box.querySelectorAll("text")];
    return {
      points: points.map((p) => p.split(",").map(Number)),
      least: Number(box.querySelector(".least").getAttribute("x1")),
      said: box.querySelector("output").textContent,
      title: box.querySelector("title").textContent,
      color: getComputedStyle(text[0]).fill,
    };
  };
  const found = [read()];
  for (const [name, value] of %s) {
    const input = box.querySelector(`[name=${name}]`);
    input.focus();
    input.value = value;
    input.dispatchEvent(new Event("input", {bubbles: true}));
    found.push({...read(), focused: document.activeElement === input, label: !!input.labels.length});
  }
  return {found, wide: document.documentElement.scrollWidth};
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if chromium() is None:
        pytest.skip("no Chromium here")
    folder = tmp_path_factory.mktemp("slider")
    notebook = nbformat.read(ROOT / "book" / "nb" / "theorem-1.ipynb", as_version=4)
    (source,) = [c.source for c in notebook.cells if 'class="theorem-1"' in c.source]
    fragment = source[source.index("<div class=") : source.rindex("</div>") + 6]
    # A blank line would end the HTML in Markdown.
    assert "\n\n" not in fragment
    (folder / "book" / "nb").mkdir(parents=True)
    colors = """:root { --pst-color-text-base: #123456 }
      @media (prefers-color-scheme: dark) { :root { --pst-color-text-base: #fedcba } }"""
    (folder / "book" / "nb" / "page.html").write_text(
        "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<link rel=icon href='data:,'><style>{colors}</style>{fragment}"
    )
    shutil.copytree(ROOT / "book" / "_static", folder / "_static")
    with Browser(folder) as browser:
        yield browser


def height(value: float) -> float:
    """Where the script draws a value of g."""
    return 260 - value * 246


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_moving_the_sliders_moves_the_curve(browser, width, scheme):
    moves = [("classes", 3), ("intra", 7)]
    seen = browser.open("book/nb/page.html", width, scheme, MOVE % json.dumps(moves))
    assert seen.failures == [] and seen.complaints == []
    assert all(url.startswith((browser.base, "data:")) for url in seen.requests)
    assert seen.facts["wide"] <= width
    for (classes, intra), found in zip([(5, 2), (3, 2), (3, 7)], seen.facts["found"]):
        g = theorem1.fixed_intra().subs({theorem1.C: classes, theorem1.d_intra: intra})
        points = found["points"]
        assert len(points) == 401
        for k in (1, 40, 150, 399, 400):
            assert points[k][1] == pytest.approx(height(float(g.subs(theorem1.h, k / 400))), abs=0.01)
        # The lowest point of the curve stands where the line and the text say.
        least = min(points, key=lambda p: -p[1])[0]
        assert abs(least - found["least"]) <= 582 / 400 + 0.01
        given = re.search(r"h = (\d+)/(\d+)", found["said"])
        assert (int(given[1]), int(given[2])) == (intra, classes * intra + classes - 1)
        assert found["said"] in found["title"]
        assert found["color"] == {"light": "rgb(18, 52, 86)", "dark": "rgb(254, 220, 186)"}[scheme]
    assert all(found["focused"] and found["label"] for found in seen.facts["found"][1:])
