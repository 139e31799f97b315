"""Check eq. (5) and Appendix B, and that their printed errors fail."""

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp
import torch
from scipy.special import softmax

from acm.theory import gradient as g

SHAPES = [(1, 1, 2), (2, 1, 2), (2, 3, 2), (3, 2, 2), (2, 2, 3), (2, 1, 4), (3, 2, 4)]


def test_the_package_imports_no_pytorch():
    code = (
        "import pkgutil, sys, importlib, acm.theory as t\n"
        "for m in pkgutil.iter_modules(t.__path__):\n"
        "    importlib.import_module(f'acm.theory.{m.name}')\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("c", [2, 3, 4])
def test_softmax_differential(c):
    layer = g.Layer.symbolic(2, 1, c)
    logits, d = g._symbols("Y'", 2, c), g._symbols("dY'", 2, c)
    free = g.Layer(sp.eye(2), logits, sp.eye(c), layer.z)
    derived = g.directional(g.softmax(logits), logits, d)
    assert free.vanishes(derived - g.softmax_differential(logits, d))
    # The differential without the term that keeps row sums at one is different.
    assert not free.vanishes(derived - g.softmax(logits).multiply_elementwise(d))


def test_the_loss_is_the_papers():
    layer = g.Layer.symbolic(2, 2, 3)
    log_y = layer.y.applyfunc(lambda e: sp.expand_log(sp.log(e), force=True))
    assert layer.vanishes(sp.expand(-(layer.z.T * log_y).trace() - layer.loss))


@pytest.mark.parametrize("n, f, c", SHAPES)
def test_gradient_entry_by_entry(n, f, c):
    layer = g.Layer.symbolic(n, f, c)
    derived = g.derivative(layer.loss, layer.w)
    error = layer.y - layer.z
    assert layer.vanishes(derived - layer.x.T * layer.a.T * error)
    assert not layer.vanishes(derived + layer.x.T * layer.a.T * error), "the sign of eq. (5)"
    if n > 1:
        assert not layer.vanishes(derived - layer.x.T * layer.a * error), "Â for its transpose"


@pytest.mark.parametrize("n, f, c", SHAPES)
def test_a_descent_step_moves_the_logits_along_the_similarity(n, f, c):
    layer = g.Layer.symbolic(n, f, c)
    step = -g.derivative(layer.loss, layer.w)
    aggregated = layer.a * layer.x
    similarity = aggregated * aggregated.T
    moved = aggregated * step
    assert layer.vanishes(moved - similarity * (layer.z - layer.y))
    assert not layer.vanishes(moved - similarity * (layer.y - layer.z))


def test_gradient_by_the_logits_for_symbolic_n_and_c():
    i, c = g.ROW, g.COLUMN
    k = sp.Symbol("c", integer=True)
    y = sp.exp(g._Y[i, c]) / sp.Sum(sp.exp(g._Y[i, k]), (k, 1, g.C))
    assert g.softmax_gradient() - (y - g._Z[i, c]) == 0


def test_component_form_for_symbolic_n_and_c():
    derived = g.component_gradient()
    assert derived == g.component_claim()
    two = {g.N: 2, g.C: 2, g.ROW: 1, g.COLUMN: 1}
    for transpose, sign in [(False, -1), (False, 1), (True, -1)]:
        wrong = derived - g.component_claim(transpose, sign)
        assert sp.expand(wrong.subs(two).doit()) != 0


def test_chain_rule_for_symbolic_n_f_and_c():
    derived, claim = g.chain_rule()
    assert derived == claim
    a, x, grad = derived.args[1].arg, derived.args[0].arg, derived.args[2]
    assert derived != x.T * a * grad


@pytest.mark.parametrize("n, c", [(2, 2), (3, 3), (2, 4)])
def test_component_derivation_line_by_line(n, c):
    symbols = g.Layer.symbolic(n, c, c)
    layer = g.Layer(symbols.a, symbols.x, sp.eye(c), symbols.z)  # X is X̃ here
    error = layer.y - layer.z
    right, wrong = layer.a.T * error, -layer.a * error
    for row in range(n):
        for column in range(c):
            derived = sp.diff(layer.loss, layer.x[row, column])
            lines = g.component_lines(layer, row, column)
            assert all(layer.vanishes(derived - line) for line in lines)
            assert layer.vanishes(derived - right[row, column])
            assert not layer.vanishes(derived - wrong[row, column])


def test_the_printed_step_increases_the_loss():
    layer = g.path()
    grad = g.derivative(layer.loss, layer.w).subs(dict.fromkeys(layer.w, 0))
    assert grad == sp.Matrix([[-5, 5], [-2, 2], [1, -1]]) / 12
    slope = sum(e * e for e in grad)
    assert slope == sp.Rational(5, 12) > 0

    def loss(step):
        return layer.loss.subs(dict(zip(layer.w, step))).evalf(30)

    assert loss(grad / 10) > loss(0 * grad) > loss(-grad / 10)


def test_the_printed_component_form_is_another_matrix():
    layer = g.path()
    at_zero = dict.fromkeys(layer.w, 0)
    error = layer.y.subs(at_zero) - layer.z
    # X = I, so that X̃ = W.
    derived = g.derivative(layer.loss, layer.w).subs(at_zero)
    assert derived == layer.a.T * error
    for wrong in (-layer.a * error, layer.a * error, -layer.a.T * error):
        assert derived != wrong
    # The printed matrix is not a multiple of the gradient either: the third row differs.
    printed = -layer.a * error
    assert sp.Matrix.hstack(derived.reshape(6, 1), printed.reshape(6, 1)).rank() == 2


def test_sums_over_neighbours_leave_the_self_loop_out():
    layer = g.path()
    without = g.Layer(layer.a - sp.diag(*layer.a.diagonal()), layer.x, layer.w, layer.z)
    assert sp.expand(without.loss - layer.loss) != 0
    difference = g.derivative(without.loss - layer.loss, layer.w)
    assert difference.subs(dict.fromkeys(layer.w, 0)) != sp.zeros(3, 2)


def test_against_automatic_differentiation():
    rng = np.random.default_rng(0)
    right = wrong = 0
    for _ in range(100):
        n, f, c = rng.integers(2, 12), rng.integers(1, 9), rng.integers(2, 7)
        a = rng.random((n, n)) * (rng.random((n, n)) < 0.5)
        x, w = rng.normal(size=(n, f)), rng.normal(size=(f, c))
        z = np.eye(c)[rng.integers(0, c, n)]
        weights = torch.from_numpy(w).requires_grad_()
        logits = torch.from_numpy(a) @ torch.from_numpy(x) @ weights
        loss = -(torch.from_numpy(z) * logits.log_softmax(1)).sum()
        (derived,) = torch.autograd.grad(loss, weights)
        scale = max(1, abs(derived).max())
        error = softmax(a @ x @ w, axis=1) - z
        right += bool(abs(derived.numpy() - x.T @ a.T @ error).max() < 1e-12 * scale)
        wrong += bool(abs(derived.numpy() - x.T @ a @ error).max() < 1e-12 * scale)
    assert right == 100 and wrong < 10
