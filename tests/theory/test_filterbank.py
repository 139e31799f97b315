"""Check the spectra and filters of sections 2.1 and 4.2, and that wrong claims fail."""

from __future__ import annotations

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
import sympy as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from acm import filters
from acm.errors import UsageError
from acm.theory.drawing import plot_response
from acm.theory.filterbank import (
    affinity,
    bipartite_components,
    energies,
    lower_bound,
    multiplicity,
    quadratic_forms,
    spectrum,
    symbolic_graph,
)

PATH = sp.Matrix([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
TRIANGLE = sp.ones(3) - sp.eye(3)


@st.composite
def graphs(draw, largest: int = 9) -> np.ndarray:
    """Draw adjacencies without self-loops, of any density and with any number of components."""
    n = draw(st.integers(2, largest))
    bits = draw(st.lists(st.booleans(), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    a = np.zeros((n, n), dtype=int)
    a[np.triu_indices(n, 1)] = bits
    return a + a.T


def test_rw_and_sym_are_similar_whatever_the_size():
    a, d_i, d_j = sp.symbols("a_ij d_i d_j", positive=True)
    rw, sym = sp.sqrt(d_i) * (a / d_i) / sp.sqrt(d_j), a / (sp.sqrt(d_i) * sp.sqrt(d_j))
    assert sp.simplify(rw - sym) == 0
    # A change of basis by D instead of its root gives another matrix.
    assert sp.simplify(rw * sp.sqrt(d_i / d_j) - sym) != 0


@settings(max_examples=8)
@given(graphs(largest=4), st.booleans())
def test_rw_and_sym_have_one_characteristic_polynomial(a, renormalize):
    t = sp.Symbol("t")
    rw, sym = (
        sp.expand(affinity(sp.Matrix(a), norm, renormalize).charpoly(t).as_expr())
        for norm in ("rw", "sym")
    )
    assert sp.expand(rw - sym) == 0


@given(graphs(), st.booleans())
def test_eigenvalues_of_rw_sym_and_both_laplacians(a, renormalize):
    rw, sym = (
        np.array(affinity(sp.Matrix(a), norm, renormalize).tolist(), dtype=float)
        for norm in ("rw", "sym")
    )
    values = np.linalg.eigvalsh(sym)
    assert np.sort(np.linalg.eigvals(rw).real) == pytest.approx(values, abs=1e-6)
    if renormalize:
        assert spectrum(a)[0] == pytest.approx(values)
    laplacian = np.linalg.eigvalsh(np.eye(len(a)) - sym)
    # Section 2.1 sorts both lists in ascending order, so the order of one list must be reversed.
    assert 1 - laplacian[::-1] == pytest.approx(values, abs=1e-9)


def test_the_same_index_on_both_sides_is_wrong():
    values = np.sort([float(value) for value in affinity(TRIANGLE).eigenvals(multiple=True)])
    laplacian = np.sort(1 - values)
    assert values == pytest.approx([-0.5, -0.5, 1])
    assert 1 - laplacian != pytest.approx(values)
    assert 1 - laplacian[::-1] == pytest.approx(values)


@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("n", [2, 3])
def test_the_spectrum_lies_within_one_by_a_sum_of_squares(n, sign, renormalize):
    form, squares = quadratic_forms(symbolic_graph(n), sign, renormalize)
    assert sp.simplify(sp.expand(form - squares)) == 0
    wrong, _ = quadratic_forms(symbolic_graph(n), -sign, renormalize)
    assert sp.simplify(sp.expand(wrong - squares)) != 0


def test_minus_one_is_an_eigenvalue_of_a_path_and_not_of_a_triangle():
    assert affinity(PATH).eigenvals() == {-1: 1, 0: 1, 1: 1}
    assert -1 not in affinity(TRIANGLE).eigenvals()
    assert -1 not in affinity(PATH, renormalize=True).eigenvals()


@given(graphs())
def test_minus_one_counts_the_bipartite_components(a):
    parts = bipartite_components(a)
    graph = nx.from_numpy_array(a)
    expected = [
        sorted(part) for part in nx.connected_components(graph)
        if len(part) > 1 and nx.is_bipartite(graph.subgraph(part))
    ]  # fmt: skip
    assert parts == expected
    assert multiplicity(affinity(sp.Matrix(a)), -1) == len(parts)
    components = sum(len(part) > 1 for part in nx.connected_components(graph))
    assert multiplicity(affinity(sp.Matrix(a)), 1) == components


@given(graphs())
def test_renormalized_eigenvalues_stay_above_the_bound(a):
    values, _ = spectrum(a)
    assert values[0] >= lower_bound(a) - 1e-9
    assert lower_bound(a) > -1
    assert values[-1] == pytest.approx(1)
    assert multiplicity(affinity(sp.Matrix(a), renormalize=True), -1) == 0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_bound_is_attained_and_so_cannot_be_sharper(n):
    a = nx.to_numpy_array(nx.complete_bipartite_graph(n, n))
    values, _ = spectrum(a)
    assert values[0] == pytest.approx(lower_bound(a)) == pytest.approx((1 - n) / (1 + n))


@given(graphs(), st.sampled_from(["rw", "sym"]), st.booleans())
def test_the_exact_filters_are_those_of_the_package(a, norm, renormalize):
    edges = torch.from_numpy(np.argwhere(a).T.copy())
    weight = torch.ones(edges.shape[1], dtype=torch.double)
    computed = filters.low_pass(edges, len(a), weight, norm, renormalize).to_dense()
    exact = np.array(affinity(sp.Matrix(a), norm, renormalize).tolist(), dtype=float)
    assert computed.numpy() == pytest.approx(exact, abs=1e-12)


@given(graphs(), st.integers(0, 99))
def test_perfect_reconstruction_in_both_forms(a, seed):
    x = np.random.default_rng(seed).normal(size=(len(a), 2))
    edges = torch.from_numpy(np.argwhere(a).T.copy())
    weight = torch.ones(edges.shape[1], dtype=torch.double)
    low = filters.low_pass(edges, len(a), weight).to_dense().numpy()
    high = filters.high_pass(edges, len(a), weight).to_dense().numpy()
    assert low @ x + high @ x == pytest.approx(x)
    # Rows of Â_rw sum to one: the high-pass channel is a sum of differences to the neighbours.
    differences = (low[:, :, None] * (x[:, None] - x[None])).sum(1)
    assert high @ x == pytest.approx(differences)
    values, vectors = spectrum(a)
    spectral = [vectors * gain @ vectors.T @ x for gain in (values, 1 - values)]
    assert sum(spectral) == pytest.approx(x)
    if a.any():
        # Filters of two different normalizations do not reconstruct x, nor do filters with a ReLU.
        other = filters.high_pass(edges, len(a), weight, renormalize=False).to_dense().numpy()
        assert low @ x + other @ x != pytest.approx(x)
        assert np.maximum(low @ x, 0) + np.maximum(high @ x, 0) != pytest.approx(x)


@given(graphs(), st.integers(0, 99))
def test_energies_follow_the_gains(a, seed):
    x = np.random.default_rng(seed).normal(size=(len(a), 3))
    energy = energies(a, x)
    frequency = energy["frequency"]
    assert (np.diff(frequency) >= -1e-9).all() and frequency[0] == pytest.approx(0, abs=1e-9)
    assert energy["signal"].sum() == pytest.approx((x**2).sum())
    assert energy["low"] == pytest.approx((1 - frequency) ** 2 * energy["signal"], abs=1e-9)
    assert energy["high"] == pytest.approx(frequency**2 * energy["signal"], abs=1e-9)


def test_signals_are_kept_and_energies_are_not():
    a = np.array(PATH.tolist(), dtype=float)
    energy = energies(a, np.eye(3))
    # The signal has energy 1 at each of the frequencies 0, 1/2 and 7/6; both filters together
    # keep Σ f² + (1 − f)².
    assert energy["frequency"] == pytest.approx([0, 1 / 2, 7 / 6])
    assert energy["signal"] == pytest.approx(np.ones(3))
    assert (energy["low"] + energy["high"]).sum() == pytest.approx(1 + 1 / 2 + 50 / 36)


def test_only_the_symmetric_filter_misses_constants():
    ones = sp.ones(3, 1)
    assert affinity(PATH, "rw", True) * ones == ones
    assert affinity(PATH, "sym", True) * ones != ones


def test_asymmetric_graphs_and_unknown_norms_are_rejected():
    with pytest.raises(UsageError, match="not symmetric"):
        affinity(sp.Matrix([[0, 1], [0, 0]]))
    with pytest.raises(UsageError, match="'rw' or 'sym'"):
        affinity(PATH, "both")


def test_the_bars_of_the_response_plot_show_all_energy():
    a = np.array(PATH.tolist(), dtype=float)
    energy = energies(a, np.eye(3))
    figure = plot_response(energy)
    bars = [sum(bar.get_height() for bar in bars) for bars in figure.axes[1].containers]
    assert bars == pytest.approx([1, energy["low"].sum() / 3, energy["high"].sum() / 3])
    plt.close(figure)
