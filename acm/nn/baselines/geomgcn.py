"""Geom-GCN: neighbours in the graph and in a latent space, told apart by direction."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from acm.filters import SparseMatrix, low_pass
from acm.nn.baselines.base import Baseline, Linear, proper_edges
from acm.nn.baselines.isomap import ball, pieces, positions
from acm.nn.dropout import Dropout

#: Two neighbourhoods, four relations in each.
DIVISIONS = 8


class GeomGCN(Baseline):
    r"""Geom-GCN of Pei et al. (2020), `pei2020geom`, with Isomap for the latent space.

    .. math::
        e_v^{(i,r)} = \sum_{u \in N_i(v),\ \tau(z_v, z_u) = r} \frac{h_u}{\sqrt{d_i(v)\, d_i(u)}},
        \quad
        H' = \mathrm{ReLU}\big(\Vert_{i,r}\, E^{(i,r)} W_{i,r}\big), \quad
        Y = \mathrm{mean}_{i,r}\, E^{(i,r)} W_{i,r}

    The neighbourhoods `i` are the graph's and a ball around the node's latent position `z_v` that
    has as many neighbours in the mean; it includes the node itself, and no node to which there is
    no path. The relations `r` are the four
    quadrants in which `u` may lie. The paper's degree is the graph's in both neighbourhoods; here
    :math:`d_i` counts those of the same neighbourhood, so that no sum outgrows its weights.
    Dropout acts on the input of every layer.

    Args:
        in_channels: Features of a node, `F`.
        out_channels: Classes, `C`.
        hidden: Width for each of the eight divisions; a hidden layer has eight times as much.
        dropout: Probability that a value is dropped.
        layers: How many layers.

    Raises:
        UsageError: If an argument is out of range.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden: int = 64,
        dropout: float = 0.5,
        layers: int = 2,
    ):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        ends = [hidden] * (layers - 1) + [out_channels]
        starts = [in_channels] + [DIVISIONS * hidden] * (layers - 1)
        self.linears = nn.ModuleList(
            Linear(i, DIVISIONS * o, DIVISIONS) for i, o in zip(starts, ends)
        )
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in ends)

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, ...]:
        """One matrix for each neighbourhood and relation: four of the graph, four of the ball.

        Raises:
            UsageError: If scikit-learn is not there.
        """
        graph = low_pass(edge_index, num_nodes, norm="sym", renormalize=False)
        edges = proper_edges(edge_index, num_nodes)
        z = positions(edges, num_nodes)
        pairs = ball(z, pieces(edges, num_nodes), edges.shape[1] // 2)
        pairs = torch.from_numpy(pairs).T.to(edges)
        near = torch.cat([pairs, pairs.flip(0)], 1)
        latent = low_pass(with_self(near, num_nodes), num_nodes, norm="sym", renormalize=False)
        return *divide(graph, z), *divide(latent, z)

    def logits(self, x: Tensor | SparseMatrix, graph: tuple[SparseMatrix, ...]) -> Tensor:
        for depth, (dropout, linear) in enumerate(zip(self.dropouts, self.linears)):
            x = dropout(torch.relu(x.flatten(-2)) if depth else x)
            h = linear(x).unflatten(-1, (DIVISIONS, -1)).unbind(-2)
            x = torch.stack([a @ part for a, part in zip(graph, h)], -2)
        return x.mean(-2)


def with_self(edges: Tensor, num_nodes: int) -> Tensor:
    """The edges, and one from each node to itself."""
    return torch.cat([edges, torch.arange(num_nodes, device=edges.device).expand(2, -1)], 1)


def divide(matrix: SparseMatrix, z: np.ndarray) -> list[SparseMatrix]:
    """The matrix in four parts, by the quadrant around `z_v` (row) in which `z_u` (column) lies."""
    z = torch.from_numpy(z).to(matrix.col.device)
    row, col, value = matrix.row, matrix.col, matrix.value
    beyond = z[row] > z[col]  # a node stands in its own first quadrant
    relation = 2 * beyond[:, 0].long() + beyond[:, 1].long()
    masks = [relation == r for r in range(4)]
    return [SparseMatrix.from_coo(row[m], col[m], value[m], matrix.shape) for m in masks]
