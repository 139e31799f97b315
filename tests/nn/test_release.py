"""Compare the layers and networks that have channels with the authors' release."""

import inspect

import pytest
import torch
from torch_geometric.utils import to_undirected

from acm.filters import adjacency, low_pass
from acm.nn import ACMConv, ACMPlus
from acm.nn.structure import StructureConv
from tests.nn.release import FOLDER, copy_weights, needs_release, release_layers

pytestmark = needs_release
N, F, C = 7, 5, 3


@pytest.fixture
def graph():
    """Return features, low-pass filter and adjacency of a graph with loops, in float64."""
    torch.manual_seed(0)
    edges = to_undirected(torch.tensor([[0, 1, 2, 3, 4, 2, 0], [1, 2, 3, 4, 5, 2, 0]]))
    ones = torch.ones(edges.shape[1], dtype=torch.float64)
    x = torch.rand(N, F, dtype=torch.float64) - 0.3
    return x, low_pass(edges, N, ones), adjacency(edges, N, ones)


def dense(low, a):
    """Return the release's arguments: `adj_low`, `adj_high` and the unnormalized adjacency."""
    return low.to_dense(), torch.eye(N, dtype=torch.float64) - low.to_dense(), a.to_dense()


@pytest.mark.parametrize("variant", ["acm", "acmii"])
def test_three_channels_have_the_factor_three(graph, variant):
    x, low, a = graph
    ours = ACMConv(F, C, variant, scale=3).double()
    theirs = release_layers().GraphConvolution(F, C, N, "acmgcn", variant=variant == "acmii")
    copy_weights(theirs, ours)
    torch.testing.assert_close(ours(x, low), theirs(x, *dense(low, a)))


def test_the_structure_channel_has_the_factor_one(graph):
    x, low, a = graph
    ours = StructureConv(F, C, N).double()
    theirs = release_layers().GraphConvolution(F, C, N, "acmgcn+", structure_info=1).double()
    copy_weights(theirs, ours)
    out, alpha = ours(x, low, a)
    torch.testing.assert_close(out, theirs(x, *dense(low, a)))
    their_alpha = theirs.att_low, theirs.att_high, theirs.att_mlp, theirs.att_struc_vec_low
    torch.testing.assert_close(alpha, torch.cat(their_alpha, 1))


def test_the_release_has_the_structure_channel_off_by_default():
    layer = release_layers().GraphConvolution
    assert inspect.signature(layer).parameters["structure_info"].default == 0


@pytest.mark.parametrize("residual", [False, True])
def test_networks(graph, residual, monkeypatch):
    x, low, a = graph
    monkeypatch.syspath_prepend(FOLDER)
    from models.models import GCN

    ours = ACMPlus(F, C, hidden=6, num_nodes=N, residual=residual).double().eval()
    name = "acmgcnpp" if residual else "acmgcnp"
    theirs = GCN(F, 6, C, 2, N, 0.5, name, structure_info=1).double().eval()
    copy_weights(theirs.gcns[0], ours.first)
    copy_weights(theirs.gcns[1], ours.second)
    if residual:
        (linear,) = theirs.mlpX.lins
        linear.weight.data = ours.residual.detach().T.clone()
        linear.bias.data.zero_()  # our network has no bias
    logits = ours(x, (low, a))
    # With the model names of its network, the release's layers skip the layer norm.
    assert not torch.allclose(logits, theirs(x, *dense(low, a)))
    for layer in theirs.gcns:
        layer.model_type = "acmgcn+"
    torch.testing.assert_close(logits, theirs(x, *dense(low, a)))
