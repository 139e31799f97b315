"""Layers of the baselines against PyTorch Geometric's, with the same weights.

The graphs have no self-loops, except for GAT. A raw self-loop has 2 on the diagonal of `A + I`
here and 1 in PyG's `gcn_norm`, and PyG's `FAConv` adds loops by default.
"""

import pytest
import torch
from torch_geometric import nn as pyg
from torch_geometric.utils import add_remaining_self_loops, to_undirected

from acm.baselines.attention import FAGCN, GAT, FAConv, GATConv
from acm.baselines.neighborhoods import GATJK, GCNJK, GraphSAGE, MixHop, SAGEConv
from acm.baselines.plain import APPNP
from acm.nn.stacked import Linear

N, F, C = 12, 6, 3


@pytest.fixture
def graph():
    torch.manual_seed(0)
    edges = torch.randint(0, N - 2, (2, 20))
    edges = to_undirected(edges[:, edges[0] != edges[1]], num_nodes=N)
    return torch.randn(N, F), edges


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("loops", [False, True])
def test_gat(graph, mean, loops):
    x, edges = graph
    if loops:
        edges = torch.cat([edges, torch.tensor([[1, 5], [1, 5]])], 1)
    ours = GATConv(F, 4, heads=3, mean=mean, dropout=0.0)
    theirs = pyg.GATConv(F, 4, heads=3, concat=not mean, bias=False)
    theirs.lin.weight.data = ours.weight.data.T.clone()
    theirs.att_dst.data, theirs.att_src.data = ours.attention.data.unbind(-1)
    theirs.att_dst.data, theirs.att_src.data = theirs.att_dst.data[None], theirs.att_src.data[None]
    pattern = GAT(F, C).operator(edges, N)
    torch.testing.assert_close(ours(x, pattern), theirs(x, edges))


def test_appnp(graph):
    x, edges = graph
    model = APPNP(F, C, K=7, alpha=0.3).eval()
    h = model.mlp(x, edges)
    torch.testing.assert_close(model(x, edges), pyg.APPNP(K=7, alpha=0.3)(h, edges))


def test_mixhop(graph):
    x, edges = graph
    model = MixHop(F, C, hidden=4, dropout=0.0, layers=2)
    layers = [pyg.MixHopConv(i, o, [0, 1, 2], bias=False) for i, o in ((F, 4), (12, C))]
    for layer, linear in zip(layers, model.linears):
        for lin, w in zip(layer.lins, linear.weight.data.chunk(3, 1)):
            lin.weight.data = w.T.clone()
    h = layers[1](torch.relu(pyg.BatchNorm(12)(layers[0](x, edges))), edges)
    torch.testing.assert_close(model(x, edges), h @ model.output.weight)


def test_sage(graph):
    x, edges = graph
    edges = torch.cat([edges, torch.tensor([[1, 5], [1, 5]])], 1)  # a loop makes a neighbor in both
    ours, theirs = SAGEConv(F, 4), pyg.SAGEConv(F, 4, bias=False)
    theirs.lin_r.weight.data, theirs.lin_l.weight.data = ours.weight.data.mT.clone()
    mean = GraphSAGE(F, C).operator(edges, N)
    torch.testing.assert_close(ours(x, mean), theirs(x, edges))


def test_convolutional_sage(graph):
    """Before version 1.6 PyG added the loops that a graph lacks, and had no weight for the node."""
    x, edges = graph
    edges = torch.cat([edges, torch.tensor([[1, 5], [1, 5]])], 1)
    ours, theirs = Linear(F, 4), pyg.SAGEConv(F, 4, root_weight=False)
    theirs.lin_l.weight.data, theirs.lin_l.bias.data = ours.weight.data.T.clone(), ours.bias.data[0]
    mean = GraphSAGE(F, C, aggregator="gcn").operator(edges, N)
    looped, _ = add_remaining_self_loops(edges, num_nodes=N)
    torch.testing.assert_close(mean @ ours(x), theirs(x, looped))


def test_fagcn(graph):
    x, edges = graph
    start = torch.randn(N, F)
    ours = FAConv(F, epsilon=0.2, dropout=0.0)
    theirs = pyg.FAConv(F, eps=0.2, add_self_loops=False)
    theirs.att_r.weight.data, theirs.att_l.weight.data = ours.gate.data.T[:, None].clone()
    operator = FAGCN(F, C).operator(edges, N)
    torch.testing.assert_close(ours(x, start, operator), theirs(x, start, edges))


@pytest.mark.parametrize("jk", ["max", "cat"])
def test_gcn_with_jumping_knowledge(graph, jk):
    x, edges = graph
    model = GCNJK(F, C, hidden=4, dropout=0.0, layers=3, jk=jk)
    layers, h = [], x
    for depth, linear in enumerate(model.convs):
        conv = pyg.GCNConv(linear.weight.shape[0], 4, bias=False)
        conv.lin.weight.data = linear.weight.data.T.clone()
        h = conv(h, edges)
        h = h if depth == 2 else torch.relu(pyg.BatchNorm(4)(h))
        layers.append(h)
    expected = pyg.JumpingKnowledge(jk)(layers) @ model.output.weight
    torch.testing.assert_close(model(x, edges), expected)


@pytest.mark.parametrize("jk", ["max", "cat"])
def test_gat_with_jumping_knowledge(graph, jk):
    x, edges = graph
    model = GATJK(F, C, hidden=4, dropout=0.0, layers=3, heads=2, jk=jk)
    layers, h = [], x
    for depth, ours in enumerate(model.convs):
        conv = pyg.GATConv(ours.weight.shape[0], 4, heads=2, bias=False)
        conv.lin.weight.data = ours.weight.data.T.clone()
        conv.att_dst.data, conv.att_src.data = (a[None] for a in ours.attention.data.unbind(-1))
        h = conv(h, edges)
        h = h if depth == 2 else torch.nn.functional.elu(pyg.BatchNorm(8)(h))
        layers.append(h)
    expected = pyg.JumpingKnowledge(jk)(layers) @ model.output.weight
    torch.testing.assert_close(model(x, edges), expected)
