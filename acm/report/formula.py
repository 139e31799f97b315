"""The one-line equations of the models as LaTeX."""

from __future__ import annotations

import re

_FUNCTIONS = (
    "ACMII", "ACM", "BN", "ELU", "GATConv", "JK", "LeakyReLU", "MLP", "Mix", "ReLU", "log", "mean",
    "softmax", "tanh",
)  # fmt: skip
_SIGNS = {
    "Â": r"\hat{A}", "Ã": r"\tilde{A}", "α": r"\alpha", "β": r"\beta", "γ": r"\gamma",
    "ε": r"\varepsilon", "λ": r"\lambda", "Σ": r"\sum", "∈": r"\in", "⊙": r"\odot", "…": r"\dots",
    "−": "-", "²": "^2",
}  # fmt: skip
_LINE_END = r" \\ "
#: More letters than these do not fit into a line of a phone.
_WIDE = 36
#: What is an index by its name; other letters side by side are several indices.
_NAMED = ("rw", "sym")

_TOKEN = re.compile(
    rf"(?P<function>{'|'.join(sorted(_FUNCTIONS, key=len, reverse=True))})(?![A-Za-z])"
    r"|(?P<words>[a-z]{2,}(?: (?:a|[a-z]{2,}))*)"
    r"|(?P<index>[_^][A-Za-z0-9]{2,})"
    r"|(?P<root>√\()"
    r"|(?P<join>∥_)"
    r"|(?P<sign>[^\x00-\x7f])"
)


def latex(equation: str) -> str:
    r"""An equation as `acm models` prints it, for LaTeX: its parts in the lines of `aligned`.

    >>> latex("H_l = ReLU(Â_sym H_{l−1})")
    'H_l = \\operatorname{ReLU}(\\hat{A}_{\\mathrm{sym}} H_{l-1})'
    >>> print(latex("Y = √(2) W X, W fixed, X = 1"))
    \begin{aligned} Y &= \sqrt{2} W X, W \text{ fixed }, \\ X &= 1 \end{aligned}

    Args:
        equation: Letters, digits and the signs of the models' equations.
    """
    # A part is what stands between commas and has a sign of equality.
    parts = re.split(r", (?=\w[^,=()\[\]]* = )", equation)
    if len(parts) == 1 and len(_broken(equation)) == 1:
        return _part(equation)
    lines = []
    for k, part in enumerate(parts):
        first, *rest = _broken(part + "," * (k < len(parts) - 1))
        first = _part(first)
        lines.append(first.replace(" = ", " &= ", 1) if " = " in first else f"& {first}")
        lines += [rf"&\quad {_part(line)}" for line in rest]
    return rf"\begin{{aligned}} {_LINE_END.join(lines)} \end{{aligned}}"


def _broken(part: str) -> list[str]:
    """A part in lines that are not too long, broken where the fewest brackets are open."""
    if _length(part) <= _WIDE:
        return [part]
    open_, places = 0, {}
    for k, sign in enumerate(part):
        open_ += (sign in "([{") - (sign in ")]}")
        # After a comma, between two factors in brackets, or before a sign that adds or joins.
        around = part[k - 1], part[k + 1 : k + 2]
        adds = part[k + 1 : k + 3] in ("+ ", "∥ ")
        if sign == " " and (around[0] == "," or around == (")", "(") or adds):
            places.setdefault(open_, []).append(k)
    for depth in sorted(places):
        lines, start = [], 0
        for this, after in zip(places[depth], [*places[depth][1:], len(part)]):
            # As much in a line as there is room for.
            if _length(part[start:after]) > _WIDE:
                lines.append(part[start:this])
                start = this + 1
        lines.append(part[start:])
        if len(lines) > 1:
            return lines
    return [part]


def _length(text: str) -> int:
    """About how wide a text is set, in letters: indices are small."""
    return len(re.sub(r"[_^](\{[^}]*\}|\w+)", "i", text).replace(" ", ""))


def _part(text: str) -> str:
    # The end of a root: its bracket, which holds no other.
    text = re.sub(r"√\(([^()]*)\)", r"√(\1}", text)
    found = _TOKEN.sub(_sign, text)
    return re.sub(r"(\\[A-Za-z]+) +(?=[_^)\],|} ])", r"\1", found)


def _sign(match: re.Match) -> str:
    kind, text = match.lastgroup, match[0]
    if kind == "function":
        return rf"\operatorname{{{text}}}"
    if kind == "words":
        return rf"\text{{ {text} }}"
    if kind == "index":
        inner = rf"\mathrm{{{text[1:]}}}" if text[1:] in _NAMED else text[1:]
        return f"{text[0]}{{{inner}}}"
    if kind == "root":
        return r"\sqrt{"
    if kind == "join":  # over an index: side by side, as a sum is added up
        return r"\mathop{\Vert}_"
    if text == "∥":
        return r"\mathbin{\Vert}"
    if text not in _SIGNS:  # none of the models has it: left to whoever reads the LaTeX
        return text
    return _SIGNS[text] + ("" if text in "−²ÂÃ" else " ")
