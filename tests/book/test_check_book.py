import nbformat
import pytest

from check_book import pages, problems


@pytest.fixture
def book(tmp_path):
    """A repository root and a built book without fault, which tests then spoil."""
    root, html = tmp_path / "root", tmp_path / "html"
    (root / "book/nb").mkdir(parents=True)
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nparts:\n- caption: One\n  chapters:\n"
        "  - file: book/nb/page\n    sections:\n    - file: book/inner\n"
    )
    cell = nbformat.v4.new_code_cell("1 / 0", execution_count=1)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), root / "book/nb/page.ipynb")
    for name in ("book/intro", "book/nb/page", "book/inner"):
        page = html / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            '<a href="https://example.com/x.js">a link is not loaded</a>'
            '<link rel="canonical" href="https://example.com/"><script src="../a.js"></script>'
            '<img src="data:image/png;base64,//aa"><svg xmlns="http://www.w3.org/2000/svg"/>'
            '<script>const home = "https://example.com/";</script><pre>url(https://a.b/c)</pre>'
        )
    (html / "style.css").write_text("/* https://example.com */ a { background: url(a.png) }")
    return root, html


def test_a_sound_book_has_no_problems(book):
    root, html = book
    assert pages(root) == ["book/intro", "book/nb/page", "book/inner"]
    assert problems(root, html) == []


def test_a_page_that_was_not_built(book):
    root, html = book
    (html / "book/inner.html").unlink()
    assert problems(root, html) == ["book/inner: listed in _toc.yml, but not built"]


def test_a_cell_that_ended_in_an_error(book):
    root, html = book
    notebook = nbformat.read(root / "book/nb/page.ipynb", as_version=4)
    notebook.cells[0].outputs = [
        nbformat.v4.new_output("error", ename="E", evalue="why", traceback=[])
    ]
    nbformat.write(notebook, root / "book/nb/page.ipynb")
    assert problems(root, html) == ["book/nb/page: cell 0 ended in E: why"]


OUTSIDE = "//cdn.example.com/x"


@pytest.mark.parametrize(
    "text",
    [
        f'<script src="https:{OUTSIDE}.js"></script>',
        f'<script async src="{OUTSIDE}.js"></script>',
        f'<script>const URL = "https:{OUTSIDE}.js"; load(URL)</script>',
        f'<script type="module">import("https:{OUTSIDE}.mjs")</script>',
        f'<link rel="stylesheet" href="https:{OUTSIDE}.css">',
        f'<link rel="preconnect" href="https:{OUTSIDE}">',
        f'<link href="http:{OUTSIDE}.css" rel="preload" as="style"/>',
        f'<img src="http:{OUTSIDE}.png">',
        f'<img src="a.png" srcset="a.png 1x, https:{OUTSIDE}.png 2x">',
        f'<iframe src="https:{OUTSIDE}"></iframe>',
        f'<svg><image xlink:href="https:{OUTSIDE}.png"/></svg>',
        f'<div style="background: url(https:{OUTSIDE}.png)">',
        f"<style>@import '{OUTSIDE}.css';</style>",
        f"<style>@font-face {{ src: url('https:{OUTSIDE}.woff2') }}</style>",
        f'<meta http-equiv="Refresh" content="0; url=https:{OUTSIDE}">',
    ],
)
def test_what_a_page_loads_from_outside(book, text):
    root, html = book
    (html / "book/intro.html").write_text(f"<html><body>{text}</body></html>")
    (found,) = problems(root, html)
    assert found.startswith("book/intro.html: loads ") and OUTSIDE in found


def test_what_a_stylesheet_loads_from_outside(book):
    root, html = book
    (html / "style.css").write_text(f'a {{ src: url("https:{OUTSIDE}.woff2") }}')
    assert problems(root, html) == [f"style.css: loads https:{OUTSIDE}.woff2 from outside"]
