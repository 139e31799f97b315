"""Compare ACM-GCN+ and ACM-GCN++ with their formulas."""

import numpy as np
import pytest
import torch
from torch_geometric.utils import to_undirected

from acm.errors import UsageError
from acm.filters import adjacency, low_pass
from acm.registry import build
from tests.nn.dense import adjacency as dense_adjacency
from tests.nn.dense import filters, mixed, parameters, relu


@pytest.fixture
def graph():
    torch.manual_seed(0)
    edge_index = to_undirected(torch.tensor([[0, 1, 2, 3, 4, 2, 0], [1, 2, 3, 4, 5, 2, 0]]))
    return torch.rand(7, 5, dtype=torch.float64), edge_index


def layer(p, name, x, edge_index):
    every = filters(edge_index, len(x))
    h = [relu(every[c] @ x @ p[f"{name}.weight"][:, k]) for k, c in enumerate(every)]
    h.append(relu(dense_adjacency(edge_index, len(x)) @ p[f"{name}.weight_structure"]))
    normed = [
        (part - part.mean(1, keepdims=True)) / np.sqrt(part.var(1, keepdims=True) + 1e-5)
        for part in h
    ]
    tilde, mix = p[f"{name}.weight_tilde"], p[f"{name}.weight_mix"]
    return mixed(h, tilde, mix, normed, temperature=4)


@pytest.mark.parametrize("name", ["ACM-GCN+", "ACM-GCN++"])
def test_output_equals_the_formula(graph, name):
    x, edge_index = graph
    model = build(name, 5, 3, hidden=6, num_nodes=7).double().eval()
    p = parameters(model)
    h = relu(layer(p, "first", x.numpy(), edge_index))
    if name.endswith("++"):
        h = h + relu(x.numpy() @ p["residual"])
    expected = layer(p, "second", h, edge_index)
    one = torch.ones(edge_index.shape[1], dtype=torch.float64)
    exact = low_pass(edge_index, 7, one), adjacency(edge_index, 7, one)
    for features in (x, x.to_sparse_csr()):
        out, alpha = model(features, exact, return_channel_weights=True)
        np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-10)
        assert [a.shape for a in alpha] == [(7, 4)] * 2
        np.testing.assert_allclose(
            model(features, edge_index).detach().numpy(), expected, rtol=1e-5, atol=1e-6
        )


def test_number_of_parameters_and_nodes(graph):
    layers = 3 * 5 * 6 + 7 * 6 + 4 * 6 + 16, 3 * 6 * 3 + 7 * 3 + 4 * 3 + 16
    for name, residual_size in (("ACM-GCN+", 0), ("ACM-GCN++", 5 * 6)):
        model = build(name, 5, 3, hidden=6, num_nodes=7)
        assert sum(p.numel() for p in model.parameters()) == sum(layers) + residual_size
    with pytest.raises(UsageError, match="num_nodes is needed"):
        build("ACM-GCN+", 5, 3)
