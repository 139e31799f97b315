"""The sliders of the page on theorem 1, moved in a browser without a network."""

import json
import re
import shutil
from pathlib import Path

import pytest

from acm.theory import theorem1
from make_book import make
from tests.book.browser import Browser, chromium

ROOT = Path(__file__).parents[2]
PAGE = "book/nb/theorem-1"

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
    const focused = document.activeElement === input;
    found.push({...read(), focused, label: input.labels.length > 0});
  }
  return {found, wide: document.documentElement.scrollWidth};
})()"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A book of this one page, built as the whole is."""
    if chromium() is None:
        pytest.skip("no Chromium here")
    folder = tmp_path_factory.mktemp("slider")
    (folder / "book" / "nb").mkdir(parents=True)
    for name in ("_ext", "_static"):
        shutil.copytree(ROOT / "book" / name, folder / "book" / name)
    for name in ("_config.yml", "book/references.bib", f"{PAGE}.ipynb"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: {PAGE}\n")
    assert make(folder, folder) == []
    with Browser(folder / "_build" / "html") as browser:
        yield browser


def height(value: float) -> float:
    """Where the script draws a value of g."""
    return 254 - value * 240


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_moving_the_sliders_moves_the_curve(browser, width, scheme):
    moves = [("classes", 3), ("intra", 7)]
    seen = browser.open(f"{PAGE}.html", width, scheme, MOVE % json.dumps(moves))
    assert seen.failures == [] and seen.complaints == []
    assert all(url.startswith((browser.base, "data:")) for url in seen.requests)
    assert seen.facts["wide"] <= width
    for (classes, intra), found in zip([(5, 2), (3, 2), (3, 7)], seen.facts["found"]):
        g = theorem1.fixed_intra().subs({theorem1.C: classes, theorem1.d_intra: intra})
        points = found["points"]
        assert len(points) == 401
        for k in (1, 40, 150, 399, 400):
            value = float(g.subs(theorem1.h, k / 400))
            assert points[k][1] == pytest.approx(height(value), abs=0.01)
        # The lowest point of the curve stands where the line and the text say.
        least = min(points, key=lambda p: -p[1])[0]
        assert abs(least - found["least"]) <= (points[400][0] - points[0][0]) / 400 + 0.01
        given = re.search(r"h = (\d+)/(\d+)", found["said"])
        assert (int(given[1]), int(given[2])) == (intra, classes * intra + classes - 1)
        assert found["said"] in found["title"]
        dark = sum(map(int, re.findall(r"\d+", found["color"])[:3])) < 3 * 128
        assert dark == (scheme == "light"), "text stands out from the page"
    assert all(found["focused"] and found["label"] for found in seen.facts["found"][1:])
