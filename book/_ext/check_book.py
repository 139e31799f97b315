"""What a finished book must be: all pages there, no cell in error, nothing loaded from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import yaml

OUTSIDE = re.compile(r"\s*(https?:)?//", re.IGNORECASE)
# In a style: what it loads. In a script: an address of something that can be loaded.
STYLE_LOADS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
SCRIPT_LOADS = re.compile(
    r"""["'`]((?:https?:)?//[^"'`\s]+\.(?:m?js|css|json|wasm|woff2?|ttf))["'`?]""", re.IGNORECASE
)
# The elements and attributes that a browser follows on its own, unlike <a href>.
LOADS = {
    "audio": ["src"], "embed": ["src"], "iframe": ["src"], "img": ["src", "srcset"],
    "image": ["href", "xlink:href"], "input": ["src"], "object": ["data"], "script": ["src"],
    "source": ["src", "srcset"], "track": ["src"], "use": ["href", "xlink:href"],
    "video": ["src", "poster"],
}  # fmt: skip
LINKS_NOT_LOADED = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}


def pages(root: Path) -> list[str]:
    """The pages that _toc.yml names, without suffix."""
    found = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            found.extend(node[name] for name in ("root", "file") if name in node)
            node = list(node.values())
        if isinstance(node, list):
            for inner in node:
                walk(inner)

    walk(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))
    return found


def problems(root: Path, html: Path) -> list[str]:
    """Each fault of the book built from `root` into `html`, in a line."""
    found = []
    for page in pages(root):
        if not (html / f"{page}.html").is_file():
            found.append(f"{page}: in _toc.yml, but not built")
        source = root / f"{page}.ipynb"
        if source.is_file():
            found += [f"{page}: {text}" for text in _errors(source)]
    for path in sorted(html.rglob("*")):
        if path.suffix not in (".html", ".css", ".svg"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        name = path.relative_to(html)
        loads = STYLE_LOADS.findall(text) if path.suffix == ".css" else _Loads(text).found
        found += [f"{name}: loads {address} from outside" for address in loads]
        if path.suffix == ".html" and 'class="output traceback' in text:
            found.append(f"{name}: shows a traceback")
    return found


def _errors(notebook: Path) -> Iterator[str]:
    for index, cell in enumerate(nbformat.read(notebook, as_version=4).cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield f"cell {index} ended in {output.ename}: {output.evalue}"


class _Loads(HTMLParser):
    """Collects the outside addresses that a browser would ask for when it opens a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in ("script", "style") else ""
        given = {name: value or "" for name, value in attrs}
        for name in LOADS.get(tag, []):
            # A comma inside a data: address separates nothing.
            value = given.get(name, "")
            addresses = re.split(r",\s+", value) if name == "srcset" else [value]
            self.found += [address.split()[0] for address in addresses if OUTSIDE.match(address)]
        if tag == "link" and OUTSIDE.match(given.get("href", "")):
            if not set(given.get("rel", "").lower().split()) <= LINKS_NOT_LOADED:
                self.found.append(given["href"])
        if tag == "meta" and "refresh" in given.get("http-equiv", "").lower():
            self.found += re.findall(r"url=\s*((?:https?:)?//\S+)", given.get("content", ""))
        self.found += STYLE_LOADS.findall(given.get("style", ""))

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.found += SCRIPT_LOADS.findall(data)
        elif self._inside == "style":
            self.found += STYLE_LOADS.findall(data)
