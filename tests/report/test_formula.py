"""The models' equations as LaTeX: every sign has one, and brackets close."""

import doctest
import re

import pytest

from acm.registry import MODELS
from acm.report.pages import models as formula
from acm.report.pages.models import latex


def test_the_examples():
    assert doctest.testmod(formula) == doctest.TestResults(0, 2)


@pytest.mark.parametrize("name", MODELS)
def test_every_equation_becomes_latex(name):
    found = latex(MODELS[name].equation)
    assert found.isascii()
    for opening, closing in ("()", "[]", "{}"):
        assert found.count(opening) == found.count(closing)
    # All that is left beside commands is a sign of its own: no word is set as a product of letters.
    assert "  " not in found.replace(r", \\ ", "")
    # Every line begins or is aligned at one place, and none is wider than a phone.
    lines = found.removeprefix(r"\begin{aligned} ").removesuffix(r" \end{aligned}").split(r"\\")
    assert [line.count("&") for line in lines] == [int(len(lines) > 1)] * len(lines)
    parts = re.split(r", (?=\w[^,=()\[\]]* = )", MODELS[name].equation)
    broken = [line for part in parts for line in formula._broken(part)]
    assert len(broken) == len(lines) and max(map(formula._length, broken)) <= 36
    assert " ".join(broken) == " ".join(parts)


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ("α^k_ij W^k h_j", r"\alpha^k_{ij} W^k h_j"),
        ("β_l = log(λ/l + 1)", r"\beta_l = \operatorname{log}(\lambda /l + 1)"),
        ("H' = ∥_{i,r} Ã_{i,r} H", r"H' = \mathop{\Vert}_{i,r} \tilde{A}_{i,r} H"),
        ("[h_i ∥ h_j] / √(d_i d_j)", r"[h_i \mathbin{\Vert} h_j] / \sqrt{d_i d_j}"),
        ("mean_{j∈N(i)} h_j", r"\operatorname{mean}_{j\in N(i)} h_j"),
        ("Y = Σ_k γ_k Â_sym² X, γ learned", r"Y = \sum_k \gamma_k \hat{A}_{\mathrm{sym}}^2 X,"
         r" \gamma \text{ learned }"),
        ("H_l = ReLU(BN(Z_l))", r"H_l = \operatorname{ReLU}(\operatorname{BN}(Z_l))"),
        ("Y = A, X, and W_{c,l} = B", r"Y = A, X, \text{ and } W_{c,l} = B"),
        ("Y = ξ X", "Y = ξ X"),  # unknown: left as it is
    ],
)  # fmt: skip
def test_parts_by_hand(plain, expected):
    assert latex(plain) == expected


def test_a_line_that_is_too_long_is_broken_where_the_fewest_brackets_are_open():
    letters = "ABCDEFGHIJKLMNOPQRS"
    assert latex(f"Y = {' + '.join(letters)}") == (
        rf"\begin{{aligned}} Y &= {' + '.join(letters[:17])} \\ &\quad + R + S \end{{aligned}}"
    )
    long = "A" * 20
    assert latex(f"f({long} + A) (A + {long}), {long}") == (
        rf"\begin{{aligned}} & f({long} + A) \\ &\quad (A + {long}), \\ &\quad {long}"
        r" \end{aligned}"
    )
    assert latex(2 * long) == 2 * long  # nowhere to break
