r"""The gradient of the simplified GCN, eq. (5) and Appendix B.

.. math:: Y' = \hat A X W, \qquad Y = \mathrm{softmax}(Y'), \qquad
          \mathcal L = -\mathrm{tr}(Z^T \log Y)

Three grades of generality: the softmax and the component form for symbolic N and C (as sums of
indexed terms), the chain rule for symbolic N, F and C (as matrix expressions), and the whole for
matrices of a given shape whose every entry is a symbol (`Layer`). :math:`\hat A` is never assumed
symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
from sympy import IndexedBase, Sum

N, F, C = sp.symbols("N F C", integer=True, positive=True)
_i, _j, _c, _k = sp.symbols("i j c k", integer=True)
_A, _Z, _Y, _Xt = map(IndexedBase, (r"\hat{A}", "Z", "Y'", r"\tilde{X}"))
#: The indices of the entry that is derived by.
ROW, COLUMN = sp.symbols("j' c'", integer=True)


@dataclass(frozen=True)
class Layer:
    """One layer of the simplified GCN with given matrices, numbers or symbols.

    Args:
        a: The aggregation operator, `[N, N]`.
        x: Features, `[N, F]`.
        w: Weights, `[F, C]`.
        z: One-hot labels, `[N, C]`, or symbols in rows that sum to one.
    """

    a: sp.Matrix
    x: sp.Matrix
    w: sp.Matrix
    z: sp.Matrix

    @classmethod
    def symbolic(cls, n: int, f: int, c: int) -> Layer:
        """Every entry a symbol of its own; each row of Z sums to one and is else arbitrary."""
        free = _symbols("Z", n, c - 1)
        last = sp.ones(n, 1) - free * sp.ones(c - 1, 1)
        return cls(
            _symbols("A", n, n), _symbols("X", n, f), _symbols("W", f, c), free.row_join(last)
        )

    @cached_property
    def y_prime(self) -> sp.Matrix:
        """The logits Y', `[N, C]`."""
        return (self.a * self.x * self.w).applyfunc(sp.expand)

    @cached_property
    def y(self) -> sp.Matrix:
        """The prediction Y = softmax(Y'), `[N, C]`."""
        return softmax(self.y_prime)

    @cached_property
    def loss(self) -> sp.Expr:
        """The cross-entropy, eq. (2), with log Y written out as Y' − log(exp(Y') 1 1ᵀ)."""
        sums = self.y_prime.applyfunc(sp.exp) * sp.ones(self.w.cols, 1)
        log_y = self.y_prime - sums.applyfunc(sp.log) * sp.ones(1, self.w.cols)
        return -(self.z.T * log_y).trace()

    def vanishes(self, expression: sp.Matrix | sp.Expr) -> bool:
        """Whether an expression in the symbols of this layer is identically zero.

        With s_i, the denominator of row i, in place of that row's last exponential, every
        denominator is a monomial, and expanding decides.
        """
        swap = {}
        for i in range(self.y_prime.rows):
            s, rest = sp.Symbol(f"s{i}"), sp.symbols(f"e{i}_:{self.w.cols - 1}")
            for logit, value in zip(self.y_prime.row(i), [*rest, s - sum(rest)]):
                swap[logit] = value
            swap[_chosen(self, i)] = sp.Symbol(f"t{i}")

        def power(argument: sp.Expr) -> sp.Expr:
            # SymPy merges exp(x)² into exp(2x), and 1/exp(x) into exp(−x).
            times, logit = argument.primitive()
            return swap[logit] ** times if logit in swap else swap[-logit] ** -times

        return all(
            sp.expand(entry.replace(sp.exp, power)) == 0 for entry in sp.Matrix([expression]).flat()
        )


def softmax(y_prime: sp.Matrix) -> sp.Matrix:
    """The softmax of each row, as Appendix B writes it: (exp(Y') 1 1ᵀ)⁻¹ ⊙ exp(Y')."""
    e = y_prime.applyfunc(sp.exp)
    sums = e * sp.ones(y_prime.cols, 1) * sp.ones(1, y_prime.cols)
    return sums.applyfunc(lambda s: 1 / s).multiply_elementwise(e)


def derivative(expression: sp.Expr, of: sp.Matrix) -> sp.Matrix:
    """The derivative of a scalar by each entry of a matrix of symbols, from the definition."""
    return of.applyfunc(lambda entry: sp.diff(expression, entry))


def softmax_differential(y_prime: sp.Matrix, d: sp.Matrix) -> sp.Matrix:
    """Appendix B's d softmax(Y') = Y ⊙ (dY' − (exp(Y') 1 1ᵀ)⁻¹ ⊙ [(exp(Y') ⊙ dY') 1 1ᵀ])."""
    e, ones = y_prime.applyfunc(sp.exp), sp.ones(y_prime.cols, y_prime.cols)
    inverse = (e * ones).applyfunc(lambda s: 1 / s)
    mean = inverse.multiply_elementwise(e.multiply_elementwise(d) * ones)
    return softmax(y_prime).multiply_elementwise(d - mean)


def directional(matrix: sp.Matrix, by: sp.Matrix, d: sp.Matrix) -> sp.Matrix:
    """The differential of a matrix from the definition: Σ ∂/∂(entry of `by`) · (entry of `d`)."""
    return matrix.applyfunc(lambda m: sum(sp.diff(m, s) * ds for s, ds in zip(by, d)))


def softmax_gradient() -> sp.Expr:
    """dL/dY' at the entry (j', c'), for symbolic N and C: softmax − Z."""
    logits = _Y[_i, _c]
    return _inside(sp.diff(_indexed_loss(logits), _Y[ROW, COLUMN]))


def component_gradient() -> sp.Expr:
    """dL/dX̃ at the entry (j', c'), for symbolic N and C, from the component-wise loss."""
    logits = Sum(_A[_i, _j] * _Xt[_j, _c], (_j, 1, N))
    return _inside(sp.diff(_indexed_loss(logits), _Xt[ROW, COLUMN]))


def component_claim(transpose: bool = True, sign: int = 1) -> sp.Expr:
    """The entry (j', c') of ±Âᵀ(Y − Z), or of ±Â(Y − Z), written like `component_gradient`."""
    logits = Sum(_A[_i, _j] * _Xt[_j, _c], (_j, 1, N))
    y = sp.exp(logits.subs(_c, COLUMN)) / Sum(sp.exp(logits), (_c, 1, C))
    a = _A[_i, ROW] if transpose else _A[ROW, _i]
    return sign * (Sum(y * a, (_i, 1, N)) - Sum(a * _Z[_i, COLUMN], (_i, 1, N)))


def chain_rule() -> tuple[sp.Expr, sp.Expr]:
    """dL/dW for symbolic N, F and C, from dL = tr(Gᵀ Â X dW) with G = dL/dY', and G."""
    a, x = sp.MatrixSymbol(r"\hat{A}", N, N), sp.MatrixSymbol("X", N, F)
    g, dw = sp.MatrixSymbol("G", N, C), sp.MatrixSymbol("dW", F, C)
    return sp.diff(sp.Trace(g.T * a * x * dw), dw), x.T * a.T * g


def component_lines(layer: Layer, row: int, column: int) -> list[sp.Expr]:
    """The five lines of Appendix B for dL/dX̃ at one entry; `layer.x` is X̃ and `layer.w` is I."""
    a, z, y = layer.a, layer.z, layer.y
    lines = [sp.Integer(0)] * 5
    for i in range(a.rows):
        e = [sp.exp(logit) for logit in layer.y_prime.row(i)]
        s, chosen = sum(e), sp.exp(_chosen(layer, i))
        a_i, z_i, p = a[i, row], z[i, column], y[i, column]
        others = s - e[column]
        first = a_i * z_i * chosen * s / s**2 - a_i * chosen * e[column] / s**2
        lines[0] -= s / chosen * first
        lines[1] -= (a_i * z_i * s - a_i * e[column]) / s
        lines[2] -= a_i * (z_i * others + (z_i - 1) * e[column]) / s
        lines[3] -= a_i * (z_i * (1 - p) + (z_i - 1) * p)
        lines[4] -= a_i * (z_i - p)
    return lines


def path() -> Layer:
    """The smallest connected graph whose Â_rw is not symmetric: a path of three nodes.

    Features are X = I, labels 1, 1, 2, and W is symbolic; at W = 0 every number is rational.
    """
    a = sp.Matrix([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    a = sp.diag(*[sp.Rational(1, sum(a.row(i))) for i in range(3)]) * a
    return Layer(a, sp.eye(3), _symbols("W", 3, 2), sp.Matrix([[1, 0], [1, 0], [0, 1]]))


def at_zero(expression: sp.Matrix | sp.Expr, w: sp.Matrix) -> sp.Matrix | sp.Expr:
    """An expression's value where all weights are zero."""
    return expression.subs(dict.fromkeys(w, 0))


def numeric(a: np.ndarray, x: np.ndarray, w: np.ndarray, z: np.ndarray) -> np.ndarray:
    """dL/dW = Xᵀ Âᵀ (Y − Z) in float64, `[F, C]`: to be held against automatic differentiation."""
    logits = a @ x @ w
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return x.T @ a.T @ (e / e.sum(axis=1, keepdims=True) - z)


def _symbols(name: str, rows: int, columns: int) -> sp.Matrix:
    return sp.Matrix(
        rows, columns, lambda i, j: sp.Symbol(f"{name}_{{{i + 1},{j + 1}}}", real=True)
    )


def _chosen(layer: Layer, i: int) -> sp.Expr:
    """The logit of the true class, Σ_c Z_ic Y'_ic."""
    return sp.expand((layer.z.row(i) * layer.y_prime.row(i).T)[0])


def _indexed_loss(logits: sp.Expr) -> sp.Expr:
    """The loss as Appendix B rewrites it with Σ_c Z_ic = 1, for logits in the indices i and c."""
    fit = Sum(_Z[_i, _c] * logits, (_c, 1, C), (_i, 1, N))
    return Sum(sp.log(Sum(sp.exp(logits), (_c, 1, C))), (_i, 1, N)) - fit


def _inside(expression: sp.Expr) -> sp.Expr:
    """Evaluate Kronecker deltas, the derived entry being one of the matrix (1 ≤ j' ≤ N, …)."""
    while True:
        done = expression.doit().replace(
            lambda e: isinstance(e, sp.Piecewise), lambda e: e.args[0].expr
        )
        if done == expression:
            return done
        expression = done
