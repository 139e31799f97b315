"""Compare every model with its formula, which uses dense matrices."""

import statistics

import pytest
import torch
from torch_geometric.nn import SGConv
from torch_geometric.utils import to_undirected

from acm import paper
from acm.errors import UsageError
from acm.filters import low_pass
from acm.nn import Dropout, Network
from acm.registry import MODELS, build, model_name

NETWORKS = [name for name, entry in MODELS.items() if entry.make is Network]


@pytest.fixture
def graph():
    torch.manual_seed(0)
    edge_index = to_undirected(torch.tensor([[0, 1, 2, 3, 4, 2, 0], [1, 2, 3, 4, 5, 2, 0]]))
    return torch.rand(7, 5), edge_index, low_pass(edge_index, 7).to_dense()


def weights(model):
    """Return `W` of the first channel of every layer."""
    return [conv.weight[:, 0] for conv in model.convs]


def test_the_baselines_equal_their_formulas(graph):
    x, edge_index, a = graph
    relu = torch.relu
    formulas = {
        "MLP-1": lambda w: x @ w[0],
        "SGC-1": lambda w: a @ x @ w[0],
        "SGC-2": lambda w: a @ a @ x @ w[0],
        "GCN": lambda w: a @ relu(a @ x @ w[0]) @ w[1],
    }
    for name, formula in formulas.items():
        model = build(name, 5, 3, hidden=8).eval()
        torch.testing.assert_close(model(x, edge_index), formula(weights(model)), msg=name)
        assert sum(p.numel() for p in model.parameters()) == sum(w.numel() for w in weights(model))


def test_the_acm_forms_equal_their_formulas(graph):
    x, edge_index, a = graph
    eye, relu = torch.eye(7), torch.relu

    def mix(conv, h):
        w_tilde = dict(zip(conv.channels, conv.weight_tilde))
        logits = torch.stack([h[c] @ w_tilde[c] for c in h], 1).sigmoid()
        alpha = torch.softmax(logits @ conv.weight_mix / 3, 1)
        # The release multiplies the output by the number of channels.
        return 3 * sum(alpha[:, k, None] * h[c] for k, c in enumerate(h))

    def filters(hops):
        low = torch.linalg.matrix_power(a, hops)
        return {"low": low, "high": eye - low, "identity": eye}

    for name, hops in (("ACM-SGC-1", 1), ("ACM-SGC-2", 2)):
        model = build(name, 5, 3).eval()
        conv = model.convs[0]
        w = dict(zip(conv.channels, conv.weight.unbind(1)))
        h = {c: f @ x @ w[c] for c, f in filters(hops).items()}
        torch.testing.assert_close(model(x, edge_index), mix(conv, h), msg=name)
    for name in ("ACM-GCN", "ACMII-GCN"):
        model = build(name, 5, 3, hidden=8).eval()
        h = x
        for conv in model.convs:
            w = dict(zip(conv.channels, conv.weight.unbind(1)))
            channels = {
                c: relu(f @ h @ w[c]) if name == "ACM-GCN" else f @ relu(h @ w[c])
                for c, f in filters(1).items()
            }
            h = mix(conv, channels)
            if conv is not model.convs[-1]:
                h = relu(h)
        torch.testing.assert_close(model(x, edge_index), h, msg=name)


def test_sgc_is_pygs_sgc_with_the_symmetric_filter(graph):
    x, edge_index, _ = graph
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    model = build("SGC-2", 5, 3)
    model.convs[0].norm = "sym"
    reference = SGConv(5, 3, K=2, bias=False)
    reference.lin.weight.data = weights(model)[0].detach().t()
    torch.testing.assert_close(model(x, edge_index), reference(x, edge_index))


def test_acm_gcn_without_its_channels_is_gcn(graph):
    x, edge_index, _ = graph
    gcn = build("GCN", 5, 3, hidden=8).eval()
    acm = build("ACM-GCN", 5, 3, hidden=8, channels=("low",), mix=False).eval()
    acm.load_state_dict(gcn.state_dict())
    for conv in acm.convs:
        conv.act = None  # GCN has no ReLU within a layer
    torch.testing.assert_close(acm(x, edge_index), gcn(x, edge_index))


def test_a_snowball_grows_by_its_hidden_layers():
    for name, layers in (("Snowball-2", 2), ("Snowball-3", 3)):
        widths = [tuple(conv.weight.shape) for conv in build(name, 5, 3, hidden=8).convs]
        ends = [8] * (layers - 1) + [3]
        assert widths == [(5 + 8 * k, end) for k, end in enumerate(ends)]


@pytest.mark.parametrize("name", [n for n in NETWORKS if n.startswith("ACM") and "Snow" in n])
def test_the_acm_snowballs_are_their_layers_on_what_stands_side_by_side(name, graph):
    x, edge_index, _ = graph
    model = build(name, 5, 3, hidden=8).eval()
    joined = x
    for conv in model.convs[:-1]:
        joined = torch.cat([joined, torch.relu(conv(joined, edge_index))], 1)
    expected = model.convs[-1](joined, edge_index)
    torch.testing.assert_close(model(x, edge_index), expected)
    torch.testing.assert_close(model(x.to_sparse_csr(), edge_index), expected)
    # A layer with F inputs and F' outputs has 3 F' (F + 1) + 9 parameters.
    ends = [8] * (int(name[-1]) - 1) + [3]
    sizes = [3 * end * (5 + 8 * k + 1) + 9 for k, end in enumerate(ends)]
    assert sum(p.numel() for p in model.parameters()) == sum(sizes)
    assert {conv.variant for conv in model.convs} == {name.split("-")[0].lower()}


def test_a_snowball_without_its_new_rows_is_a_gcn(graph):
    x, edge_index, _ = graph
    model = build("Snowball-2", 5, 3, hidden=8).eval()
    gcn = build("GCN", 5, 3, hidden=8).eval()
    with torch.no_grad():
        for conv, plain in zip(model.convs, gcn.convs):
            conv.bias.zero_()
            conv.weight.zero_()
            conv.weight[-plain.in_channels :] = plain.weight[:, 0]
    torch.testing.assert_close(model(x, edge_index), gcn(x, edge_index))


@pytest.mark.parametrize("form", ["", "ACM-", "ACMII-"])
def test_a_snowball_has_the_layers_that_the_printed_times_ask_for(form):
    # We divide the paper's time per epoch by the time of a GCN with two layers, on nine graphs.
    rows = paper.table("hyperparameters_baselines") + paper.table("hyperparameters_acm")
    printed = {(row.model, row.dataset): row.epoch_ms for row in rows if row.epoch_ms}
    for number in (2, 3):
        ratios = [
            ms / printed[f"{form}GCN", graph]
            for (model, graph), ms in printed.items()
            if model == f"{form}Snowball-{number}"
        ]
        assert len(ratios) == 9
        layers_by_time = round(2 * statistics.median(ratios))
        assert len(build(f"{form}Snowball-{number}", 5, 3).convs) == layers_by_time == number


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_has_logits_for_every_node_and_a_gradient_everywhere(name, graph):
    x, edge_index, _ = graph
    model = build(name, 5, 3, dropout=0.3).train()
    logits, alpha = model(x.to_sparse_csr(), edge_index, return_channel_weights=True)
    assert logits.shape == (7, 3)
    assert [a.shape for a in alpha] == [(7, len(conv.channels)) for conv in model.convs]
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_where_dropout_acts(graph):
    # SGC-1 and MLP-1 have one layer and no dropout on the input, so they are deterministic.
    x, edge_index, _ = graph
    for name, random in (("SGC-1", False), ("MLP-1", False), ("ACM-SGC-1", True), ("GCN", True)):
        model = build(name, 5, 3, dropout=0.5).train()
        torch.manual_seed(1)
        first, second = model(x, edge_index), model(x, edge_index)
        assert torch.equal(first, second) is not random, name
        model.eval()
        assert torch.equal(model(x, edge_index), model(x, edge_index))


def test_dropout_too_says_which_sparse_features_are_no_matrix():
    x = torch.ones(4, 3)
    for odd in (x.to_sparse(1), torch.stack([x, x]).to_sparse(), x.to_sparse_bsr((2, 3))):
        with pytest.raises(UsageError, match=r"node features have shape .* of shape \[N, 3\]"):
            Dropout(0.5).train()(odd)


def test_dropout_on_sparse_features_keeps_their_mean():
    x = torch.ones(2000, 5).to_sparse_csr()
    dropped = Dropout(0.4).train()(x).to_dense()
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert dropped.mean().item() == pytest.approx(1, abs=0.05)


def test_names_in_any_case_and_near_misses():
    assert model_name("acmii-gcn") == "ACMII-GCN"
    with pytest.raises(UsageError, match="did you mean ACM-GCN") as error:
        model_name("ACM-GNC")
    assert all(name in str(error.value) for name in MODELS)
    with pytest.raises(UsageError, match="dropout is 1"):
        build("GCN", 5, 3, dropout=1.0)
