"""The filterbank of sections 2.1 and 4.2: spectra, their bounds, and perfect reconstruction.

Graphs are symmetric matrices of non-negative numbers: SymPy where something is proved, NumPy where
a graph of any size is measured.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import sympy as sp
from sympy.polys.matrices import DomainMatrix

from acm.errors import UsageError


def _known_norm(norm: str) -> None:
    if norm not in ("rw", "sym"):
        raise UsageError(f"unknown normalisation {norm!r}: 'rw' and 'sym' are known")


def affinity(a: sp.Matrix, norm: str = "rw", renormalize: bool = False) -> sp.Matrix:
    """An affinity matrix of section 2.1 in exact arithmetic: `A_rw`, `A_sym`, or with hats.

    Args:
        a: Adjacency `A`, `[N, N]`, symmetric; numbers or symbols.
        norm: `"rw"` for `D⁻¹A`, `"sym"` for `D^{-1/2} A D^{-1/2}`.
        renormalize: Whether to take `A + I` and `D + I` in the place of `A` and `D`.

    Returns:
        The matrix; a node without any edge keeps a zero row.

    Raises:
        UsageError: If `a` is not symmetric or the normalisation is unknown.
    """
    a = sp.Matrix(a)
    _known_norm(norm)
    if not a.is_symmetric():
        raise UsageError("the adjacency is not symmetric: section 2 speaks of undirected graphs")
    if renormalize:
        a = a + sp.eye(a.rows)
    degree = [sum(a.row(i)) for i in range(a.rows)]
    if norm == "rw":
        scale = [1 / d if d != 0 else sp.Integer(0) for d in degree]
        return sp.diag(*scale) * a
    root = sp.diag(*[1 / sp.sqrt(d) if d != 0 else sp.Integer(0) for d in degree])
    return root * a * root


def similarity_entry() -> tuple[sp.Expr, sp.Expr]:
    """Entry `(i, j)` of `D^{1/2} A_rw D^{-1/2}` and of `A_sym`, for generic `a_ij`, `d_i`, `d_j`.

    Equality of the two proves for every size that both matrices are similar and so share their
    eigenvalues; with `Ã`, `D̃` for `A`, `D` it is the same statement about the renormalised ones.
    """
    d_i, d_j = sp.symbols("d_i d_j", positive=True)
    a = sp.Symbol("a_ij", real=True)
    return sp.sqrt(d_i) * (a / d_i) / sp.sqrt(d_j), a / (sp.sqrt(d_i) * sp.sqrt(d_j))


def symbolic_graph(n: int) -> sp.Matrix:
    """The adjacency of the complete graph on `n` nodes with a symbol for each edge's weight."""
    weight = {pair: sp.Symbol(f"a_{pair[0]}{pair[1]}", positive=True)
              for pair in combinations(range(1, n + 1), 2)}  # fmt: skip
    return sp.Matrix(n, n, lambda i, j: weight.get((min(i, j) + 1, max(i, j) + 1), 0))


def quadratic_forms(a: sp.Matrix, sign: int, renormalize: bool = False) -> tuple[sp.Expr, sp.Expr]:
    r"""`xᵀ(I + sign·A_sym)x`, and the sum of squares over the edges that it is said to be.

    The sum is :math:`\sum_{i<j} a_{ij}(x_i/\sqrt{d_i} + sign\; x_j/\sqrt{d_j})^2`; with
    renormalisation each of the loops that this adds contributes
    :math:`(1 + sign)^2/2 \cdot x_i^2/\tilde d_i`. It is never negative, hence the spectrum lies in
    :math:`[-1, 1]`.

    Args:
        a: Adjacency without loops, `[N, N]`, every node with an edge.
        sign: −1 for the Laplacian, +1 for the form whose zeros are eigenvectors to −1.
        renormalize: Whether to add the identity first.
    """
    n = a.rows
    x = sp.Matrix(sp.symbols(f"x1:{n + 1}", real=True))
    matrix = affinity(a, "sym", renormalize)
    form = (x.T * (sp.eye(n) + sign * matrix) * x)[0]
    degree = [sum(a.row(i)) + int(renormalize) for i in range(n)]
    y = [x[i] / sp.sqrt(degree[i]) for i in range(n)]
    squares = sum(a[i, j] * (y[i] + sign * y[j]) ** 2 for i, j in combinations(range(n), 2))
    if renormalize:
        squares += sp.Rational((1 + sign) ** 2, 2) * sum(value**2 for value in y)
    return form, squares


def multiplicity(matrix: sp.Matrix, eigenvalue: sp.Expr) -> int:
    """How often a number is an eigenvalue of a matrix similar to a symmetric one: `N − rank`."""
    shifted = matrix - eigenvalue * sp.eye(matrix.rows)
    return matrix.rows - DomainMatrix.from_Matrix(shifted).to_field().rank()


def bipartite_components(a: np.ndarray) -> list[list[int]]:
    """The connected components with at least one edge whose nodes two colours can part."""
    a = np.asarray(a)
    colour = np.zeros(len(a), dtype=int)
    found = []
    for start in range(len(a)):
        if colour[start] or not a[start].any():
            continue
        colour[start], waiting, component, two = 1, [start], [], True
        while waiting:
            node = waiting.pop()
            component.append(node)
            for other in np.flatnonzero(a[node]):
                if not colour[other]:
                    colour[other] = -colour[node]
                    waiting.append(int(other))
                two &= bool(colour[other] == -colour[node])
        if two:
            found.append(sorted(component))
    return found


def lower_bound(a: np.ndarray) -> float:
    """`(1 − d_max)/(1 + d_max)`, which no eigenvalue of a renormalised `Â` falls below.

    Row `i` of `Â_rw` has `1/(d_i + 1)` on the diagonal and `d_i/(d_i + 1)` beside it (Gershgorin).
    For graphs without loops; a bipartite graph whose nodes all have one degree attains it.
    """
    degree = float(np.asarray(a).sum(1).max())
    return (1 - degree) / (1 + degree)


def spectrum(
    a: np.ndarray, norm: str = "sym", renormalize: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues in rising order and right eigenvectors of an affinity matrix, in float64.

    Args:
        a: Adjacency, `[N, N]`, symmetric.
        norm: `"sym"` (eigenvectors orthonormal) or `"rw"` (computed from the matrix itself, by the
            solver for general matrices).
        renormalize: Whether to add the identity first.

    Returns:
        `λ`, `[N]`, and `U`, `[N, N]`, eigenvectors in its columns.

    Raises:
        UsageError: If `a` is not symmetric or the normalisation is unknown.
    """
    a = np.asarray(a, dtype=float)
    _known_norm(norm)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or (a != a.T).any():
        raise UsageError("the adjacency is not symmetric: section 2 speaks of undirected graphs")
    a = a + np.eye(len(a)) if renormalize else a
    degree = a.sum(1)
    scale = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    if norm == "sym":
        return np.linalg.eigh(np.sqrt(scale)[:, None] * a * np.sqrt(scale))
    values, vectors = np.linalg.eig(scale[:, None] * a)
    order = np.argsort(values.real)
    return values.real[order], vectors.real[:, order]


def energies(a: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Energy of a signal, and of what either filter leaves of it, at every frequency.

    Args:
        a: Adjacency, `[N, N]`, symmetric.
        x: Graph signals in columns, `[N, F]`.

    Returns:
        `"frequency"`: `1 − λ` of `Â_sym`, rising, `[N]`; `"signal"`, `"low"`, `"high"`:
        `Σ_f (u_kᵀ h_f)²` for `h` one of `x`, `Âx` and `(I − Â)x`, `[N]` each.
    """
    values, vectors = spectrum(a)
    values, vectors = values[::-1], vectors[:, ::-1]
    low = vectors * values @ vectors.T @ x
    return {
        "frequency": 1 - values,
        **{
            name: ((vectors.T @ signal) ** 2).sum(1)
            for name, signal in (("signal", x), ("low", low), ("high", x - low))
        },
    }
