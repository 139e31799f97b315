"""Latent positions of nodes: Isomap of the graph's distances, once for each graph."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from torch import Tensor, nn

from acm.baselines.base import Baseline, Linear, proper_edges
from acm.data.files import cache_folder
from acm.errors import UsageError
from acm.filters import SparseMatrix, adjacency, low_pass
from acm.nn.stacked import Dropout

#: Up to so many nodes Isomap is exact; beyond, so many of them are embedded, and place the others.
LANDMARKS = 4096
#: Raised with every change of what `positions` returns: older files are left.
_VERSION = 1
_CHUNK = 256


def positions(edge_index: Tensor, num_nodes: int) -> np.ndarray:
    """The nodes' two-dimensional positions, `[N, 2]`, kept in the cache folder by their graph.

    Args:
        edge_index: Edges of an undirected graph without self-loops, `[2, E]`.
        num_nodes: `N`.

    Raises:
        UsageError: If scikit-learn is not there.
    """
    a = adjacency(edge_index.cpu(), num_nodes)
    key = hashlib.sha256(repr((_VERSION, LANDMARKS, num_nodes)).encode())
    key.update(a.crow.numpy().tobytes() + a.col.numpy().tobytes())
    path = cache_folder() / "isomap" / f"{key.hexdigest()[:32]}.npy"
    with contextlib.suppress(OSError, ValueError, EOFError):  # not there, or damaged
        kept = np.load(path)
        if kept.shape == (num_nodes, 2):
            return kept
    found = isomap(a)
    with contextlib.suppress(OSError):  # a folder that cannot be written costs the next run time
        _keep(path, found)
    return found


def _keep(path: Path, values: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        np.save(file, values)
    os.replace(file.name, path)


def isomap(a: SparseMatrix, landmarks: int = LANDMARKS) -> np.ndarray:
    """Isomap of the hop distances (Tenenbaum et al., 2000), with landmarks (de Silva and Tenenbaum,
    2002) in a large graph.

    The second half of Isomap is kernel PCA of `−D²/2`, `D` the geodesic distances; these are at
    hand here. Two nodes without a path between them are one hop further than any with one.

    Args:
        a: Adjacency of an undirected graph, `[N, N]`.
        landmarks: How many nodes at most have their distances to each other kept.

    Returns:
        Positions, `[N, 2]`.
    """
    try:
        from sklearn.decomposition import KernelPCA
    except ImportError as error:
        raise UsageError("Geom-GCN's positions need scikit-learn: install it") from error
    nodes = a.shape[0]
    some = np.arange(nodes)
    if nodes > landmarks:
        some = np.sort(np.random.default_rng(0).permutation(nodes)[:landmarks])
    if len(some) < 3:
        return np.zeros((nodes, 2))
    distance = hops(a, some)
    finite = np.isfinite(distance)
    distance[~finite] = distance[finite].max() + 1
    pca = KernelPCA(2, kernel="precomputed", random_state=0)
    pca.fit(_kernel(distance[some]))
    parts = np.array_split(distance, -(-nodes // 1024))
    placed = np.concatenate([pca.transform(_kernel(part)) for part in parts])
    return np.pad(placed, ((0, 0), (0, 2 - placed.shape[1])))


def _kernel(distance: np.ndarray) -> np.ndarray:
    return -0.5 * distance.astype(np.float64) ** 2


def hops(a: SparseMatrix, sources: np.ndarray) -> np.ndarray:
    """The hops from every node to each source, `[N, len(sources)]`; infinite without a path."""
    found = np.full((a.shape[0], len(sources)), np.inf, np.float32)
    for start in range(0, len(sources), _CHUNK):
        part = torch.as_tensor(sources[start : start + _CHUNK])
        front = torch.zeros(a.shape[0], len(part))
        front[part, torch.arange(len(part))] = 1
        distance = torch.full_like(front, torch.inf)
        step = 0
        while bool(front.any()):
            distance[front > 0] = step
            front = ((a.times(front) > 0) & distance.isinf()).to(front)
            step += 1
        found[:, start : start + len(part)] = distance.numpy()
    return found


def pieces(edge_index: Tensor, num_nodes: int) -> np.ndarray:
    """The number of each node's connected component, `[N]`."""
    source, target = edge_index.cpu().numpy()
    shape = num_nodes, num_nodes
    return connected_components(csr_array((np.ones(source.size), (target, source)), shape))[1]


def ball(z: np.ndarray, piece: np.ndarray, pairs: int) -> np.ndarray:
    """The pairs of nearest nodes `[P, 2]`, each once: as many as fit into `pairs` by one radius.

    Nodes without a path between them are no neighbours. They have no distance to be embedded, and
    all small components lie on one heap, whose pairs would be all there are.

    Args:
        z: Positions, `[N, 2]`.
        piece: The component of each node, `[N]`.
        pairs: How many there are to be; where distances tie, fewer come.
    """
    size = float(np.linalg.norm(np.ptp(z, axis=0))) * 1.001
    tree = cKDTree(np.column_stack([z, piece * (2 * size + 1)]))

    def number(radius: float) -> int:
        return (tree.count_neighbors(tree, radius) - len(z)) // 2

    low, high = 0.0, size
    if number(high) <= pairs:
        low = high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if number(middle) <= pairs else (low, middle)
    if number(low) > pairs:  # more points lie on each other than that
        return np.empty((0, 2), np.int64)
    return tree.query_pairs(low, output_type="ndarray")


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
