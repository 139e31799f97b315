"""Every baseline against its paper's formula, in NumPy and with dense matrices."""

import numpy as np
import pytest
import torch

from acm.baselines.geomgcn import ball, positions
from acm.baselines.plain import APPNP, GPRGNN
from tests.baselines.classes import CLASSES, PAPERS

N, F, C, HIDDEN = 14, 5, 3, 4


def relu(x):
    return np.maximum(x, 0)


def elu(x):
    return np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1)


def sym(a):
    degree = a.sum(1)
    scale = np.where(degree > 0, np.maximum(degree, 1e-300) ** -0.5, 0)
    return scale[:, None] * a * scale


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cat(parts):
    return np.concatenate(parts, -1)


@pytest.fixture(params=range(3))
def graph(request):
    """Adjacency with self-loops and nodes without edges, the edges, and features."""
    rng = np.random.default_rng(request.param)
    a = np.triu(rng.random((N, N)) < 0.25, 1).astype(float)
    a[:, 11] = a[11] = 0
    a[12:] = a[:, 12:] = 0
    a = a + a.T
    a[1, 1] = a[4, 4] = a[12, 12] = 1
    target, source = a.nonzero()
    edges = torch.from_numpy(np.stack([source, target]))
    return a, edges, rng.random((N, F)) - 0.3


def weights(model):
    """Weights and running statistics as arrays, drawn anew so that nothing is zero or one."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, dtype=torch.float64) / 2)
        for norm in getattr(model, "norms", ()):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)
    return {name: value.numpy().copy() for name, value in model.state_dict().items()}


def batch_norm(m, w, k, z):
    """Normalize by the statistics of `z` in training, and by the running ones otherwise."""
    mean, variance = w[f"norms.{k}.running_mean"], w[f"norms.{k}.running_var"]
    if m.training:
        mean, variance = z.mean(0), z.var(0)
    z = (z - mean) / np.sqrt(variance + 1e-5)
    return z * w[f"norms.{k}.weight"] + w[f"norms.{k}.bias"]


def attention(a, x, weight, vector):
    """A GAT layer's heads, one after the other, `[N, heads, F']`."""
    outs = []
    for w, v in zip(np.split(weight, len(vector), 1), vector):
        h = x @ w
        score = (h @ v[:, 0])[:, None] + (h @ v[:, 1])[None, :]
        score = np.where(score > 0, score, 0.2 * score)
        score[(a + np.eye(N)) == 0] = -np.inf
        outs.append(softmax(score) @ h)
    return np.stack(outs, 1)


def perceptron(w, x, at=""):
    hidden = relu(x @ w[at + "first.weight"] + w[at + "first.bias"])
    return hidden @ w[at + "second.weight"] + w[at + "second.bias"]


def mlp(m, w, a, x):
    return perceptron(w, x)


def gat(m, w, a, x):
    for k in range(3):
        h = attention(a, x, w[f"convs.{k}.weight"], w[f"convs.{k}.attention"])
        x = h.mean(1) if k == 2 else elu(h.reshape(N, -1))
    return x


def appnp(m, w, a, x):
    z = h = perceptron(w, x, "mlp.")
    for _ in range(4):
        z = 0.8 * sym(a + np.eye(N)) @ z + 0.2 * h
    return z


def gprgnn(m, w, a, x):
    p = sym(a + np.eye(N))
    h = perceptron(w, x, "mlp.")
    return sum(g * np.linalg.matrix_power(p, k) @ h for k, g in enumerate(w["gamma"]))


def h2gcn(m, w, a, x):
    one = a * (1 - np.eye(N))
    two = ((one @ one > 0) & (one == 0) & (np.eye(N) == 0)).astype(float)
    rounds = [relu(x @ w["embed.weight"] + w["embed.bias"])]
    for k in range(3):
        z = cat([sym(one) @ rounds[-1], sym(two) @ rounds[-1]])
        rounds.append(z if k == 2 else batch_norm(m, w, k, z))
    return cat(rounds) @ w["classify.weight"] + w["classify.bias"]


def mixhop(m, w, a, x):
    p = sym(a + np.eye(N))
    for k in range(3):
        parts = np.split(w[f"linears.{k}.weight"], 3, 1)
        x = [np.linalg.matrix_power(p, j) @ x @ part for j, part in enumerate(parts)]
        x = cat(x) if k == 2 else relu(batch_norm(m, w, k, cat(x)))
    return x @ w["output.weight"]


def gcnjk(m, w, a, x):
    layers = []
    for k in range(3):
        x = sym(a + np.eye(N)) @ x @ w[f"convs.{k}.weight"]
        x = x if k == 2 else relu(batch_norm(m, w, k, x))
        layers.append(x)
    return (cat(layers) if m.jk == "cat" else np.max(layers, 0)) @ w["output.weight"]


def gatjk(m, w, a, x):
    layers = []
    for k in range(3):
        h = attention(a, x, w[f"convs.{k}.weight"], w[f"convs.{k}.attention"]).reshape(N, -1)
        x = h if k == 2 else elu(batch_norm(m, w, k, h))
        layers.append(x)
    return (cat(layers) if m.jk == "cat" else np.max(layers, 0)) @ w["output.weight"]


def fagcn(m, w, a, x):
    p = sym(a * (1 - np.eye(N)))
    h = start = relu(x @ w["first.weight"] + w["first.bias"])
    for k in range(3):
        g = w[f"convs.{k}.gate"]
        gate = np.tanh((h @ g[:, 0])[:, None] + (h @ g[:, 1])[None, :])
        h = 0.4 * start + (gate * p) @ h
    return h @ w["last.weight"] + w["last.bias"]


def graphsage(m, w, a, x):
    mean = a / np.maximum(a.sum(1, keepdims=True), 1)
    for k in range(3):
        own, others = w[f"convs.{k}.weight"]
        x = cat([x, mean @ x]) @ np.concatenate([own, others])
        if k < 2:
            x = relu(x)
            x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return x


def graphsage_gcn(m, w, a, x):
    closed = a - np.diag(a.diagonal()) + np.eye(N)
    for k in range(2):
        x = (
            closed @ x / closed.sum(1, keepdims=True) @ w[f"convs.{k}.weight"]
            + w[f"convs.{k}.bias"]
        )
        x = x if k else relu(x)
    return x


def snowball(m, w, a, x):
    p = (a + np.eye(N)) / (a.sum(1, keepdims=True) + 1)
    for k in range(m.layers):
        h = p @ x @ w[f"convs.{k}.weight"] + w[f"convs.{k}.bias"]
        x = cat([x, relu(h) if m.act == "relu" else np.tanh(h)])
    return h


def geomgcn(m, w, a, x):
    target, source = a.nonzero()
    away = target != source
    z = positions(torch.from_numpy(np.stack([source, target])[:, away]), N)
    piece = np.argmax(np.linalg.matrix_power(a + np.eye(N), N) > 0, 1)  # its first node
    latent = np.eye(N)
    for u, v in ball(z, piece, away.sum() // 2):
        latent[u, v] = latent[v, u] = 1
    beyond = z[:, None] > z[None, :]
    quadrant = 2 * beyond[..., 0] + beyond[..., 1]
    parts = [sym(n) * (quadrant == r) for n in (a, latent) for r in range(4)]
    for k in range(2):
        divided = np.split(w[f"linears.{k}.weight"], 8, 1)
        x = [p @ x @ d for p, d in zip(parts, divided)]
        x = relu(cat(x)) if k == 0 else np.mean(x, 0)
    return x


CASES = {
    "MLP": (mlp, {}),
    "GAT": (gat, dict(layers=3, heads=2, out_heads=3)),
    "APPNP": (appnp, dict(K=4, alpha=0.2)),
    "GPRGNN": (gprgnn, dict(K=3, dprate=0.0)),
    "H2GCN": (h2gcn, dict(layers=3)),
    "MixHop": (mixhop, dict(layers=3)),
    "GCNJK-max": (gcnjk, dict(layers=3, jk="max")),
    "GCNJK-cat": (gcnjk, dict(layers=3, jk="cat")),
    "GATJK-max": (gatjk, dict(layers=3, heads=2, jk="max")),
    "GATJK-cat": (gatjk, dict(layers=3, heads=2, jk="cat")),
    "FAGCN": (fagcn, dict(layers=3, epsilon=0.4)),
    "GraphSAGE": (graphsage, dict(layers=3)),
    "GraphSAGE-gcn": (graphsage_gcn, dict(aggregator="gcn")),
    "Snowball-tanh": (snowball, dict(act="tanh")),
    "Snowball-relu": (snowball, dict(layers=3)),
    "GeomGCN": (geomgcn, {}),
}


def test_every_baseline_has_a_formula_here():
    assert {name.split("-")[0] for name in CASES} == PAPERS


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_logits_equal_the_formula(name, graph, training):
    a, edges, x = graph
    formula, own = CASES[name]
    torch.manual_seed(1)
    own = dict(own, hidden=HIDDEN, dropout=0.0 if training else 0.5)
    model = CLASSES[name.split("-")[0]](F, C, **own).double().train(training)
    expected = formula(model, weights(model), a, x)
    found = model(torch.from_numpy(x), edges).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)  # operators are float32
    assert np.abs(expected).max() > 1e-2


def test_gprgnn_starts_as_personalized_pagerank():
    model = GPRGNN(F, C, K=3, alpha=0.1)
    expected = [0.1, 0.1 * 0.9, 0.1 * 0.9**2, 0.9**3]
    np.testing.assert_allclose(model.gamma.detach().numpy(), expected, rtol=1e-6)
    assert sum(expected) == pytest.approx(1)
    with torch.no_grad():
        model.gamma.zero_()
    model.reset_parameters()
    np.testing.assert_allclose(model.gamma.detach().numpy(), expected, rtol=1e-6)


def test_with_pagerank_weights_gprgnn_is_appnp(graph):
    _, edges, x = graph
    gpr, appnp = (kind(F, C, K=5, alpha=0.2).double().eval() for kind in (GPRGNN, APPNP))
    gpr.reset_parameters()  # in float64
    appnp.load_state_dict({k: v for k, v in gpr.state_dict().items() if k != "gamma"})
    torch.testing.assert_close(gpr(torch.from_numpy(x), edges), appnp(torch.from_numpy(x), edges))
