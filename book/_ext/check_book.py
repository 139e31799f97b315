"""Check a built book: no page is missing, no cell failed, and nothing is loaded from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import yaml

OUTSIDE = re.compile(r"\s*(https?:)?//", re.IGNORECASE)
# An address that a style loads, and an address in a script that looks like a loadable file.
STYLE_LOADS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", re.IGNORECASE)
SCRIPT_LOADS = re.compile(
    r"""["'`]((?:https?:)?//[^"'`\s]+\.(?:m?js|css|json|wasm|woff2?|ttf))["'`?]""", re.IGNORECASE
)
# Elements and attributes whose address a browser loads without a click, unlike <a href>.
LOADS = {
    "audio": ["src"], "embed": ["src"], "iframe": ["src"], "img": ["src", "srcset"],
    "image": ["href", "xlink:href"], "input": ["src"], "object": ["data"], "script": ["src"],
    "source": ["src", "srcset"], "track": ["src"], "use": ["href", "xlink:href"],
    "video": ["src", "poster"],
}  # fmt: skip
LINKS_NOT_LOADED = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}


def pages(root: Path) -> list[str]:
    """Return the pages that _toc.yml lists, without suffix."""
    names = []

    def walk(node: object) -> None:
        if isinstance(node, dict):
            names.extend(node[name] for name in ("root", "file") if name in node)
            node = list(node.values())
        if isinstance(node, list):
            for inner in node:
                walk(inner)

    walk(yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")))
    return names


def problems(root: Path, html: Path) -> list[str]:
    """Return the faults of the book that was built from `root` into `html`, one line per fault."""
    faults = []
    for page in pages(root):
        if not (html / f"{page}.html").is_file():
            faults.append(f"{page}: listed in _toc.yml, but not built")
        source = root / f"{page}.ipynb"
        if source.is_file():
            faults += [f"{page}: {text}" for text in _errors(source)]
    for path in sorted(html.rglob("*")):
        if path.suffix not in (".html", ".css", ".svg"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        name = path.relative_to(html)
        loads = STYLE_LOADS.findall(text) if path.suffix == ".css" else _Loads(text).addresses
        faults += [f"{name}: loads {address} from outside" for address in loads]
        if path.suffix == ".html" and 'class="output traceback' in text:
            faults.append(f"{name}: shows a traceback")
    return faults


def _errors(notebook: Path) -> Iterator[str]:
    for index, cell in enumerate(nbformat.read(notebook, as_version=4).cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield f"cell {index} ended in {output.ename}: {output.evalue}"


class _Loads(HTMLParser):
    """Collect the outside addresses that a browser loads when it opens a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag if tag in ("script", "style") else ""
        values = {name: value or "" for name, value in attrs}
        for name in LOADS.get(tag, []):
            # Split only at a comma with a space, because a data: address contains a comma.
            value = values.get(name, "")
            parts = re.split(r",\s+", value) if name == "srcset" else [value]
            self.addresses += [part.split()[0] for part in parts if OUTSIDE.match(part)]
        if tag == "link" and OUTSIDE.match(values.get("href", "")):
            if not set(values.get("rel", "").lower().split()) <= LINKS_NOT_LOADED:
                self.addresses.append(values["href"])
        if tag == "meta" and "refresh" in values.get("http-equiv", "").lower():
            self.addresses += re.findall(r"url=\s*((?:https?:)?//\S+)", values.get("content", ""))
        self.addresses += STYLE_LOADS.findall(values.get("style", ""))

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.addresses += SCRIPT_LOADS.findall(data)
        elif self._inside == "style":
            self.addresses += STYLE_LOADS.findall(data)
