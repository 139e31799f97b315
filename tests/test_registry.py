"""The registry against the paper's tables, and what must hold for every model in it."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from acm import paper
from acm.errors import UsageError
from acm.filters import SparseMatrix, moved
from acm.nn import CHANNELS
from acm.nn.stacked import Dropout
from acm.registry import MODELS, build, load_user_models, model_name, register
from acm.training import Setting, TrainingProtocol, train

NEEDS = {"Geom-GCN": "sklearn"}
EVERY = [
    pytest.param(
        name,
        marks=pytest.mark.skipif(
            name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None,
            reason=f"{name} needs {NEEDS.get(name)}",
        ),
    )
    for name in MODELS
]
#: Own hyperparameters that keep the tests small.
SMALL = {"layers": 2, "heads": 2, "K": 3}


def make(name, in_channels, out_channels, n, hidden=8, dropout=0.0):
    own = {k: v for k, v in SMALL.items() if k in MODELS[name].options}
    return build(name, in_channels, out_channels, hidden, dropout, num_nodes=n, **own)


def test_names_are_those_of_the_tables():
    rows = {3: "sota", 8: "fixed"}
    for number, table in rows.items():
        printed = list(dict.fromkeys(c.name for c in paper.table(table)))
        ours = [e.name for e in MODELS.values() if number in e.tables]
        assert sorted(ours) == sorted(printed)
        if number == 3:
            assert ours == printed  # in its order
    ablation = {c.name for c in paper.table("ablation")}
    named = {e.name for e in MODELS.values() if 2 in e.tables}
    assert named <= ablation
    variants = ("LP+HP", "LP+Identity", "no mixing")
    assert ablation - named == {f"{n} {v}" for n in named if n.startswith("ACM") for v in variants}


def test_of_the_papers_models_those_with_batch_normalization_are_trained_one_by_one():
    alone = {name for name, entry in MODELS.items() if entry.tables and not entry.stackable}
    assert alone == {"H2GCN", "MixHop", "GCN+JK", "GAT+JK"}


def test_every_entry_says_what_it_is():
    for name, entry in MODELS.items():
        assert entry.name == name and entry.equation and "\n" not in entry.equation
        assert entry.latex.isascii() and "\n" not in entry.latex
        for opening, closing in ("()", "[]", "{}"):
            assert entry.latex.count(opening) == entry.latex.count(closing), name
        # Every line of an aligned equation has one mark of alignment.
        inner = entry.latex.removeprefix(r"\begin{aligned}").removesuffix(r"\end{aligned}")
        lines = inner.split(r"\\")
        assert [line.count("&") for line in lines] == [int(inner != entry.latex)] * len(lines)
        # No line is wider than a phone: about 36 letters, where indices are small.
        for line in lines:
            letters = re.sub(
                r"\\(operatorname|mathrm|text|hat|tilde|mathbin|mathop|quad)\b", "", line
            )
            letters = re.sub(r"\\[A-Za-z]+", "x", letters)
            letters = re.sub(r"[_^](\{[^{}]*(\{\w+\})?\}|.)", "", letters)
            assert len(re.sub(r"[{}&\s]", "", letters)) <= 40, (name, line)
        assert entry.heterophily.endswith(".") and entry.source
    own = {"layers": 8, "lambda_": 0.5, "alpha": 0.1}
    assert MODELS["GCNII"].options == own and MODELS["ACM-GCNII*"].options == own | {"layers": 2}
    assert (
        MODELS["GCN"].options
        == MODELS["ACMII-Snowball-3"].options
        == MODELS["ACM-GCN+"].options
        == {}
    )
    assert {"heads", "jk", "layers"} <= set(MODELS["GAT+JK"].options)


@pytest.mark.parametrize("name", MODELS)
def test_a_row_agrees_with_its_constructor(name):
    entry = MODELS[name]
    fixed = {"in_channels", "out_channels", "hidden", "dropout", "channels", "mix", "num_nodes"}
    parameters = inspect.signature(entry.make).parameters
    defaults = {
        n: p.default
        for n, p in parameters.items()
        if n not in fixed | set(entry.fixed) and type(p.default) in (int, float, str)
    }
    if name.startswith("ACM-GCNII"):
        defaults["layers"] = 2  # the searched range is 1 to 4, and that of GCNII 4 to 64
    assert entry.options == defaults and list(entry.options) == list(defaults)
    assert set(entry.fixed) <= set(parameters)
    assert entry.channels in ((), CHANNELS, ("low",), ("identity",))
    assert ("channels" in parameters) == bool(entry.channels)
    model = build(name, 5, 3, 4, num_nodes=9)
    assert model.stackable == entry.stackable


@pytest.mark.parametrize("name", EVERY)
def test_a_model_that_mixes_channels_returns_their_weights(name, task):
    x, edge_index, y, _ = task
    model = make(name, 12, 2, len(y)).eval()
    mixes = getattr(model, "mix", False)
    assert mixes == name.startswith("ACM") or not MODELS[name].tables
    if mixes:
        _, weights = model(x, edge_index, return_channel_weights=True)
        assert {alpha.shape for alpha in weights} == {(len(y), len(model.channels))}
        for alpha in weights:
            torch.testing.assert_close(alpha.sum(1), torch.ones(len(y)))


def test_the_table_is_read_without_pytorch():
    code = (
        "import sys\n"
        "from acm.registry import MODELS, model_name\n"
        "print([(e.name, e.equation, e.options, e.stackable) for e in MODELS.values()])\n"
        "print(model_name('acm-gcn'))\n"
        "assert not {'torch', 'scipy', 'numpy'} & set(sys.modules)"
    )
    environment = {n: v for n, v in os.environ.items() if n != "ACM_MODELS"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr


def edges(n, pairs, extra=()):
    a = torch.zeros(n, n, dtype=torch.bool)
    for i, j in pairs:
        a[i % n, j % n] = a[j % n, i % n] = True
    return a.nonzero().t().contiguous()


PAIRS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=25)


@pytest.mark.parametrize("name", EVERY)
@settings(max_examples=8)
@given(n=st.integers(8, 12), pairs=PAIRS, seed=st.integers(0, 99))
def test_permuted_nodes_give_permuted_logits(name, n, pairs, seed):
    edge_index = edges(n, [(i, i + 1) for i in range(n)] + pairs)
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 5, generator=generator, dtype=torch.float64)
    torch.manual_seed(seed)
    model = make(name, 5, 3, n).double().eval()
    logits = model(x, edge_index)
    order = torch.randperm(n, generator=generator)
    place = torch.argsort(order)
    if name.startswith("ACM-GCN+"):  # its weights belong to the nodes
        for layer in (model.first, model.second):
            layer.weight_structure.data = layer.weight_structure[order].detach()
    permuted = model(x[order], place[edge_index])
    if name == "Geom-GCN":  # positions are found up to a rotation or reflection, as rounding falls
        assert permuted.shape == logits.shape
        return
    torch.testing.assert_close(permuted, logits[order], rtol=1e-6, atol=1e-8)


@pytest.fixture(scope="module")
def task():
    """A small graph with loops, sparse features, two classes and three splits."""
    generator = torch.Generator().manual_seed(0)
    n = 23
    pairs = torch.randint(0, n, (40, 2), generator=generator).tolist()
    y = torch.arange(n) % 2
    x = torch.rand(n, 12, generator=generator)
    x = x * (x > 0.5) + y[:, None] / 4
    trials = []
    for seed in range(3):
        order = torch.randperm(n, generator=generator)
        train, val = torch.zeros(2, n, dtype=torch.bool)
        train[order[:10]], val[order[10:17]] = True, True
        trials.append(
            Setting(train, val, 0.05, (1e-3, 0.0, 1e-2)[seed], seed, (0.5, 0.2, 0.0)[seed])
        )
    return x, edges(n, [(i, i + 1) for i in range(n)] + pairs), y, trials


@pytest.mark.parametrize("name", EVERY)
def test_stacked_and_single_training_agree(name, task):
    x, edge_index, y, trials = task
    # In float64: Adam makes a full step of a gradient that rounding alone keeps from being zero.
    x, model = x.double(), make(name, 12, 2, len(y)).double()
    graph = moved(model.operator(edge_index, len(y)), torch.float64)
    for features in (x, SparseMatrix.from_torch(x)):
        protocol = TrainingProtocol(max_epochs=6)
        together = train(model, features, graph, y, trials, protocol=protocol, batch=3)
        apart = train(model, features, graph, y, trials, protocol=protocol, stack=False)
        for ours, theirs in zip(together, apart):
            assert ours.stacked == MODELS[name].stackable and not theirs.stacked
            assert ours.history.val_loss == pytest.approx(theirs.history.val_loss, rel=1e-7)
            assert ours.history.val_loss[-1] != ours.history.val_loss[0]  # it learns something


@pytest.mark.parametrize("name", EVERY)
def test_a_trial_gives_the_same_bits_in_any_batch(name, task):
    x, edge_index, y, trials = task
    model = make(name, 12, 2, len(y))
    graph, protocol = model.operator(edge_index, len(y)), TrainingProtocol(max_epochs=6)
    for features in (x, SparseMatrix.from_torch(x)):
        together, apart = (
            train(model, features, graph, y, trials, protocol=protocol, batch=batch)
            for batch in (3, 1)
        )
        for ours, theirs in zip(together, apart):
            assert ours.stacked == theirs.stacked == MODELS[name].stackable
            assert ours.history.val_loss == theirs.history.val_loss
            assert torch.equal(ours.prediction, theirs.prediction)


@pytest.mark.parametrize("name", EVERY)
def test_every_model_says_in_a_line_that_the_precision_differs(name, task):
    x, edge_index, y, _ = task
    model = make(name, 12, 2, len(y))
    graph = model.operator(edge_index, len(y))
    for features in (x.double(), SparseMatrix.from_torch(x.double())):
        with pytest.raises(UsageError, match="x is of torch.float64, the weights") as error:
            model(features, graph)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", EVERY)
def test_every_model_takes_sparse_features_and_has_a_gradient_everywhere(name, task):
    x, edge_index, y, _ = task
    torch.manual_seed(0)
    model = make(name, 12, 2, len(y), dropout=0.3).train()
    assert any(isinstance(part, Dropout) for part in model.modules())
    logits = model(x.to_sparse_csr(), edge_index)
    assert logits.shape == (len(y), 2)
    logits.square().sum().backward()
    for key, p in model.named_parameters():
        assert p.grad is not None and p.grad.isfinite().all(), key
    model.eval()
    dense, sparse = (model(f, model.operator(edge_index, len(y))) for f in (x, x.to_sparse_csr()))
    torch.testing.assert_close(dense, sparse)


class Dropped(torch.nn.Module):
    """One of the models after a dropout, which gives every trial features of its own."""

    def __init__(self, inner):
        super().__init__()
        self.dropout, self.inner, self.stackable = Dropout(0.3), inner, inner.stackable

    def reset_parameters(self):
        self.inner.reset_parameters()

    def forward(self, x, graph):
        return self.inner(self.dropout(x), graph)


@pytest.mark.parametrize("name", EVERY)
def test_within_another_network_every_model_stacks_as_well(name, task):
    x, edge_index, y, trials = task
    model = Dropped(make(name, 12, 2, len(y)))
    graph, protocol = model.inner.operator(edge_index, len(y)), TrainingProtocol(max_epochs=3)
    together = train(model, x, graph, y, trials, protocol=protocol)
    apart = train(model, x, graph, y, trials, protocol=protocol, stack=False)
    for ours, theirs in zip(together, apart):
        assert ours.stacked == MODELS[name].stackable
        assert ours.history.val_loss == pytest.approx(theirs.history.val_loss, rel=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_every_model_refuses_features_of_another_shape_in_one_line(name, task):
    x, edge_index, y, _ = task
    model = make(name, 12, 2, len(y)).eval()
    operator = model.operator(edge_index, len(y))
    hybrid, batch = x.to_sparse(1), torch.stack([x, x]).to_sparse()
    for features in (x[:, :5], torch.stack([x, x]), x[0], x[:, :5].to_sparse(), hybrid, batch):
        for graph in (edge_index, operator):
            with pytest.raises(UsageError, match=r"node features have shape \[.*12\] is needed"):
                model(features, graph)


def test_what_cannot_be_is_said_in_one_line():
    for call, words in (
        (lambda: build("GATT", 5, 3), "did you mean GAT?"),
        (lambda: build("GAT", 5, 3, channels=("low",)), "GAT has no channels to choose from"),
        (lambda: build("H2GCN", 5, 3, mix=True), "H2GCN has no channels"),
        (lambda: build("GCN", 5, 3, layers=3), "GCN has no hyperparameter 'layers': it only has"),
        (lambda: build("GCNII", 5, 3, beta=3), "choose from layers, lambda_, alpha"),
        (lambda: register("gcn", torch.nn.Linear, equation="x"), "choose another name"),
    ):
        with pytest.raises(UsageError) as error:
            call()
        assert words in str(error.value) and "\n" not in str(error.value)
    assert model_name("acmii-snowball-3") == "ACMII-Snowball-3"
    assert build("ACM-GCNII", 5, 3).channels == CHANNELS
    assert build("acm-gcnii", 5, 3, channels=("identity", "low")).channels == ("low", "identity")


MINE = """
import torch
from torch import nn
from acm.nn import Dropout
from acm.registry import register

class Mean(nn.Module):
    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, share=0.5):
        super().__init__()
        self.share, self.dropout = share, Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.reset_parameters()
    def reset_parameters(self):
        nn.init.xavier_uniform_(self.weight)
    def forward(self, x, graph):
        h = self.dropout(x) @ self.weight
        return self.share * h + (1 - self.share) * (graph @ h)

register("Mean", Mean, equation="(s I + (1-s) A) X W")
"""


def test_a_model_of_ones_own_is_known_everywhere(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    code = (
        "from acm.registry import MODELS, build\n"
        "entry, model = MODELS['Mean'], build('mean', 4, 2, share=1.0)\n"
        "print(entry.options, entry.stackable, model)"
    )
    monkeypatch.setenv("ACM_MODELS", str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("{'share': 0.5} False Mean(")  # nothing declares that it stacks
    path.write_text(MINE.replace("Module):", "Module):\n    stackable = True"))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("{'share': 0.5} True Mean(")
    monkeypatch.setenv("ACM_MODELS", str(tmp_path / "none.py"))
    done = subprocess.run([sys.executable, "-m", "acm", "models"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "none.py" in done.stderr


class Bare(torch.nn.Module):
    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5):
        super().__init__()


class Narrow(Bare):
    def __init__(self, in_channels, out_channels, dropout=0.5):
        super().__init__(in_channels, out_channels)

    def reset_parameters(self):
        pass


class Rated(Narrow):
    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, lr=0.1):
        super().__init__(in_channels, out_channels)


@pytest.mark.parametrize(
    "name, constructor, said",
    [
        ("", Rated, "name '' is not valid"),
        ("a, b", Rated, "without commas"),
        (None, Rated, "name None is not valid"),
        ("gcn", Rated, "a model gcn already exists"),
        ("New", 3, "cannot be called as constructor"),
        ("New", "nowhere", "cannot be called as constructor"),
        ("New", "acm.nn:nowhere", "cannot be called as constructor.*nowhere"),
        ("New", Bare, r"no reset_parameters\(\)"),
        ("New", Narrow, "cannot be called as constructor.*hidden"),
        ("New", Rated, "a hyperparameter lr, as the trainer has"),
    ],
)
def test_what_cannot_be_a_model_is_refused_in_one_line_and_leaves_none(name, constructor, said):
    before = dict(MODELS)
    with pytest.raises(UsageError, match=said) as error:
        register(name, constructor, equation="Y = X W")
    assert "\n" not in str(error.value) and before == MODELS


def test_options_of_a_users_model_are_what_build_does_not_handle():
    class Sized(Narrow):
        def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, num_nodes=1, k=2):
            super().__init__(in_channels, out_channels)

    try:
        assert register("Sized", Sized, equation="Y = X W").options == {"k": 2}
        assert isinstance(build("sized", 4, 2, num_nodes=5, k=3), Sized)
    finally:
        MODELS.pop("Sized", None)


@pytest.mark.parametrize(
    "text", ["1 +", "raise RuntimeError('a\\nb')", "from acm.registry import nothere",
             "import nolib",
             "from acm.registry import register\nregister('New', 'a:b')"],
)  # fmt: skip
def test_a_file_of_models_that_fails_is_said_in_one_line(text, tmp_path, monkeypatch):
    path = tmp_path / "own.py"
    path.write_text(text)
    monkeypatch.setenv("ACM_MODELS", f" {path} ")
    with pytest.raises(UsageError, match="own.py', which cannot be loaded") as error:
        load_user_models()
    assert "\n" not in str(error.value)
