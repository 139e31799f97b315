"""Use the layers and models with PyTorch's and PyG's tools, against plain eager calls."""

import copy
import pickle

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import Sequential

from acm.data import random_split
from acm.experiments import run_trials, trials_of
from acm.metrics import all_metrics
from acm.nn import ACMConv
from acm.registry import MODELS, build

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
EDGES = torch.cat([EDGES, EDGES.flip(0)], 1)
X = torch.randn(5, 4, generator=torch.manual_seed(0))


def model(name):
    torch.manual_seed(1)
    return build(name, 4, 3, num_nodes=5).eval()


@pytest.mark.parametrize("name", MODELS)
def test_autocast_changes_rounding_only(name):
    net = model(name)
    expected = net(X, EDGES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(X, EDGES)
    torch.testing.assert_close(out.float(), expected, rtol=0.1, atol=0.1)
    out.float().pow(2).sum().backward()
    gradients = [p.grad for p in net.parameters() if p.grad is not None]
    assert gradients and all(torch.isfinite(g).all() for g in gradients)


@pytest.mark.parametrize("name", MODELS)
def test_a_default_type_of_float64_gives_a_float64_model(name):
    torch.set_default_dtype(torch.float64)
    try:
        out = model(name)(X.double(), EDGES)
    finally:
        torch.set_default_dtype(torch.float32)
    assert out.dtype == torch.float64 and torch.isfinite(out).all()


@pytest.mark.parametrize("name", MODELS)
def test_a_copy_computes_the_same(name):
    net = model(name)
    expected = net(X, EDGES)
    fresh = build(name, 4, 3, num_nodes=5).eval()
    fresh.load_state_dict(net.state_dict())
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), fresh):
        assert torch.equal(other(X, EDGES), expected)


def test_sequential_of_pyg():
    torch.manual_seed(0)
    first, last = ACMConv(4, 8), ACMConv(8, 3)
    steps = [(first, "x, edges -> x"), torch.nn.ReLU(), (last, "x, edges -> x")]
    out = Sequential("x, edges", steps)(X, EDGES)
    assert torch.equal(out, last(first(X, EDGES).relu(), EDGES))


def test_a_batch_of_graphs_is_computed_graph_by_graph():
    conv = ACMConv(4, 3)
    graphs = [Data(x=X, edge_index=EDGES), Data(x=2 * X[:3], edge_index=EDGES[:, :2])]
    batch = Batch.from_data_list(graphs)
    expected = torch.cat([conv(g.x, g.edge_index) for g in graphs])
    torch.testing.assert_close(conv(batch.x, batch.edge_index), expected)


def test_compile_computes_the_same():
    conv = ACMConv(4, 3)
    x = X.clone().requires_grad_()
    compiled = torch.compile(conv, backend="aot_eager")
    torch.testing.assert_close(compiled(x, EDGES), conv(x, EDGES))
    gradients = [torch.autograd.grad(f(x, EDGES).sum(), x)[0] for f in (compiled, conv)]
    torch.testing.assert_close(*gradients)


def test_calls_leave_the_generator_and_threads_alone():
    conv = ACMConv(4, 3)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    conv(X, EDGES).sum().backward()
    all_metrics(X, EDGES, torch.tensor([0, 0, 1, 1, 0]))
    random_split(torch.tensor([0, 1] * 20), 0)
    trials = trials_of("synthetic", "GCN", splits=1, hyperparameters={"hidden": 4})
    run_trials(trials, progress=False)
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == threads
