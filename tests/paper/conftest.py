"""The paper's LaTeX source, and a parser of its tables that owes nothing to `acm.paper`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

#: Tables in two halves: a row with this text in it begins the second.
DIVIDERS = {
    "tab:ablation_study": "Comparison of Average Running Time",
    "tab:sota": "Test Accuracy",
    "tab:estimation_dataset_stats": r"\hat{H}",
}
TITLES = ("", "Baseline", "Models", "Datasets", "Models\\Hyperparameters")

#: From (row, heading) to the print and whether it is bold.
Facts = dict[tuple[str, str], tuple[str, bool]]


@pytest.fixture(scope="session")
def tex() -> str:
    """Return the LaTeX source: the file `ACM_PAPER_TEX`, or that next to the repository."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "paper" / "paper.tex"
    path = Path(os.environ.get("ACM_PAPER_TEX") or beside)
    if not path.is_file():
        reason = "the paper's LaTeX source is not available (ACM_PAPER_TEX names its path)"
        (pytest.fail if os.environ.get("ACM_REQUIRE_DATA") == "1" else pytest.skip)(reason)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def table_bodies(tex) -> dict[str, str]:
    """The source of every table's tabular, by label."""
    return bodies(tex)


@pytest.fixture(scope="session")
def parse() -> Callable[[str], dict[str, tuple[Facts, Facts]]]:
    """The parser: from a source to what both halves of each table print, by label."""
    return printed


@pytest.fixture(scope="session")
def parsed(tex) -> dict[str, tuple[Facts, Facts]]:
    """The source, parsed."""
    return printed(tex)


def bodies(tex: str) -> dict[str, str]:
    """From each table's label to what stands inside its tabular, comments removed."""
    tex = re.sub(r"(?<!\\)%.*", "", tex)
    found = {}
    for block in re.findall(r"\\begin\{table\}(.*?)\\end\{table\}", tex, re.S):
        label = re.search(r"\\label\{(tab:[^}]*)\}", block)[1]
        start = block.index(r"\begin{tabular}") + len(r"\begin{tabular}")
        _, start = argument(block, start)
        found[label] = block[start : block.index(r"\end{tabular}")]
    return found


def argument(text: str, start: int) -> tuple[str, int]:
    """The braced argument that opens at or after `start`, and where what follows it begins."""
    opened = text.index("{", start)
    depth = 0
    at = opened
    while True:
        if text[at] == "\\":
            at += 1
        elif text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return text[opened + 1 : at], at + 1
        at += 1


def split(body: str) -> list[list[str]]:
    """Rows and cells: cut at the line breaks and ampersands that stand in no braces."""
    rows, cell, depth, at = [[]], "", 0, 0
    while at < len(body):
        char = body[at]
        if char == "\\":
            if body[at + 1] == "\\" and depth == 0:
                rows[-1].append(cell)
                rows.append([])
                cell = ""
            else:
                cell += body[at : at + 2]
            at += 2
            continue
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "&" and depth == 0:
            rows[-1].append(cell)
            cell = ""
        else:
            cell += char
        at += 1
    return rows[:-1]


class Cell:
    """One cell: its plain text, whether it is bold, how many columns and rows it covers."""

    def __init__(self, source: str):
        self.bold, self.columns, self.rows = False, 1, 1
        rules = r"\\(?:toprule|midrule|bottomrule)|\\cmidrule\{[^}]*\}"
        self.text = self.plain(self.unwrap(re.sub(rules, "", source)))

    def unwrap(self, text: str) -> str:
        text = text.strip()
        if text.startswith(r"\cellcolor"):
            _, end = argument(text, text.index("]"))
            return self.unwrap(text[end:])
        if text.startswith(r"\textcolor"):
            _, end = argument(text, text.index("]"))
            return self.unwrap(argument(text, end)[0])
        if text.startswith(r"\textbf"):
            self.bold = True
            return self.unwrap(argument(text, 0)[0])
        if text.startswith(r"\multicolumn"):
            count, end = argument(text, 0)
            _, end = argument(text, end)
            self.columns = int(count)
            return self.unwrap(argument(text, end)[0])
        if text.startswith(r"\multirow"):
            count, end = argument(text, 0)
            _, end = argument(text, end)
            self.rows = int(count)
            return self.unwrap(argument(text, end)[0])
        if text.startswith("{") and argument(text, 0)[1] == len(text):
            return self.unwrap(text[1:-1])
        return text

    @staticmethod
    def plain(text: str) -> str:
        for printed, sign in ((r"$\pm$", "±"), (r"$\checkmark$", "✓"), (r"$^\dagger$", "†"),
                              (r"\textbackslash{}", "\\")):  # fmt: skip
            text = text.replace(printed, sign)
        if not text.startswith("$"):
            text = re.sub(r"\\([_#%^{}])", r"\1", text)
        return re.sub(r"\s+", " ", text).strip()


def grid(body: str) -> list[list[Cell]]:
    """The table as a rectangle: cells over several columns padded, over several rows repeated."""
    found, hanging = [], {}
    for source in split(body):
        row = []
        for cell in map(Cell, source):
            at = len(row)
            if at in hanging and not cell.text:
                cell, left = hanging.pop(at)
                if left > 1:
                    hanging[at] = (cell, left - 1)
            elif cell.rows > 1:
                hanging[at] = (cell, cell.rows - 1)
            row += [cell] + [Cell("") for _ in range(cell.columns - 1)]
        found.append(row)
    return found


def printed(tex: str) -> dict[str, tuple[Facts, Facts]]:
    """What each table prints, by label; the second half is empty where there is but one."""
    return {label: halves(label, grid(body)) for label, body in bodies(tex).items()}


def halves(label: str, rows: list[list[Cell]]) -> tuple[Facts, Facts]:
    """The prints of one table: rows and headings as keys, ticks joined to the row's name."""
    found: tuple[Facts, Facts] = ({}, {})
    half, headings = 0, {}
    for row in rows:
        texts = [cell.text for cell in row]
        if label in DIVIDERS and any(DIVIDERS[label] in text for text in texts):
            half = 1
        if texts[0] in TITLES or sum(map(bool, texts)) == 1:
            for at, text in enumerate(texts):
                if text and row[at].columns == 1:
                    headings.setdefault(at, text)
            continue
        ticks = [headings[at] for at, text in enumerate(texts) if text == "✓"]
        if ticks:
            first, name = 5, f"{texts[0]} {'+'.join(ticks)}"
        elif headings.get(0) == "Datasets":
            first, name = 2, f"{texts[0]} {texts[1]}"
        else:
            first, name = 1, texts[0]
        for at, cell in enumerate(row[first:], first):
            if not cell.text and ("hyper" not in label or at not in headings):
                continue
            assert (name, headings[at]) not in found[half], f"{label}: {name} stands twice"
            found[half][name, headings[at]] = (cell.text, cell.bold)
    return found
