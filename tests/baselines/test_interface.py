"""What holds for every baseline: symmetry, stacking, sparse features, refusals, sizes."""

import functools
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from acm.baselines.base import BatchNorm
from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.filters import moved as converted
from acm.nn import Dropout
from acm.training import RELEASED, Setting, train
from tests.baselines.classes import CLASSES, PAPERS

N, F, C = 18, 6, 3
#: What stands for another class's variant.
VARIANTS = {"GraphSAGE-gcn": ("GraphSAGE", dict(aggregator="gcn"))}
NAMES = sorted([*CLASSES, *VARIANTS])


def random_graph(seed, nodes=N):
    """Edges with self-loops and nodes without any, and features with zeros."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(0, nodes - 2, (2, 2 * nodes), generator=generator)
    edges = torch.cat([edges, edges.flip(0)], 1).unique(dim=1)
    x = torch.rand(nodes, F, generator=generator)
    return torch.where(x < 0.4, 0, x), edges


def kind(name):
    """The constructor of a model, or of a variant of it."""
    name, own = VARIANTS.get(name, (name, {}))
    return functools.partial(CLASSES[name], **own)


def norms(model):
    """The layers of a model that normalize over the nodes."""
    return [module for module in model.modules() if isinstance(module, BatchNorm)]


#: Models with batch normalization over the nodes, which are trained one trial at a time.
NORMALIZED = [name for name in NAMES if norms(kind(name)(F, C))]


def make(name, seed=0, dropout=0.4, **own):
    if name == "GPRGNN":  # one of its places has a probability of its own
        own = {"dprate": dropout} | own
    torch.manual_seed(seed)
    return kind(name)(F, C, hidden=4, dropout=dropout, **own)


def moved(graph, order):
    """The operator of the graph whose node `order[i]` is the old node `i`."""
    if isinstance(graph, tuple):
        return tuple(moved(matrix, order) for matrix in graph)
    return SparseMatrix.from_coo(order[graph.row], order[graph.col], graph.value, graph.shape)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**20), data=st.data())
def test_the_order_of_nodes_does_not_matter(name, seed, data):
    x, edges = random_graph(seed)
    order = torch.tensor(data.draw(st.permutations(range(N))))
    # In float64, since a normalization may divide by a very small spread.
    x, model = x.double(), make(name, seed, dropout=0.0).double()
    graph = converted(model.operator(edges, N), torch.float64)
    shuffled = torch.empty_like(x)
    shuffled[order] = x
    for training in (True, False):
        model.train(training)
        found = model(shuffled, moved(graph, order))[order]
        torch.testing.assert_close(found, model(x, graph), rtol=1e-7, atol=1e-9)
        if name != "GeomGCN":  # rounding decides the quadrant where two coordinates are equal
            found = model(shuffled, order[edges])[order]
            torch.testing.assert_close(found, model(x, graph), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_operator_edges_and_sparse_features_give_the_same(name):
    x, edges = random_graph(1)
    model = make(name).eval()
    expected = model(x, model.operator(edges, N))
    torch.testing.assert_close(model(x, edges), expected)
    torch.testing.assert_close(model(x.to_sparse_csr(), edges), expected)
    torch.testing.assert_close(model(SparseMatrix.from_torch(x), edges), expected)
    double = model.double()(x.double(), edges)
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), expected)


def task(model, sparse):
    """Features, operator, labels and three trials, in float64."""
    x, edges = random_graph(2)
    x = x.double()
    graph = converted(model.operator(edges, N), torch.float64)
    train = torch.arange(N) < 12
    trials = [
        Setting(train, ~train, lr=lr, weight_decay=1e-3, seed=seed, dropout=dropout)
        for seed, lr, dropout in ((1, 0.05, 0.5), (2, 0.01, 0.2), (3, 0.05, 0.0))
    ]
    return SparseMatrix.from_torch(x) if sparse else x, graph, torch.arange(N) % C, trials


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in NORMALIZED])
def test_stacked_trials_are_single_trials(name, sparse):
    model = make(name).double()
    x, graph, y, trials = task(model, sparse)
    assert model.stackable
    protocol = replace(RELEASED, max_epochs=6)
    stacked = train(model, x, graph, y, trials, protocol=protocol, batch=3)
    for trial, one in zip(trials, stacked):
        (alone,) = train(model, x, graph, y, [trial], protocol=protocol, stack=False)
        assert one.stacked and not alone.stacked
        assert one.history.train_loss == pytest.approx(alone.history.train_loss, rel=1e-9)
        assert one.history.val_loss == pytest.approx(alone.history.val_loss, rel=1e-9)
        losses = one.history.train_loss
        assert len(set(losses)) == 6  # it has moved
    assert stacked[0].history.train_loss != stacked[1].history.train_loss


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", NORMALIZED)
def test_a_model_with_batch_normalization_is_trained_one_trial_at_a_time(name, sparse):
    model = make(name).double()
    x, graph, y, trials = task(model, sparse)
    assert not model.stackable
    fits = train(model, x, graph, y, trials, protocol=replace(RELEASED, max_epochs=40))
    for trial, one in zip(trials, fits):
        (alone,) = train(model, x, graph, y, [trial], protocol=replace(RELEASED, max_epochs=40))
        assert not one.stacked and one.history == alone.history
        # The model of the selected epoch, with the statistics that it had seen by then.
        norm = norms(one.model)[0]
        assert norm.num_batches_tracked == one.best_epoch + 1
        logits = one.model(x, graph)
        assert torch.equal(logits.argmax(1), one.prediction)
        loss = cross_entropy(logits[trial.val], y[trial.val]).item()
        assert loss == pytest.approx(one.val_loss, rel=1e-9)
    assert any(one.best_epoch + 1 < one.epochs for one in fits)
    assert len({one.val_loss for one in fits}) == 3
    assert norms(model)[0].num_batches_tracked == 0  # the given one has seen nothing


#: Sizes that make a layer as wide as there are nodes.
AS_WIDE = {
    "GATJK": dict(hidden=N // 2, heads=2),
    "GCNJK": dict(hidden=N),
    "H2GCN": dict(hidden=N // 2),
    "MixHop": dict(hidden=N // 3),
}


@pytest.mark.parametrize("name", AS_WIDE)
def test_nothing_is_normalized_over_the_trials(name):
    model = kind(name)(F, C, **AS_WIDE[name]).double()
    (norm,) = model.norms
    assert norm.num_features == N
    x, graph, y, trials = task(model, False)
    assert not model.stackable
    for training in (True, False):
        with pytest.raises(ValueError, match=r"\[N, \w+\] is needed"):  # attention's own words
            model.train(training)(torch.stack([x, x]), graph)
    with pytest.raises(ValueError, match=rf"\[1, {N}, {N}\]: \[N, F\] is needed"):
        train(model, x, graph, y, trials[:1], stack=True)


def test_a_normalization_starts_anew_with_the_weights():
    norm, x = BatchNorm(3).double(), 2 * torch.randn(8, 3, dtype=torch.float64) + 1
    mean, variance = x.mean(0), x.var(0, correction=0)
    torch.testing.assert_close(norm(x), (x - mean) / (variance + 1e-5).sqrt())
    torch.testing.assert_close(norm.running_mean, 0.1 * mean)
    torch.testing.assert_close(norm.running_var, 0.9 + 0.1 * x.var(0))
    model = make("GCNJK")
    (norm,) = model.norms
    x, edges = random_graph(8)
    model(x, edges)
    assert norm.running_mean.any() and norm.num_batches_tracked == 1
    model.reset_parameters()
    assert not norm.running_mean.any() and (norm.running_var == 1).all()
    assert norm.num_batches_tracked == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_has_a_gradient_and_is_drawn_anew(name):
    x, edges = random_graph(3)
    model = make(name)
    model(x, edges).square().sum().backward()
    grads = {n: p.grad for n, p in model.named_parameters()}
    assert all(g is not None and g.isfinite().all() and bool(g.any()) for g in grads.values())
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    with torch.no_grad():
        for p in model.parameters():
            p.add_(1)
    torch.manual_seed(0)
    model.reset_parameters()
    again = {n: p.detach().clone() for n, p in model.named_parameters()}
    torch.manual_seed(0)
    model.reset_parameters()
    for n, p in model.named_parameters():
        assert torch.equal(p, again[n]), n
        assert (p.detach() - before[n] - 1).abs().max() > 0.1, n
    for n, p in model.named_parameters():
        if "norm" in n:  # at first it only normalizes
            assert (p == n.endswith("weight")).all()
        elif n != "gamma":
            assert 0 < p.abs().max() < 2


@pytest.mark.parametrize("name", NAMES)
def test_dropout_acts_in_training_only(name):
    x, edges = random_graph(4)
    model = make(name)
    first, second = model(x, edges), model(x, edges)
    assert not torch.equal(first, second)
    model.eval()
    assert torch.equal(model(x, edges), model(x, edges))
    still = make(name, dropout=0.0)
    training = still(x, edges)
    assert torch.equal(still(x, edges), training)
    # By other means and variances, a normalization differs without any dropout.
    assert torch.equal(still.eval()(x, edges), training) == (name not in NORMALIZED)


#: How many places drop: a single one left out, or shared, changes what a seed gives.
PLACES = {
    "GAT": 2 + 2,
    "MLP": 2,
    "APPNP": 2,
    "GPRGNN": 3,
    "H2GCN": 3,
    "MixHop": 1,
    "GCNJK": 1,
    "GATJK": 1,
    "FAGCN": 2 + 2,
    "GraphSAGE": 1,
    "GraphSAGE-gcn": 1,
    "Snowball": 1,
    "GeomGCN": 2,
}


@pytest.mark.parametrize("name", PLACES)
def test_each_place_has_its_own_dropout(name):
    x, edges = random_graph(5)
    model = make(name)
    layers = [m for m in model.modules() if isinstance(m, Dropout)]
    calls = []
    for layer in layers:
        layer.register_forward_hook(lambda m, *_: calls.append(m))
    model(x, edges)
    assert len(layers) == PLACES[name]
    assert calls and sorted(map(id, calls)) == sorted(map(id, layers))


#: Weights of every model for F features, C classes and hidden width H.
SIZES = {
    "GAT": (
        dict(heads=3, out_heads=2),
        lambda F, C, H: 3 * (F * H + 2 * H) + 2 * (3 * H * C + 2 * C),
    ),
    "MLP": ({}, lambda F, C, H: F * H + H + H * C + C),
    "APPNP": ({}, lambda F, C, H: F * H + H + H * C + C),
    "GPRGNN": ({}, lambda F, C, H: F * H + H + H * C + C + 11),
    "H2GCN": (dict(layers=2), lambda F, C, H: F * H + H + 2 * 2 * H + 7 * H * C + C),
    "MixHop": (
        dict(layers=3),
        lambda F, C, H: 3 * (F * H + 3 * H * H + 3 * H * C + C * C) + 2 * 2 * 3 * H,
    ),
    "GCNJK": (dict(layers=3, jk="cat"), lambda F, C, H: F * H + 2 * H * H + 3 * H * C + 2 * 2 * H),
    "GATJK": (
        dict(layers=2, heads=5, jk="max"),
        lambda F, C, H: F * 5 * H + 25 * H * H + 2 * 5 * 2 * H + 5 * H * C + 2 * 5 * H,
    ),
    "FAGCN": (dict(layers=4), lambda F, C, H: F * H + H + 4 * 2 * H + H * C + C),
    "GraphSAGE": (dict(layers=3), lambda F, C, H: 2 * (F * H + H * H + H * C)),
    "GraphSAGE-gcn": (dict(layers=3), lambda F, C, H: F * H + H * H + H * C + 2 * H + C),
    "Snowball": (
        dict(layers=3),
        lambda F, C, H: (F * H + H) + ((F + H) * H + H) + ((F + 2 * H) * C + C),
    ),
    "GeomGCN": ({}, lambda F, C, H: 8 * (F * H + 8 * H * C)),
}


def test_each_model_of_the_paper_is_in_every_list_here():
    assert PLACES.keys() == SIZES.keys() == PAPERS | VARIANTS.keys()
    assert AS_WIDE.keys() == set(NORMALIZED) & PAPERS


@pytest.mark.parametrize("name", SIZES)
def test_the_number_of_weights_is_the_formulas(name):
    own, number = SIZES[name]
    for hidden in (4, 7):
        model = kind(name)(F, C, hidden=hidden, **own)
        assert sum(p.numel() for p in model.parameters()) == number(F, C, hidden)


@pytest.mark.parametrize("name", NAMES)
def test_bad_sizes_are_refused_in_one_line(name):
    for wrong, line in (
        (dict(hidden=0), "hidden=0"),
        (dict(hidden=2.5), "hidden=2.5"),
        (dict(out_channels=-1), "out_channels=-1"),
        (dict(dropout=1.0), "dropout is 1"),
    ):
        with pytest.raises(UsageError, match=line) as error:
            kind(name)(**(dict(in_channels=F, out_channels=C) | wrong))
        assert "\n" not in str(error.value)
    x, edges = random_graph(6)
    model = make(name)
    with pytest.raises(UsageError, match=rf"\[{N}, 5\]: \[N, {F}\] is needed"):
        model(x[:, :5], edges)
    with pytest.raises(UsageError, match=f"{N} x {N} is needed"):
        model(x, make(name).operator(edges, N + 1))


@pytest.mark.parametrize(
    ("name", "wrong", "line"),
    [
        ("GAT", dict(heads=0), "heads=0"),
        ("GAT", dict(out_heads=0), "out_heads=0"),
        ("GAT", dict(layers=0), "layers=0"),
        ("APPNP", dict(K=0), "K=0"),
        ("APPNP", dict(alpha=1.5), "alpha is 1.5"),
        ("GPRGNN", dict(alpha=-0.1), "alpha is -0.1"),
        ("GPRGNN", dict(K=True), "K=True"),
        ("GPRGNN", dict(dprate=1.5), "dprate is 1.5"),
        ("GPRGNN", dict(dprate=1.0), "dprate is 1.0: a number from 0 to below 1"),
        ("H2GCN", dict(layers=0), "layers=0"),
        ("MixHop", dict(layers="2"), "layers=.2."),
        ("GCNJK", dict(jk="lstm"), "jk is 'lstm': 'max' or 'cat' is needed"),
        ("GATJK", dict(jk=None), "jk is None: 'max' or 'cat' is needed"),
        ("GATJK", dict(heads=-2), "heads=-2"),
        ("FAGCN", dict(epsilon="0.3"), "epsilon is '0.3'"),
        ("FAGCN", dict(epsilon=float("nan")), "epsilon is nan"),
        ("GraphSAGE", dict(layers=0), "layers=0"),
        ("GraphSAGE", dict(aggregator="max"), "aggregator is 'max': 'mean' or 'gcn' is needed"),
        ("Snowball", dict(layers=0), "layers=0"),
        ("Snowball", dict(act="elu"), "act is 'elu': 'relu' or 'tanh' is needed"),
        ("GeomGCN", dict(layers=0), "layers=0"),
    ],
)
def test_bad_hyperparameters_are_refused_in_one_line(name, wrong, line):
    with pytest.raises(UsageError, match=line):
        make(name, **wrong)


def test_a_single_layer_is_a_model_too():
    x, edges = random_graph(7)
    for name in [name for name in NAMES if name not in ("MLP", "APPNP", "GPRGNN")]:
        model = make(name, layers=1)
        assert model(x, edges).shape == (N, C), name
        if name in NORMALIZED:  # a single layer has no normalization between layers
            assert not norms(model) and model.stackable, name
