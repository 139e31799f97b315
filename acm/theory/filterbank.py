"""Compute spectra, bounds of eigenvalues and energies of the filters (sections 2.1 and 4.2).

A graph is a symmetric adjacency matrix with non-negative weights. It is a SymPy matrix for exact
results, or a NumPy array for floating-point results.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import sympy as sp
from scipy.sparse.csgraph import connected_components
from sympy.polys.matrices import DomainMatrix

from acm.errors import UsageError


def affinity(a: sp.Matrix, norm: str = "rw", renormalize: bool = False) -> sp.Matrix:
    """Compute `D⁻¹A` ("rw") or `D^{-1/2} A D^{-1/2}` ("sym") of section 2.1 exactly, `[N, N]`.

    With `renormalize`, `A + I` and `D + I` replace `A` and `D`. An isolated node has a zero row.

    Raises:
        UsageError: If `a` is not symmetric or the normalization is unknown.
    """
    a = sp.Matrix(a)
    if not a.is_symmetric():
        raise UsageError("the adjacency is not symmetric; section 2 covers undirected graphs only")
    if norm not in ("rw", "sym"):
        raise UsageError(f"unknown normalization {norm!r}; choose 'rw' or 'sym'")
    if renormalize:
        a = a + sp.eye(a.rows)
    inverse = [1 / d if d != 0 else sp.Integer(0) for d in a * sp.ones(a.rows, 1)]
    if norm == "rw":
        return sp.diag(*inverse) * a
    root = sp.diag(*map(sp.sqrt, inverse))
    return root * a * root


def symbolic_graph(n: int) -> sp.Matrix:
    """Return the adjacency matrix of a complete graph of `n` nodes with symbolic edge weights."""
    a = sp.zeros(n)
    for i, j in combinations(range(n), 2):
        a[i, j] = a[j, i] = sp.Symbol(f"a_{i + 1}{j + 1}", positive=True)
    return a


def quadratic_forms(a: sp.Matrix, sign: int, renormalize: bool = False) -> tuple[sp.Expr, sp.Expr]:
    r"""Return the quadratic form `xᵀ(I + sign·A_sym)x`, and a sum of squares that equals it.

    The sum is :math:`\sum_{i<j} a_{ij}(x_i/\sqrt{d_i} + sign\; x_j/\sqrt{d_j})^2`. With
    renormalization each added self-loop contributes :math:`(1 + sign)^2/2 \cdot x_i^2/\tilde d_i`.
    The sum is not negative for both signs, so the eigenvalues are in :math:`[-1, 1]`. The graph
    `a` must have no self-loops and no isolated nodes.
    """
    n = a.rows
    x = sp.Matrix(sp.symbols(f"x1:{n + 1}", real=True))
    form = (x.T * (sp.eye(n) + sign * affinity(a, "sym", renormalize)) * x)[0]
    y = [x[i] / sp.sqrt(sum(a.row(i)) + int(renormalize)) for i in range(n)]
    squares = sum(a[i, j] * (y[i] + sign * y[j]) ** 2 for i, j in combinations(range(n), 2))
    if renormalize:
        squares += sp.Rational((1 + sign) ** 2, 2) * sum(value**2 for value in y)
    return form, squares


def multiplicity(matrix: sp.Matrix, eigenvalue: sp.Expr) -> int:
    """Return the multiplicity of an eigenvalue of a diagonalizable matrix, `N − rank(M − λI)`."""
    shifted = matrix - eigenvalue * sp.eye(matrix.rows)
    return matrix.rows - DomainMatrix.from_Matrix(shifted).to_field().rank()


def bipartite_components(a: np.ndarray) -> list[list[int]]:
    """Return the nodes of every bipartite component with at least one edge."""
    n = len(a)
    count, component = connected_components(a, directed=False)
    # A component is bipartite if and only if its bipartite double cover has two components.
    _, cover = connected_components(np.kron([[0, 1], [1, 0]], a), directed=False)
    members = (np.flatnonzero(component == c).tolist() for c in range(count))
    return [nodes for nodes in members if len(nodes) > 1 and cover[nodes[0]] != cover[nodes[0] + n]]


def lower_bound(a: np.ndarray) -> float:
    """Return `(1 − d_max)/(1 + d_max)`, a lower bound of the eigenvalues of `Â` (Gershgorin).

    In row `i` of `Â_rw`, the diagonal entry is `1/(d_i + 1)`, and all other entries sum to
    `d_i/(d_i + 1)`. The graph must have no self-loops. Regular bipartite graphs attain the bound.
    """
    degree = float(a.sum(1).max())
    return (1 - degree) / (1 + degree)


def spectrum(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the eigenvalues of `Â_sym`, ascending, and orthonormal eigenvectors (columns)."""
    a = a + np.eye(len(a))
    scale = np.sqrt(1 / a.sum(1))
    return np.linalg.eigh(scale[:, None] * a * scale)


def energies(a: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the energy at every frequency of signals before and after both filters.

    Args:
        a: Adjacency, `[N, N]`, symmetric.
        x: Graph signals in columns, `[N, F]`.

    Returns:
        `"frequency"`: `1 − λ_k` for the eigenvalues `λ_k` of `Â_sym`, ascending, `[N]`. `"signal"`,
        `"low"`, `"high"`: the energies `Σ_f (u_kᵀ h_f)²` of `h = x`, `Âx` and `(I − Â)x`, for the
        eigenvectors `u_k`, `[N]` each.
    """
    values, vectors = spectrum(a)
    values, vectors = values[::-1], vectors[:, ::-1]
    low = vectors * values @ vectors.T @ x
    signals = {"signal": x, "low": low, "high": x - low}
    energy = {name: ((vectors.T @ signal) ** 2).sum(1) for name, signal in signals.items()}
    return {"frequency": 1 - values, **energy}
