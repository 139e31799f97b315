"""Study the filterbank of sections 2.1 and 4.2: spectra, their bounds, and reconstruction.

A graph is a symmetric matrix of non-negative numbers: a SymPy matrix for proofs, a NumPy array for
measurements.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import sympy as sp
from scipy.sparse.csgraph import connected_components
from sympy.polys.matrices import DomainMatrix

from acm.errors import UsageError


def _check(symmetric: bool, norm: str) -> None:
    if not symmetric:
        raise UsageError("the adjacency is not symmetric; section 2 covers undirected graphs only")
    if norm not in ("rw", "sym"):
        raise UsageError(f"unknown normalization {norm!r}; choose 'rw' or 'sym'")


def affinity(a: sp.Matrix, norm: str = "rw", renormalize: bool = False) -> sp.Matrix:
    """Compute an affinity matrix of section 2.1 exactly.

    Args:
        a: Adjacency `A`, `[N, N]`, symmetric; numbers or symbols.
        norm: `"rw"` for `D⁻¹A` or `"sym"` for `D^{-1/2} A D^{-1/2}`.
        renormalize: Whether to replace `A` by `A + I` and `D` by `D + I`.

    Returns:
        The matrix, `[N, N]`; a node without edges has a zero row.

    Raises:
        UsageError: If `a` is not symmetric or the normalization is unknown.
    """
    a = sp.Matrix(a)
    _check(a.is_symmetric(), norm)
    if renormalize:
        a = a + sp.eye(a.rows)
    inverse = [1 / d if d != 0 else sp.Integer(0) for d in a * sp.ones(a.rows, 1)]
    if norm == "rw":
        return sp.diag(*inverse) * a
    root = sp.diag(*map(sp.sqrt, inverse))
    return root * a * root


def similarity_entry() -> tuple[sp.Expr, sp.Expr]:
    """Return entry `(i, j)` of `D^{1/2} A_rw D^{-1/2}` and of `A_sym` for generic `a_ij, d_i, d_j`.

    If the two entries are equal, `A_rw` and `A_sym` are similar for every N and have the same
    eigenvalues. The same entries with `Ã` and `D̃` cover the renormalized matrices.
    """
    d_i, d_j = sp.symbols("d_i d_j", positive=True)
    a = sp.Symbol("a_ij", real=True)
    return sp.sqrt(d_i) * (a / d_i) / sp.sqrt(d_j), a / (sp.sqrt(d_i) * sp.sqrt(d_j))


def symbolic_graph(n: int) -> sp.Matrix:
    """Return the adjacency of the complete graph on `n` nodes with symbols as edge weights."""

    def weight(i: int, j: int) -> sp.Expr:
        low, high = sorted((i + 1, j + 1))
        return sp.Symbol(f"a_{low}{high}", positive=True) if low < high else sp.Integer(0)

    return sp.Matrix(n, n, weight)


def quadratic_forms(a: sp.Matrix, sign: int, renormalize: bool = False) -> tuple[sp.Expr, sp.Expr]:
    r"""Return the quadratic form `xᵀ(I + sign·A_sym)x` and the equal sum of squares.

    The sum is :math:`\sum_{i<j} a_{ij}(x_i/\sqrt{d_i} + sign\; x_j/\sqrt{d_j})^2`. With
    renormalization each added self-loop contributes :math:`(1 + sign)^2/2 \cdot x_i^2/\tilde d_i`.
    The sum is never negative for either sign, so the spectrum lies in :math:`[-1, 1]`.

    Args:
        a: Adjacency without self-loops or isolated nodes, `[N, N]`.
        sign: −1 for the Laplacian, or +1 for the form that is zero at eigenvectors of −1.
        renormalize: Whether to add the identity to `a` first.
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
    """Return the multiplicity `N − rank` of an eigenvalue of a diagonalizable matrix."""
    shifted = matrix - eigenvalue * sp.eye(matrix.rows)
    return matrix.rows - DomainMatrix.from_Matrix(shifted).to_field().rank()


def bipartite_components(a: np.ndarray) -> list[list[int]]:
    """Return the nodes of every bipartite component with at least one edge."""
    a = np.asarray(a)
    n = len(a)
    count, component = connected_components(a, directed=False)
    # A component is bipartite exactly if its bipartite double cover has two components.
    _, cover = connected_components(np.kron([[0, 1], [1, 0]], a), directed=False)
    members = (np.flatnonzero(component == c).tolist() for c in range(count))
    return [nodes for nodes in members if len(nodes) > 1 and cover[nodes[0]] != cover[nodes[0] + n]]


def lower_bound(a: np.ndarray) -> float:
    """Return Gershgorin's lower bound `(1 − d_max)/(1 + d_max)` of the eigenvalues of `Â`.

    Row `i` of `Â_rw` has `1/(d_i + 1)` on the diagonal, and its other entries sum to
    `d_i/(d_i + 1)`. The graph must have no self-loops. Regular bipartite graphs attain the bound.
    """
    degree = float(np.asarray(a).sum(1).max())
    return (1 - degree) / (1 + degree)


def spectrum(
    a: np.ndarray, norm: str = "sym", renormalize: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the ascending eigenvalues and the right eigenvectors of an affinity matrix.

    Args:
        a: Adjacency, `[N, N]`, symmetric.
        norm: `"sym"` (with orthonormal eigenvectors) or `"rw"` (with a solver for general matrices,
            so that its result is independent of `"sym"`).
        renormalize: Whether to add the identity to `a` first.

    Returns:
        `λ`, `[N]`, and `U`, `[N, N]`, with eigenvectors in its columns, in float64.

    Raises:
        UsageError: If `a` is not symmetric or the normalization is unknown.
    """
    a = np.asarray(a, dtype=float)
    _check(a.ndim == 2 and np.array_equal(a, a.T), norm)
    a = a + np.eye(len(a)) if renormalize else a
    degree = a.sum(1)
    scale = np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)
    if norm == "sym":
        return np.linalg.eigh(np.sqrt(scale)[:, None] * a * np.sqrt(scale))
    values, vectors = np.linalg.eig(scale[:, None] * a)
    order = np.argsort(values.real)
    return values.real[order], vectors.real[:, order]


def energies(a: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the energy of a signal and of both filtered signals at every frequency.

    Args:
        a: Adjacency, `[N, N]`, symmetric.
        x: Graph signals in columns, `[N, F]`.

    Returns:
        `"frequency"`: ascending `1 − λ` of `Â_sym`, `[N]`. `"signal"`, `"low"` and `"high"`: the
        energies `Σ_f (u_kᵀ h_f)²` of `h = x`, `h = Âx` and `h = (I − Â)x`, `[N]` each.
    """
    values, vectors = spectrum(a)
    values, vectors = values[::-1], vectors[:, ::-1]
    low = vectors * values @ vectors.T @ x
    signals = {"signal": x, "low": low, "high": x - low}
    energy = {name: ((vectors.T @ signal) ** 2).sum(1) for name, signal in signals.items()}
    return {"frequency": 1 - values, **energy}
