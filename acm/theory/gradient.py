r"""Derive the gradient of the simplified GCN (eq. (5) and Appendix B).

.. math:: Y' = \hat A X W, \qquad Y = \mathrm{softmax}(Y'), \qquad
          \mathcal L = -\mathrm{tr}(Z^T \log Y)

There are three derivations. The gradient of the softmax and the component form use sums of indexed
terms, for symbolic N and C. The chain rule uses matrix expressions, for symbolic N, F and C.
`Layer` checks the complete gradient for matrices of fixed shape with a symbol in every entry. No
derivation assumes that :math:`\hat A` is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from sympy import IndexedBase, Sum

N, F, C = sp.symbols("N F C", integer=True, positive=True)
_i, _j, _c = sp.symbols("i j c", integer=True)
_A, _Z, _Y, _Xt = map(IndexedBase, (r"\hat{A}", "Z", "Y'", r"\tilde{X}"))
_LOGITS = Sum(_A[_i, _j] * _Xt[_j, _c], (_j, 1, N))
#: Indices of the entry by which the loss is differentiated.
ROW, COLUMN = sp.symbols("j' c'", integer=True)


@dataclass(frozen=True)
class Layer:
    """The matrices `Â`, `X`, `W` and `Z` of the simplified GCN, with numbers or symbols.

    Each row of `Z`, `[N, C]`, sums to one.
    """

    a: sp.Matrix
    x: sp.Matrix
    w: sp.Matrix
    z: sp.Matrix

    @classmethod
    def symbolic(cls, n: int, f: int, c: int) -> Layer:
        """Build a layer with a symbol in every entry; the rows of Z sum to one."""
        free = _symbols("Z", n, c - 1)
        z = free.row_join(sp.ones(n, 1) - free * sp.ones(c - 1, 1))
        return cls(_symbols("A", n, n), _symbols("X", n, f), _symbols("W", f, c), z)

    @cached_property
    def y_prime(self) -> sp.Matrix:
        """Logits Y', `[N, C]`."""
        return (self.a * self.x * self.w).applyfunc(sp.expand)

    @cached_property
    def y(self) -> sp.Matrix:
        """Prediction Y = softmax(Y'), `[N, C]`."""
        return softmax(self.y_prime)

    @cached_property
    def loss(self) -> sp.Expr:
        """Cross-entropy loss (eq. (2)), with log Y written as Y' − log(exp(Y') 1 1ᵀ)."""
        sums = self.y_prime.applyfunc(sp.exp) * sp.ones(self.w.cols, 1)
        log_y = self.y_prime - sums.applyfunc(sp.log) * sp.ones(1, self.w.cols)
        return -(self.z.T * log_y).trace()

    def vanishes(self, expression: sp.Matrix | sp.Expr) -> bool:
        """Check whether an expression in the symbols of this layer is identically zero.

        Let s_i be the sum of the exponentials of row i. The check replaces the last exponential of
        each row by s_i minus all other exponentials. Then every denominator is a monomial, and the
        expression is zero if and only if `expand` returns zero.
        """
        exponential = {}
        for i in range(self.y_prime.rows):
            s, first = sp.Symbol(f"s{i}"), sp.symbols(f"e{i}_:{self.w.cols - 1}")
            exponential.update(zip(self.y_prime.row(i), [*first, s - sum(first)]))
            exponential[_true_logit(self, i)] = sp.Symbol(f"t{i}")

        def power(argument: sp.Expr) -> sp.Expr:
            # SymPy merges exp(x)² into exp(2x), and 1/exp(x) into exp(−x).
            times, logit = argument.primitive()
            sign = 1 if logit in exponential else -1
            return exponential[sign * logit] ** (sign * times)

        entries = sp.Matrix([expression]).flat()
        return all(sp.expand(entry.replace(sp.exp, power)) == 0 for entry in entries)


def softmax(y_prime: sp.Matrix) -> sp.Matrix:
    """Return the softmax of each row as in Appendix B, (exp(Y') 1 1ᵀ)⁻¹ ⊙ exp(Y')."""
    e = y_prime.applyfunc(sp.exp)
    return _inverse_sums(e).multiply_elementwise(e)


def derivative(expression: sp.Expr, by: sp.Matrix) -> sp.Matrix:
    """Differentiate a scalar by each entry of a matrix of symbols."""
    return by.applyfunc(lambda entry: sp.diff(expression, entry))


def softmax_differential(y_prime: sp.Matrix, d: sp.Matrix) -> sp.Matrix:
    """Return d softmax(Y') = Y ⊙ (dY' − (exp(Y') 1 1ᵀ)⁻¹ ⊙ [(exp(Y') ⊙ dY') 1 1ᵀ]) (App. B)."""
    e, ones = y_prime.applyfunc(sp.exp), sp.ones(y_prime.cols, y_prime.cols)
    mean = _inverse_sums(e).multiply_elementwise(e.multiply_elementwise(d) * ones)
    return softmax(y_prime).multiply_elementwise(d - mean)


def _inverse_sums(e: sp.Matrix) -> sp.Matrix:
    return (e * sp.ones(e.cols, e.cols)).applyfunc(lambda s: 1 / s)


def directional(matrix: sp.Matrix, by: sp.Matrix, d: sp.Matrix) -> sp.Matrix:
    """Compute the differential Σ_k ∂matrix/∂by_k · d_k, where k runs over the entries of `by`."""
    return matrix.applyfunc(lambda m: sum(sp.diff(m, s) * ds for s, ds in zip(by, d)))


def softmax_gradient() -> sp.Expr:
    """Derive the entry (j', c') of dL/dY', which is softmax(Y') − Z, for symbolic N and C."""
    return _evaluate_deltas(sp.diff(_indexed_loss(_Y[_i, _c]), _Y[ROW, COLUMN]))


def component_gradient() -> sp.Expr:
    """Derive the entry (j', c') of dL/dX̃ for symbolic N and C, where X̃ = XW."""
    return _evaluate_deltas(sp.diff(_indexed_loss(_LOGITS), _Xt[ROW, COLUMN]))


def component_claim(transpose: bool = True, sign: int = 1) -> sp.Expr:
    """Return the entry (j', c') of ±Âᵀ(Y − Z) or ±Â(Y − Z), written as in `component_gradient`."""
    y = sp.exp(_LOGITS.subs(_c, COLUMN)) / Sum(sp.exp(_LOGITS), (_c, 1, C))
    a = _A[_i, ROW] if transpose else _A[ROW, _i]
    return sign * (Sum(y * a, (_i, 1, N)) - Sum(a * _Z[_i, COLUMN], (_i, 1, N)))


def chain_rule() -> tuple[sp.Expr, sp.Expr]:
    """Return dL/dW, derived from dL = tr(Gᵀ Â X dW) with G = dL/dY', and the claim Xᵀ Âᵀ G."""
    a, x = sp.MatrixSymbol(r"\hat{A}", N, N), sp.MatrixSymbol("X", N, F)
    g, dw = sp.MatrixSymbol("G", N, C), sp.MatrixSymbol("dW", F, C)
    return sp.diff(sp.Trace(g.T * a * x * dw), dw), x.T * a.T * g


def component_lines(layer: Layer, row: int, column: int) -> list[sp.Expr]:
    """Return the five lines of Appendix B for one entry of dL/dX̃; layer.x is X̃, layer.w is I."""
    a, z, y = layer.a, layer.z, layer.y
    terms = []
    for i in range(a.rows):
        e = layer.y_prime.row(i).applyfunc(sp.exp)
        s, e_c, true = sum(e), e[column], sp.exp(_true_logit(layer, i))
        a_i, z_i, p = a[i, row], z[i, column], y[i, column]
        terms.append((
            s / true * (a_i * z_i * true * s / s**2 - a_i * true * e_c / s**2),
            (a_i * z_i * s - a_i * e_c) / s,
            a_i * (z_i * (s - e_c) + (z_i - 1) * e_c) / s,
            a_i * (z_i * (1 - p) + (z_i - 1) * p),
            a_i * (z_i - p),
        ))  # fmt: skip
    return [-sum(line) for line in zip(*terms)]


def path() -> Layer:
    """Build the layer of a path of three nodes (Â_rw is not symmetric), X = I, labels 1, 1, 2."""
    a = sp.Matrix([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    a = sp.diag(*[sp.Rational(1, sum(a.row(i))) for i in range(3)]) * a
    return Layer(a, sp.eye(3), _symbols("W", 3, 2), sp.Matrix([[1, 0], [1, 0], [0, 1]]))


def _symbols(name: str, rows: int, columns: int) -> sp.Matrix:
    return sp.Matrix(
        rows, columns, lambda i, j: sp.Symbol(f"{name}_{{{i + 1},{j + 1}}}", real=True)
    )


def _true_logit(layer: Layer, i: int) -> sp.Expr:
    """Return the logit of the true class of node i, Σ_c Z_ic Y'_ic."""
    return sp.expand((layer.z.row(i) * layer.y_prime.row(i).T)[0])


def _indexed_loss(logits: sp.Expr) -> sp.Expr:
    """Return the loss of Appendix B, simplified with Σ_c Z_ic = 1, for logits indexed by i, c."""
    true_logits = Sum(_Z[_i, _c] * logits, (_c, 1, C), (_i, 1, N))
    return Sum(sp.log(Sum(sp.exp(logits), (_c, 1, C))), (_i, 1, N)) - true_logits


def _evaluate_deltas(expression: sp.Expr) -> sp.Expr:
    """Evaluate all Kronecker deltas in an expression, assuming 1 ≤ j' ≤ N and 1 ≤ c' ≤ C."""
    while True:
        evaluated = expression.doit().replace(
            lambda e: isinstance(e, sp.Piecewise), lambda e: e.args[0].expr
        )
        if evaluated == expression:
            return evaluated
        expression = evaluated
