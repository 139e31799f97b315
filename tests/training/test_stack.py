"""Test that stackable models are trained in batches and other models one trial at a time."""

import dataclasses

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import GATConv

from acm.nn import ACMConv, Dropout
from acm.registry import build
from acm.training import Setting, TrainingProtocol, train
from acm.training import train as train_model
from acm.training.stack import Stack, batch_size, beginning

PROTOCOL = TrainingProtocol(max_epochs=25, window=10)


class Attention(nn.Module):
    """Define a graph attention network as in PyG's examples."""

    def __init__(self):
        super().__init__()
        self.first, self.second = GATConv(8, 4, heads=2, dropout=0.3), GATConv(8, 2)
        self.dropout = nn.Dropout(0.5)

    def reset_parameters(self):
        self.first.reset_parameters()
        self.second.reset_parameters()

    def forward(self, x, edge_index):
        x = self.dropout(functional.elu(self.first(x, edge_index)))
        return self.second(x, edge_index)


class Weight(nn.Module):
    """Define a weight matrix and a bias, which the subclasses use."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(8, 2))
        self.bias = nn.Parameter(torch.empty(2))

    def reset_parameters(self):
        nn.init.normal_(self.weight)
        nn.init.normal_(self.bias)


class SoftmaxOfDimOne(Weight):
    def forward(self, x, graph):
        return x @ torch.softmax(self.weight, dim=1)


class MeanOfNodes(Weight):
    def forward(self, x, graph):
        h = x @ self.weight
        return h - h.mean(0)


class MeanOfAll(Weight):  # in a batch, the mean would include other trials
    def forward(self, x, graph):
        h = x @ self.weight
        return h - h.abs().max() * h.mean()


class Normalized(Weight):
    """Normalize features; in a batch, the normalization would use all trials."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def reset_parameters(self):
        super().reset_parameters()
        self.norm.reset_parameters()

    def forward(self, x, graph):
        return self.norm(3 * x + 1) @ self.weight


class OwnDraws(Weight):  # in a batch, trials would share PyTorch's generator
    def forward(self, x, graph):
        return functional.dropout(x, 0.5, self.training) @ self.weight


class OwnDrawsModule(Weight):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x, graph):
        return self.dropout(x) @ self.weight


class BiasBesideNodes(Weight):  # `[N, C] + [C]` is right, `[B, N, C] + [B, C]` is wrong
    def forward(self, x, graph):
        return x @ self.weight + self.bias


class MixesInTraining(Weight):  # stacking changes the logits in training mode only
    def forward(self, x, graph):
        h = x @ self.weight
        return h - h.mean(0) if self.training else h


class Twice(Weight):
    """Use one dropout module twice."""

    stackable = True

    def __init__(self):
        super().__init__()
        self.dropout = Dropout(0.5)
        self.outputs = []

    def forward(self, x, graph):
        first, second = self.dropout(x), self.dropout(x)
        self.outputs.append((first, second))
        return first @ self.weight + graph @ (second @ self.weight)


class Sound(Weight):
    """Count dimensions from the last, and use the dropout of this package."""

    stackable = True

    def __init__(self):
        super().__init__()
        self.dropout = Dropout(0.5)

    def forward(self, x, graph):
        return torch.tanh(graph @ (self.dropout(x) @ self.weight)) + self.bias.unsqueeze(-2)


class Tied(Weight):
    """Share one weight between two modules."""

    def __init__(self):
        super().__init__()
        self.again = nn.Module()
        self.again.weight = self.weight

    def forward(self, x, graph):
        return torch.tanh(x @ self.weight) + graph @ (x @ self.again.weight)


@pytest.fixture
def edges():
    edge_index = torch.stack([torch.arange(60), (torch.arange(60) + 2) % 60])
    return torch.cat([edge_index, edge_index.flip(0)], 1)


@pytest.fixture
def plain(trials):
    """Return settings that keep the model's dropout."""
    return [dataclasses.replace(t, dropout=None) for t in trials]


def equal(ours, theirs):
    weights = theirs.model.state_dict()
    return ours.history == theirs.history and all(
        torch.equal(w, weights[name]) for name, w in ours.model.state_dict().items()
    )


def test_a_pyg_model_rides_along_one_at_a_time(task, edges, plain):
    x, _, y, *_ = task
    model = Attention()
    torch.manual_seed(1)
    fits = train(model, x, edges, y, plain[:3], protocol=PROTOCOL)
    assert not any(f.stacked for f in fits)
    torch.manual_seed(2)
    before = torch.random.get_rng_state()
    for k in (2, 0):
        (alone,) = train(model, x, edges, y, [plain[k]], protocol=PROTOCOL)
        assert equal(alone, fits[k])
    assert torch.equal(torch.random.get_rng_state(), before)
    assert fits[0].history != fits[1].history
    other = dataclasses.replace(plain[0], seed=99)
    assert train(Attention(), x, edges, y, [other], protocol=PROTOCOL)[0].history != fits[0].history
    for fitted in fits:
        assert torch.equal(fitted.model(x, edges).argmax(1), fitted.prediction)


@pytest.mark.parametrize(
    "model",
    [
        Attention, SoftmaxOfDimOne, MeanOfNodes, MeanOfAll, Normalized, OwnDraws, OwnDrawsModule,
        BiasBesideNodes, MixesInTraining,
    ],
)  # fmt: skip
def test_what_stacking_would_spoil_is_not_stacked(task, edges, plain, model):
    x, graph, y, *_ = task
    graph = edges if model is Attention else graph
    model = model()
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    fits = train(model, x, graph, y, plain[:2], protocol=PROTOCOL)
    assert torch.equal(torch.random.get_rng_state(), before)
    for setting, fitted in zip(plain, fits):
        assert not fitted.stacked
        assert equal(train(model, x, graph, y, [setting], protocol=PROTOCOL)[0], fitted)
        # The returned model has the weights and buffers of the selected epoch.
        logits = fitted.model(x, graph)
        loss = functional.cross_entropy(logits[setting.val], y[setting.val]).item()
        assert loss == pytest.approx(fitted.val_loss, rel=1e-5)


def test_what_can_be_stacked_is_and_gives_what_it_gives_alone(task, words, plain, trials):
    x, graph, y, *_ = task
    models = [Sound(), ACMConv(8, 2), *(build(n, 8, 2, hidden=8) for n in ("ACMII-GCN", "MLP-2"))]
    for model in models:
        settings = plain[:3] if isinstance(model, ACMConv) else trials[:3]
        assert model.stackable
        together = train(model, x, graph, y, settings, protocol=PROTOCOL, batch=3)
        apart = train(model, x, graph, y, settings, protocol=PROTOCOL, stack=False)
        for ours, theirs in zip(together, apart):
            assert ours.stacked and not theirs.stacked
            assert ours.epochs == theirs.epochs
            assert ours.history.val_loss == pytest.approx(theirs.history.val_loss, rel=1e-4)


def test_what_a_given_model_has_seen_is_of_no_account(task, edges, plain):
    x, _, y, *_ = task
    fresh, used = Normalized(), Normalized().train()
    used.reset_parameters()
    for _ in range(5):
        used(x, edges)
    before, after = (train(m, x, edges, y, plain[:1], protocol=PROTOCOL) for m in (fresh, used))
    assert equal(before[0], after[0])
    assert used.norm.num_batches_tracked == 5


@pytest.mark.parametrize("stack", [True, False])
def test_a_dropout_in_two_places_draws_twice(task, trials, stack):
    x, graph, y, *_ = task
    model = Twice()
    fits = train(model, x, graph, y, trials[:3], protocol=PROTOCOL, stack=stack)
    assert all(f.stacked == stack for f in fits)
    for trial, fitted in zip(trials, fits):
        (alone,) = train(Twice(), x, graph, y, [trial], protocol=PROTOCOL, stack=stack)
        assert equal(alone, fitted)
    watched = Stack(model, [trials[0]], stack)
    watched(x, graph, 3, True)
    first, second = watched.module.outputs[-1]
    dropped = (first == 0).double().mean(), (second == 0).double().mean()
    assert dropped == pytest.approx((0.5, 0.5), abs=0.1)
    assert 0.3 < ((first == 0) == (second == 0)).double().mean() < 0.7


@pytest.mark.parametrize("stack", [True, False])
def test_frozen_and_unused_weights_stay_as_they_were_drawn(task, trials, stack):
    x, graph, y, *_ = task

    class Partly(Sound):
        def __init__(self):
            super().__init__()
            self.fixed = nn.Parameter(torch.empty(8, 2), requires_grad=False)
            self.unused = nn.Parameter(torch.empty(3))

        def reset_parameters(self):
            super().reset_parameters()
            nn.init.normal_(self.fixed)
            nn.init.normal_(self.unused)

        def forward(self, x, graph):
            return super().forward(x, graph) + x @ self.fixed

    strong = [dataclasses.replace(t, weight_decay=0.5) for t in trials[:2]]
    fits = train(Partly(), x, graph, y, strong, protocol=PROTOCOL, stack=stack)
    for setting, fitted in zip(strong, fits):
        drawn = Partly()
        torch.manual_seed(setting.seed)
        drawn.reset_parameters()
        after = dict(fitted.model.named_parameters())
        assert torch.equal(after["fixed"], drawn.fixed) and not after["fixed"].requires_grad
        assert torch.equal(after["unused"], drawn.unused)
        assert not torch.equal(after["weight"], drawn.weight)


@pytest.mark.parametrize("stack", [True, False])
def test_a_weight_that_modules_share_is_one_weight(task, plain, stack):
    x, graph, y, *_ = task

    class Once(Weight):
        def forward(self, x, graph):
            return torch.tanh(x @ self.weight) + graph @ (x @ self.weight)

    tied, once = (
        train(model, x, graph, y, plain[:2], protocol=PROTOCOL, stack=stack)
        for model in (Tied(), Once())
    )
    for ours, theirs in zip(tied, once):
        assert ours.history == theirs.history
        assert torch.equal(ours.model(x, graph), theirs.model(x, graph))


def test_the_mode_of_a_part_of_the_given_module_is_of_no_account(task, trials):
    x, graph, y, *_ = task
    model = build("ACM-GCN", 8, 2, hidden=8).train()
    expected = train(model, x, graph, y, trials[:1], protocol=PROTOCOL)
    model.input_dropout.eval()
    assert (
        train(model, x, graph, y, trials[:1], protocol=PROTOCOL)[0].history == expected[0].history
    )


def test_looking_at_a_model_draws_from_nobodys_generator(task, trials):
    x, graph, *_ = task
    model = build("ACM-GCN", 8, 2)
    before = torch.random.get_rng_state()
    batch_size(model, x, graph, trials[0])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_larger_graph_or_model_has_smaller_batches(task, trials):
    x, graph, *_ = task
    sizes = [batch_size(build("MLP-2", 8, 2, h), x, graph, trials[0]) for h in (16, 2000, 200_000)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[1] > sizes[2] == 1


def test_every_dropout_layer_has_draws_of_its_own():
    # An epoch has room for 256 layers with 2³⁶ values each; we test up to 10,000 layers.
    begins = {(e, k): beginning(e, k) for e in (0, 1, 2, 4999) for k in (*range(300), 9_999)}
    begins |= {(e, k): beginning(e, k) for e in range(0, 2**14, 97) for k in (0, 255, 256, 9_999)}
    ordered = sorted(begins.values())
    assert len(set(ordered)) == len(begins)
    assert min(b - a for a, b in zip(ordered, ordered[1:])) >= 2**36
    assert -(2**63) <= ordered[0] and ordered[-1] < 2**63
    # Committed records used these positions.
    assert beginning(3, 5) == 3 * 2**44 + 5 * 2**36


@pytest.mark.parametrize("stacked", [True, False])
def test_a_probability_of_its_own_is_not_replaced_by_the_trials(task, stacked):
    x, graph, y, train, val = task
    trial = Setting(train, val, lr=0.05, weight_decay=0.0, seed=1, dropout=0.5)
    losses = set()
    for dprate in (0.0, 0.5, 0.9):
        model = build("GPRGNN", x.shape[1], 2, hidden=8, dprate=dprate)
        assert [float(p) for p in Stack(model, [trial], stacked).p] == [0.5, 0.5, dprate]
        (result,) = train_model(model, x, graph, y, [trial], protocol=PROTOCOL, stack=stacked)
        losses.add(result.val_loss)
    assert len(losses) == 3
