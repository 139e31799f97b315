"""Filters against dense matrices by the formulas of Section 2.1."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import to_undirected

from acm.errors import UsageError
from acm.filters import SparseMatrix, adjacency, high_pass, low_pass


@st.composite
def graphs(draw, max_nodes=7):
    """Directed graphs with loops, repeated edges and isolated nodes."""
    n = draw(st.integers(1, max_nodes))
    nodes = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(nodes, nodes), max_size=20))
    weights = draw(st.lists(st.floats(0.1, 5), min_size=len(edges), max_size=len(edges)))
    edge_index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()
    return n, edge_index, torch.tensor(weights, dtype=torch.float64)


def dense_low_pass(n, edge_index, weight, norm, renormalize):
    a = np.zeros((n, n))
    for (source, target), w in zip(edge_index.t().tolist(), weight.tolist()):
        a[target, source] += w
    if renormalize:
        a += np.eye(n)
    degree = a.sum(1)
    power = np.array([0.0 if d == 0 else d ** (-1 if norm == "rw" else -0.5) for d in degree])
    return power[:, None] * a if norm == "rw" else power[:, None] * a * power


@given(graphs(), st.sampled_from(["rw", "sym"]), st.booleans())
@settings(deadline=None, max_examples=60)
def test_filters_equal_their_dense_definitions(graph, norm, renormalize):
    n, edge_index, weight = graph
    expected = dense_low_pass(n, edge_index, weight, norm, renormalize)
    low = low_pass(edge_index, n, weight, norm, renormalize)
    high = high_pass(edge_index, n, weight, norm, renormalize)
    np.testing.assert_allclose(low.to_dense().numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(high.to_dense().numpy(), np.eye(n) - expected, atol=1e-12)
    if norm == "rw" and renormalize:
        np.testing.assert_allclose(low.to_dense().sum(1).numpy(), 1, atol=1e-12)


@given(graphs())
@settings(deadline=None, max_examples=30)
def test_perfect_reconstruction(graph):
    n, edge_index, weight = graph
    x = torch.randn(n, 3, dtype=torch.float64)
    low, high = low_pass(edge_index, n, weight), high_pass(edge_index, n, weight)
    torch.testing.assert_close(low @ x + high @ x, x)


def test_symmetric_filter_is_that_of_pyg_on_a_graph_without_loops():
    edge_index = to_undirected(torch.tensor([[0, 0, 1, 3], [1, 2, 2, 4]]))
    index, weight = gcn_norm(edge_index, num_nodes=6, add_self_loops=True)
    expected = torch.zeros(6, 6).index_put((index[1], index[0]), weight)
    torch.testing.assert_close(low_pass(edge_index, 6, norm="sym").to_dense(), expected)


def test_a_raw_self_loop_counts_twice_on_the_diagonal():
    # A + I has 2 on the diagonal where A has a self-loop, as in the authors' code.
    low = low_pass(torch.tensor([[0, 0, 1], [0, 1, 0]]), 2).to_dense()
    torch.testing.assert_close(low, torch.tensor([[2 / 3, 1 / 3], [1 / 2, 1 / 2]]))


def test_whole_numbers_are_weights_too():
    edge_index, weight = torch.tensor([[0, 1], [1, 0]]), torch.tensor([2, 3])
    same = low_pass(edge_index, 2, weight.float())
    torch.testing.assert_close(low_pass(edge_index, 2, weight).to_dense(), same.to_dense())


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo, torch.sparse_csc])
def test_a_sparse_adjacency_is_the_same_graph(layout):
    edge_index, weight = (
        torch.tensor([[0, 1, 2, 2], [1, 2, 0, 2]]),
        torch.tensor([1.0, 2.0, 3.0, 4.0]),
    )
    dense = adjacency(edge_index, 3, weight).to_dense()
    same = low_pass(dense.to_sparse(layout=layout)).to_dense()
    torch.testing.assert_close(same, low_pass(edge_index, 3, weight).to_dense())


@given(graphs())
@settings(deadline=None, max_examples=20)
def test_gradients_of_a_product_in_the_values_and_in_the_operand(graph):
    n, edge_index, weight = graph
    matrix = adjacency(edge_index, n, weight)
    x = torch.randn(n, 2, dtype=torch.float64, requires_grad=True)
    value = matrix.value.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda v, x: matrix.with_value(v) @ x, (value, x))
    assert torch.autograd.gradgradcheck(lambda v, x: matrix.with_value(v) @ x, (value, x))


def test_the_transpose_is_the_transpose():
    dense = torch.tensor([[0.0, 1, 2], [3, 0, 0]])
    matrix = SparseMatrix.from_torch(dense)
    torch.testing.assert_close(matrix.T.to_dense(), dense.t())
    torch.testing.assert_close(matrix.T.T.to_dense(), dense)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: low_pass(torch.tensor([[0], [1]]), norm="left"), "'rw' and 'sym'"),
        (lambda: low_pass(torch.tensor([[0], [5]]), 3), "0 … 2"),
        (lambda: low_pass(torch.tensor([[0], [-1]]), 3), "0 … 2"),
        (lambda: low_pass(torch.tensor([0, 1])), r"\[2, E\]"),
        (lambda: low_pass(torch.tensor([[0.0], [1.0]])), "integers"),
        (lambda: low_pass(torch.tensor([[0], [1]]), 2, torch.ones(3)), "each of the 1 edges"),
        (lambda: low_pass(torch.tensor([[0], [1]]), 2, torch.tensor([-3.0])), "negative"),
        (
            lambda: low_pass(torch.tensor([[0], [1]]), 2, torch.tensor([torch.nan])),
            "numbers from 0",
        ),
        (lambda: low_pass(torch.ones(2, 3).to_sparse()), "2 x 3"),
        (lambda: adjacency(torch.tensor([[0], [1]]), 3) @ torch.ones(2, 2), r"\[3, F\]"),
    ],
)
def test_bad_input_is_one_line_of_error(call, words):
    with pytest.raises(UsageError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float64])
def test_a_sparse_adjacency_has_weights_of_any_real_type(kind):
    dense = torch.tensor([[0, 1, 0], [1, 1, 0], [0, 0, 1]]).to(kind)
    matrix = adjacency(dense.to_sparse())
    expected = kind if kind == torch.float64 else torch.get_default_dtype()
    assert matrix.value.dtype == expected
    assert torch.equal(matrix.to_dense(), dense.to(expected))


def test_complex_weights_and_wrong_sizes():
    edges = torch.tensor([[0, 1], [1, 0]])
    for arguments in (
        dict(edge_index=torch.eye(2, dtype=torch.complex64).to_sparse()),
        dict(edge_index=edges, edge_weight=torch.ones(2, dtype=torch.complex64)),
    ):
        with pytest.raises(UsageError, match="edge weights are of type torch.complex64: real"):
            adjacency(**arguments)
    for size in (2.5, -1, "2", True):
        with pytest.raises(UsageError, match="num_nodes=.*: a whole number from 0 up"):
            adjacency(edges, size)
    for size in (2.0, True, "2"):
        with pytest.raises(UsageError, match="num_nodes=.*: a whole number from 0 up"):
            adjacency(torch.eye(2).to_sparse(), size)
