"""Compare GCNII, GCNII* and their ACM forms with the formulas and with PyG's layer."""

import math

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCN2Conv
from torch_geometric.utils import to_undirected

from acm.errors import UsageError
from acm.filters import low_pass
from acm.nn import GCNII
from acm.registry import build
from tests.nn.dense import filters, mixed, parameters, relu

NAMES = ["GCNII", "GCNII*", "ACM-GCNII", "ACM-GCNII*"]


@pytest.fixture
def graph():
    """Return features and edges of a graph with loops and an isolated node."""
    torch.manual_seed(0)
    edge_index = to_undirected(torch.tensor([[0, 1, 2, 3, 4, 2, 0], [1, 2, 3, 4, 5, 2, 0]]))
    return torch.rand(7, 5, dtype=torch.float64), edge_index


def exact(edge_index):
    """Return the low-pass filter in double precision."""
    return low_pass(edge_index, 7, torch.ones(edge_index.shape[1], dtype=torch.float64))


def evaluate(model, x, edge_index, lambda_, alpha, star):
    p, every = parameters(model), filters(edge_index, len(x))
    h = first = relu(x.numpy() @ p["map_in.weight"] + p["map_in.bias"])
    for depth in range(1, len(model.convs) + 1):
        w = p[f"convs.{depth - 1}.weight"]
        beta = math.log(lambda_ / depth + 1)
        eye, k = np.eye(len(w[0])), len(model.channels)
        parts = []
        for c, name in enumerate(model.channels):
            smooth = every[name] @ h
            both = (1 - alpha) * smooth + alpha * first
            if star:
                parts.append(relu((1 - beta) * both + beta * (smooth @ w[c] + first @ w[k + c])))
            else:
                parts.append(relu(both @ ((1 - beta) * eye + beta * w[c])))
        if model.mix:
            names = (f"convs.{depth - 1}.weight_tilde", f"convs.{depth - 1}.weight_mix")
            h = k * mixed(parts, *(p[n] for n in names))
        else:
            h = sum(parts)
    return h @ p["map_out.weight"] + p["map_out.bias"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layers, lambda_, alpha", [(1, 0.5, 0.1), (3, 1.5, 0.4)])
def test_output_equals_the_formula(graph, name, layers, lambda_, alpha):
    x, edge_index = graph
    options = dict(layers=layers, lambda_=lambda_, alpha=alpha)
    model = build(name, 5, 3, hidden=6, **options).double().eval()
    expected = evaluate(model, x, edge_index, lambda_, alpha, name.endswith("*"))
    low = exact(edge_index)
    for features in (x, x.to_sparse_csr()):
        out = model(features, low).detach().numpy()
        np.testing.assert_allclose(out, expected, atol=1e-10)
        out = model(features, edge_index).detach().numpy()  # the filter is in single precision
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-7)
    single = model.float()(x.float(), edge_index).detach().numpy()
    np.testing.assert_allclose(single, expected, atol=1e-4)


@pytest.mark.parametrize("mix", [True, False])
@pytest.mark.parametrize("channels", [("low", "high"), ("identity",), ("low", "high", "identity")])
def test_channels_can_be_left_out(graph, channels, mix):
    x, edge_index = graph
    options = dict(channels=channels, mix=mix, layers=2, lambda_=0.7, alpha=0.3)
    model = build("ACM-GCNII*", 5, 3, hidden=6, **options).double().eval()
    out = model(x, exact(edge_index)).detach().numpy()
    np.testing.assert_allclose(out, evaluate(model, x, edge_index, 0.7, 0.3, True), atol=1e-10)


@pytest.mark.parametrize("star", [False, True])
def test_the_layer_is_pygs(graph, star):
    x, edge_index = graph
    low = low_pass(edge_index, 7).to(x)
    edges = torch.stack([low.col, low.row])
    model = GCNII(5, 3, 6, layers=3, lambda_=0.8, alpha=0.2, star=star).double()
    h, first = torch.rand(2, 7, 6, dtype=torch.float64)
    for depth, conv in enumerate(model.convs, start=1):
        reference = GCN2Conv(6, 0.2, 0.8, depth, shared_weights=not star, normalize=False).double()
        reference.weight1.data = conv.weight[0].detach()
        if star:
            reference.weight2.data = conv.weight[1].detach()
        theirs = torch.relu(reference(h, first, edges, low.value))
        if star:  # PyG uses the printed (1 − α) W and α W'; our code uses W and W'
            assert not torch.allclose(conv(h, first, low)[0], theirs, rtol=0.01)
            conv.weight.data *= torch.tensor([0.8, 0.2]).view(2, 1, 1)
        torch.testing.assert_close(conv(h, first, low)[0], theirs)


def test_acm_gcnii_without_its_channels_is_gcnii(graph):
    x, edge_index = graph
    for plain in ("GCNII", "GCNII*"):
        gcnii = build(plain, 5, 3, hidden=6, layers=3).double().eval()
        acm = build(f"ACM-{plain}", 5, 3, 6, channels=("low",), mix=False, layers=3).double().eval()
        acm.load_state_dict(gcnii.state_dict())
        torch.testing.assert_close(acm(x, edge_index), gcnii(x, edge_index))


@pytest.mark.parametrize("name", ["GCNII", "GCNII*"])
def test_the_limits(graph, name):
    x, edge_index = graph
    a = low_pass(edge_index, 7).to(x)

    def first(model):
        return torch.relu(x @ model.map_in.weight + model.map_in.bias)

    def last(model, h):
        return h @ model.map_out.weight + model.map_out.bias

    # With λ = 0 the layers ignore their weights and compute a personalized PageRank.
    model = build(name, 5, 3, 6, layers=3, lambda_=0.0, alpha=0.3).double().eval()
    h = first(model)
    for _ in range(3):
        h = 0.7 * (a @ h) + 0.3 * first(model)
    torch.testing.assert_close(model(x, edge_index), last(model, h))
    # With α = 0, only GCNII* uses the initial features, by the second weight matrix.
    model = build(name, 5, 3, 6, layers=3, lambda_=1.0, alpha=0.0).double().eval()
    h = first(model)
    for depth, conv in enumerate(model.convs, start=1):
        beta = math.log(1 / depth + 1)
        weighted = a @ h @ conv.weight[0]
        if name == "GCNII*":
            weighted = weighted + first(model) @ conv.weight[1]
        h = torch.relu((1 - beta) * (a @ h) + beta * weighted)
    torch.testing.assert_close(model(x, edge_index), last(model, h))
    # With α = 1, only GCNII* uses the graph, by the first weight matrix.
    model = build(name, 5, 3, 6, layers=3, alpha=1.0).double().eval()
    if name == "GCNII*":
        for conv in model.convs:
            conv.weight.data[0] = 0
    torch.testing.assert_close(model(x, edge_index), model(x, edge_index[:, :2]))


@pytest.mark.parametrize("name", NAMES)
def test_number_of_parameters(name):
    model = build(name, 50, 3, hidden=6, layers=4)
    k = 3 if name.startswith("ACM") else 1
    layer = k * 36 * (2 if name.endswith("*") else 1) + (3 * 6 + 9 if k == 3 else 0)
    assert sum(p.numel() for p in model.parameters()) == 50 * 6 + 6 + 4 * layer + 6 * 3 + 3


def test_initial_weights_fill_their_ranges():
    torch.manual_seed(0)
    model = build("ACM-GCNII", 300, 700, layers=1)
    for weight, bound in (
        (model.map_in.weight, 300**-0.5), (model.map_in.bias, 300**-0.5),
        (model.map_out.weight, 1 / 8), (model.map_out.bias, 1 / 8), (model.convs[0].weight, 1 / 8),
        (model.convs[0].weight_tilde, 1), (model.convs[0].weight_mix, 3**-0.5),
    ):  # fmt: skip
        assert 0.75 * bound < weight.detach().abs().max() <= bound


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(layers=0), "layers=0"),
        (dict(layers=1.5), "layers=1.5"),
        (dict(alpha=1.2), "alpha is 1.2"),
        (dict(lambda_=-0.1), "lambda is -0.1"),
        (dict(lambda_=2), "lambda is 2"),
        (dict(lambda_="a"), "lambda is 'a': a finite number"),
        (dict(channels=("low", "mid")), "low, high, identity"),
    ],
)
def test_bad_arguments_are_said_in_one_line(arguments, words):
    with pytest.raises(UsageError, match=words) as error:
        build("ACM-GCNII", 5, 3, **arguments)
    assert "\n" not in str(error.value)
