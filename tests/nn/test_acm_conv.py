"""Compare the layer with a dense NumPy evaluation of the three steps of section 4.3."""

from itertools import combinations

import numpy as np
import pytest
import torch

from acm.errors import UsageError
from acm.filters import SparseMatrix, low_pass
from acm.nn import CHANNELS, ACMConv

COMBINATIONS = [c for k in (1, 2, 3) for c in combinations(CHANNELS, k)]


@pytest.fixture
def graph():
    """Return features, edges and edge weights of a directed graph, in float64.

    The graph has loops and an isolated node.
    """
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 2, 3, 3, 4, 5, 5, 0], [1, 0, 3, 3, 2, 5, 4, 0, 5]])
    weight = torch.rand(9, generator=generator, dtype=torch.float64) + 0.5
    x = torch.randn(7, 4, generator=generator, dtype=torch.float64)
    return x, edge_index, weight


def relu(a):
    return np.maximum(a, 0)


def evaluate(conv, x, edge_index, weight):
    """Compute steps 1 to 3 with dense matrices, from the paper's formulas."""
    n = len(x)
    a = np.eye(n)
    for (source, target), w in zip(edge_index.t().tolist(), weight.tolist()):
        a[target, source] += w
    low = np.linalg.matrix_power(a / a.sum(1, keepdims=True), conv.hops)
    filters = {"low": low, "high": np.eye(n) - low, "identity": np.eye(n)}
    parameter = {name: p.detach().numpy() for name, p in conv.named_parameters()}
    h = {}
    for k, c in enumerate(conv.channels):
        w = parameter["weight"][:, k]
        act = relu if conv.act is not None else np.asarray
        h[c] = act(filters[c] @ (x @ w)) if conv.variant == "acm" else filters[c] @ act(x @ w)
    if not conv.mix:
        return conv.scale * sum(h.values()), np.ones((n, len(h)))
    w_tilde = dict(zip(conv.channels, parameter["weight_tilde"]))
    alpha_tilde = np.stack([1 / (1 + np.exp(-h[c] @ w_tilde[c])) for c in conv.channels], axis=1)
    logits = np.exp(alpha_tilde @ parameter["weight_mix"] / conv.temperature)
    alpha = logits / logits.sum(1, keepdims=True)
    return conv.scale * sum(np.diag(alpha[:, k]) @ h[c] for k, c in enumerate(h)), alpha


@pytest.mark.parametrize("channels", COMBINATIONS, ids="+".join)
@pytest.mark.parametrize("mix", [True, False], ids=["mix", "add"])
@pytest.mark.parametrize("variant", ["acm", "acmii"])
@pytest.mark.parametrize(
    "act, hops, scale, temperature",
    [(torch.relu, 1, 1.0, 3.0), (torch.relu, 2, 3.0, 0.5), (None, 1, 1.0, 3.0)],
)
def test_output_equals_the_three_steps(
    graph, channels, mix, variant, act, hops, scale, temperature
):
    x, edge_index, weight = graph
    torch.manual_seed(1)
    conv = ACMConv(4, 3, variant, channels, mix, temperature, scale, act, hops).double()
    out, alpha = conv(x, edge_index, weight, return_channel_weights=True)
    expected, expected_alpha = evaluate(conv, x.numpy(), edge_index, weight)
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-10)
    alone = conv(x, edge_index, weight)  # uses one pass, since no channel weights are requested
    np.testing.assert_allclose(alone.detach().numpy(), expected, atol=1e-10)
    np.testing.assert_allclose(alpha.detach().numpy(), expected_alpha, atol=1e-10)
    single = conv.float()(x.float(), edge_index, weight.float())
    np.testing.assert_allclose(single.detach().numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("channels", COMBINATIONS, ids="+".join)
@pytest.mark.parametrize("variant", ["acm", "acmii"])
def test_gradcheck(graph, channels, variant):
    x, edge_index, weight = graph
    torch.manual_seed(2)
    conv = ACMConv(4, 3, variant, channels).double()
    names = [name for name, _ in conv.named_parameters()]

    def call(x, weight, *parameters):
        return torch.func.functional_call(
            conv, dict(zip(names, parameters)), (x, edge_index, weight)
        )

    inputs = [x, weight, *(p.detach() for p in conv.parameters())]
    assert torch.autograd.gradcheck(call, [v.clone().requires_grad_() for v in inputs])


@pytest.mark.parametrize("mix", [True, False])
@pytest.mark.parametrize("variant", ["acm", "acmii"])
def test_the_hessian_is_that_of_the_three_steps_in_plain_pytorch(loops, graph, variant, mix):
    x, edge_index, _ = graph
    torch.manual_seed(3)
    conv = ACMConv(4, 3, variant, mix=mix)
    low = low_pass(edge_index, 7).to_dense().double()
    filters = torch.stack([low, torch.eye(7) - low, torch.eye(7, dtype=torch.float64)])
    mixing = {name: p.detach().double() for name, p in conv.named_parameters() if name != "weight"}

    def ours(w):
        return torch.func.functional_call(conv, {"weight": w}, (x.float(), edge_index))

    def plain(w):
        h = torch.einsum("nf,fko->kno", x, w)
        h = torch.relu(filters @ h) if variant == "acm" else filters @ torch.relu(h)
        if not mix:
            return h.sum(0)
        sigma = torch.einsum("kno,ko->nk", h, mixing["weight_tilde"]).sigmoid()
        alpha = torch.softmax(sigma @ mixing["weight_mix"] / conv.temperature, 1)
        return torch.einsum("nk,kno->no", alpha, h)

    for power in (2, 3):
        hessians = [
            torch.autograd.functional.hessian(lambda w: f(w).pow(power).sum(), w)  # noqa: B023
            for f, w in ((ours, conv.weight.detach()), (plain, conv.weight.detach().double()))
        ]
        assert hessians[1].abs().max() > 0.1
        torch.testing.assert_close(hessians[0].double(), hessians[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("variant", ["acm", "acmii"])
def test_edge_index_and_sparse_input_agree(graph, variant):
    x, edge_index, weight = graph
    conv = ACMConv(4, 3, variant).double()
    expected = conv(x, edge_index, weight)
    adj_t = torch.sparse_coo_tensor(
        edge_index.flip(0), weight, (7, 7), check_invariants=True
    ).coalesce()
    for same in (
        adj_t,
        adj_t.to_sparse_csr(),
        adj_t.to_sparse_csc(),
        low_pass(edge_index, 7, weight),
    ):
        torch.testing.assert_close(conv(x, same), expected)
    for features in (x.to_sparse(), x.to_sparse_csr(), SparseMatrix.from_torch(x)):
        torch.testing.assert_close(conv(features, edge_index, weight), expected)


def test_gradients_agree_between_dense_and_sparse_features(graph):
    x, edge_index, weight = graph
    conv = ACMConv(4, 3).double()
    dense = torch.autograd.grad(conv(x, edge_index, weight).square().sum(), conv.parameters())
    sparse = torch.autograd.grad(
        conv(x.to_sparse_csr(), edge_index, weight).square().sum(), conv.parameters()
    )
    for a, b in zip(dense, sparse):
        torch.testing.assert_close(a, b)


def test_nodes_permuted_give_outputs_permuted(graph):
    x, edge_index, weight = graph
    conv = ACMConv(4, 3).double()
    order = torch.randperm(7)
    position = torch.argsort(order)
    torch.testing.assert_close(
        conv(x[order], position[edge_index], weight), conv(x, edge_index, weight)[order]
    )


def test_number_of_parameters_is_that_of_step_2_not_of_the_text():
    # The shapes give 3 F_l (F_{l-1} + 1) + 9; the paper's text prints 3 F_{l-1} (F_l + 1) + 9.
    conv = ACMConv(5, 7)
    assert sum(p.numel() for p in conv.parameters()) == 3 * 7 * (5 + 1) + 9 != 3 * 5 * (7 + 1) + 9


def test_initial_weights_fill_the_released_ranges():
    torch.manual_seed(0)
    conv = ACMConv(300, 64)
    for parameters, bound in (
        (conv.weight.unbind(1), 64**-0.5),
        (conv.weight_tilde.unbind(0), 1.0),
        ([conv.weight_mix], 3**-0.5),
    ):
        drawn = torch.cat([p.detach().flatten() for p in parameters])
        assert drawn.abs().max() <= bound
        assert drawn.abs().max() > 0.75 * bound and drawn.min() < 0 < drawn.max()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(variant="acm3"), "'acm' and 'acmii'"),
        (dict(channels=("low", "mid")), "low, high, identity"),
        (dict(channels=()), "low, high, identity"),
        (dict(channels=("low", "low")), "different"),
        (dict(norm="left"), "'rw' and 'sym'"),
        (dict(hops=0), "hops=0: a whole number from 1 up"),
        (dict(hops=1.5), "hops=1.5: a whole number"),
        (dict(in_channels=4.0), "in_channels=4.0: a whole number"),
        (dict(in_channels=True), "in_channels=True: a whole number"),
        (dict(out_channels="3"), "out_channels='3': a whole number"),
        (dict(temperature=0.0), "temperature is 0.0"),
        (dict(temperature="a"), "temperature is 'a': a finite number"),
        (dict(temperature=float("inf")), "temperature is inf: a finite number"),
        (dict(scale=float("nan")), "scale is nan: a finite number"),
        (dict(channels="low"), "channels 'low': one or more"),
        (dict(channels=[["low"]]), "one or more different ones"),
    ],
)
def test_bad_arguments_are_said_in_one_line(arguments, words):
    with pytest.raises(UsageError, match=words):
        ACMConv(**(dict(in_channels=4, out_channels=3) | arguments))


def test_bad_inputs_are_said_in_one_line(graph):
    x, edge_index, weight = graph
    conv = ACMConv(4, 3).double()
    for features in (x[:, :3], (), (x[:, :2], x[:1, 2:]), (x[:, :2], x[:1, 2:].to_sparse())):
        with pytest.raises(UsageError, match=r"node features have shape .*\[N, 4\] is needed"):
            conv(features, edge_index)
    with pytest.raises(UsageError, match="7 x 7 is needed"):
        conv(x, low_pass(edge_index, 8, weight))
    with pytest.raises(UsageError, match="leave edge_weight out"):
        conv(x, low_pass(edge_index, 7, weight), weight)
    with pytest.raises(UsageError, match="0 … 4"):
        conv(x[:5], edge_index, weight)
    for edges in (edge_index.tolist(), edge_index.numpy(), None):
        with pytest.raises(UsageError, match=f"edge_index is a {type(edges).__name__}: a tensor"):
            conv(x, edges)
    with pytest.raises(UsageError, match="type torch.bool: integers of shape"):
        conv(x, edge_index.bool())
    with pytest.raises(UsageError, match="type torch.complex64: real numbers"):
        conv(x, edge_index, weight.to(torch.complex64))
    assert torch.equal(conv(x, edge_index.to(torch.uint16), weight), conv(x, edge_index, weight))
    for infinite in (torch.inf, torch.nan):
        with pytest.raises(UsageError, match="negative, infinite or NaN: .* finite numbers from 0"):
            conv(x, edge_index, weight * infinite)
    with pytest.raises(UsageError, match="edge_weight is a list: a tensor"):
        conv(x, edge_index, weight.tolist())
    for features in (x.tolist(), x.numpy()):
        with pytest.raises(UsageError, match=f"features are a {type(features).__name__}: a tensor"):
            conv(features, edge_index)


@pytest.mark.parametrize("norm", ["rw", "sym"])
def test_a_layer_in_float64_filters_in_float64_whatever_form_its_edges_have(graph, norm):
    x, edge_index, _ = graph
    conv = ACMConv(4, 3, norm=norm).double()
    ones = torch.ones(edge_index.shape[1], dtype=torch.float64)
    out = conv(x, edge_index)
    torch.testing.assert_close(out, conv(x, edge_index, ones), rtol=0, atol=0)
    if norm == "rw":
        theirs, _ = evaluate(conv, x.numpy(), edge_index, ones)
        np.testing.assert_allclose(out.detach(), theirs, atol=1e-14)
