"""Geom-GCN, and the latent positions of nodes that it needs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree
from torch import Tensor, nn

from acm.baselines.base import Baseline, Linear, proper_edges
from acm.data.files import cache_folder
from acm.errors import UsageError
from acm.filters import SparseMatrix, adjacency, low_pass
from acm.nn.stacked import Dropout

#: Isomap is exact up to this number of nodes. In a larger graph it embeds this number of landmark
#: nodes, and places the other nodes by their distances to the landmarks.
LANDMARKS = 4096
#: Part of the cache key: increase it when a change of code changes what `positions` returns.
_VERSION = 1


def positions(edge_index: Tensor, num_nodes: int) -> np.ndarray:
    """Return the nodes' positions in the plane, `[N, 2]`, from the cache folder if possible.

    Args:
        edge_index: Edges of an undirected graph without self-loops, `[2, E]`.
        num_nodes: `N`.

    Raises:
        UsageError: If scikit-learn is not installed.
    """
    a = adjacency(edge_index.cpu(), num_nodes)
    key = hashlib.sha256(repr((_VERSION, LANDMARKS, num_nodes)).encode())
    key.update(a.crow.numpy().tobytes() + a.col.numpy().tobytes())
    path = cache_folder() / "isomap" / f"{key.hexdigest()[:32]}.npy"
    with contextlib.suppress(OSError, ValueError, EOFError):  # missing or damaged
        z = np.load(path)
        if z.shape == (num_nodes, 2):
            return z
    z = isomap(a)
    with contextlib.suppress(OSError):  # if the folder cannot be written, the next call computes z
        _write(path, z)
    return z


def _write(path: Path, z: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        np.save(file, z)
    os.replace(file.name, path)


def isomap(a: SparseMatrix, landmarks: int = LANDMARKS) -> np.ndarray:
    """Return the nodes' positions by Isomap of the hop distances, `[N, 2]`.

    Isomap (Tenenbaum et al., 2000) is kernel PCA of `−D²/2`, where `D` are the distances. A large
    graph has landmarks (de Silva and Tenenbaum, 2002). Two nodes without a path between them are
    one hop further apart than any two nodes with a path.

    Args:
        a: Adjacency of an undirected graph, `[N, N]`.
        landmarks: The largest number of nodes whose distances to each other are kept.
    """
    try:
        from sklearn.decomposition import KernelPCA
    except ImportError as error:
        raise UsageError("Geom-GCN's positions need scikit-learn: install it") from error
    nodes = a.shape[0]
    embedded = np.arange(nodes)
    if nodes > landmarks:
        embedded = np.sort(np.random.default_rng(0).permutation(nodes)[:landmarks])
    if len(embedded) < 3:
        return np.zeros((nodes, 2))
    distance = hops(a, embedded)
    finite = np.isfinite(distance)
    distance[~finite] = distance[finite].max() + 1
    pca = KernelPCA(2, kernel="precomputed", random_state=0)
    pca.fit(_kernel(distance[embedded]))
    blocks = np.array_split(distance, -(-nodes // 1024))
    z = np.concatenate([pca.transform(_kernel(block)) for block in blocks])
    return np.pad(z, ((0, 0), (0, 2 - z.shape[1])))


def _kernel(distance: np.ndarray) -> np.ndarray:
    return -0.5 * distance.astype(np.float64) ** 2


def hops(a: SparseMatrix, sources: np.ndarray) -> np.ndarray:
    """Return the hops from every node to each source, `[N, sources]`; infinite without a path."""
    graph = csr_array((np.ones(len(a.col)), a.col.numpy(), a.crow.numpy()), a.shape)
    # SciPy's distances are float64, so 256 sources at a time save memory.
    blocks = np.split(sources, range(256, len(sources), 256))
    rows = [dijkstra(graph, unweighted=True, indices=b).astype(np.float32) for b in blocks]
    return np.ascontiguousarray(np.concatenate(rows).T)


def components(edge_index: Tensor, num_nodes: int) -> np.ndarray:
    """Return the number of each node's connected component, `[N]`."""
    source, target = edge_index.cpu().numpy()
    shape = num_nodes, num_nodes
    return connected_components(csr_array((np.ones(source.size), (target, source)), shape))[1]


def ball(z: np.ndarray, component: np.ndarray, pairs: int) -> np.ndarray:
    """Return the pairs of nodes within one radius, `[P, 2]`, each pair once.

    The radius is the largest that has at most `pairs` pairs. Pairs of two components do not count:
    their distance is arbitrary, and all small components have nearly the same position.

    Args:
        z: Positions, `[N, 2]`.
        component: The component of each node, `[N]`.
        pairs: The largest number of pairs; ties make the number smaller.
    """
    size = float(np.linalg.norm(np.ptp(z, axis=0))) * 1.001
    tree = cKDTree(np.column_stack([z, component * (2 * size + 1)]))

    def count(radius: float) -> int:
        return (tree.count_neighbors(tree, radius) - len(z)) // 2

    low, high = 0.0, size
    if count(high) <= pairs:
        low = high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if count(middle) <= pairs else (low, middle)
    if count(low) > pairs:  # too many points coincide
        return np.empty((0, 2), np.int64)
    return tree.query_pairs(low, output_type="ndarray")


#: Two neighborhoods with four relations each.
DIVISIONS = 8


class GeomGCN(Baseline):
    r"""Geom-GCN of Pei et al. (2020), `pei2020geom`, with Isomap for the latent space.

    .. math::
        e_v^{(i,r)} = \sum_{u \in N_i(v),\ \tau(z_v, z_u) = r} \frac{h_u}{\sqrt{d_i(v)\, d_i(u)}},
        \quad
        H' = \mathrm{ReLU}\big(\Vert_{i,r}\, E^{(i,r)} W_{i,r}\big), \quad
        Y = \mathrm{mean}_{i,r}\, E^{(i,r)} W_{i,r}

    There are two neighborhoods `i`: that of the graph, and a ball around the node's latent
    position `z_v`. The ball has as many neighbors on average, includes the node itself, and
    excludes nodes of other components. The relations `r` are the four quadrants in which `u` may
    be. Their paper has the graph's degree in both neighborhoods. Here :math:`d_i` counts the nodes
    of the same neighborhood, so that sums stay bounded. Dropout acts on the input of every layer.

    Args:
        hidden: Width for each of the eight divisions; a hidden layer is eight times as wide.
        layers: Number of layers.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        ends = [hidden] * (layers - 1) + [out_channels]
        starts = [in_channels] + [DIVISIONS * hidden] * (layers - 1)
        self.linears = nn.ModuleList(
            Linear(i, DIVISIONS * o, DIVISIONS) for i, o in zip(starts, ends)
        )
        self.dropouts = nn.ModuleList(Dropout(dropout) for _ in ends)

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, ...]:
        """Return a matrix per neighborhood and relation: four of the graph, four of the ball.

        Raises:
            UsageError: If scikit-learn is not installed.
        """
        graph = low_pass(edge_index, num_nodes, norm="sym", renormalize=False)
        edges = proper_edges(edge_index, num_nodes)
        z = positions(edges, num_nodes)
        pairs = ball(z, components(edges, num_nodes), edges.shape[1] // 2)
        pairs = torch.from_numpy(pairs).T.to(edges)
        self_loops = torch.arange(num_nodes, device=edges.device).expand(2, -1)
        near = torch.cat([pairs, pairs.flip(0), self_loops], 1)
        latent = low_pass(near, num_nodes, norm="sym", renormalize=False)
        return *divide(graph, z), *divide(latent, z)

    def logits(self, x: Tensor | SparseMatrix, graph: tuple[SparseMatrix, ...]) -> Tensor:
        for depth, (dropout, linear) in enumerate(zip(self.dropouts, self.linears)):
            x = dropout(torch.relu(x.flatten(-2)) if depth else x)
            h = linear(x).unflatten(-1, (DIVISIONS, -1)).unbind(-2)
            x = torch.stack([a @ part for a, part in zip(graph, h)], -2)
        return x.mean(-2)


def divide(matrix: SparseMatrix, z: np.ndarray) -> list[SparseMatrix]:
    """Return the matrix in four, by the quadrant around `z_v` (row) in which `z_u` (column) is."""
    z = torch.from_numpy(z).to(matrix.col.device)
    row, col, value = matrix.row, matrix.col, matrix.value
    greater = z[row] > z[col]  # a node is in its own first quadrant
    relation = 2 * greater[:, 0].long() + greater[:, 1].long()
    masks = [relation == r for r in range(4)]
    return [SparseMatrix.from_coo(row[m], col[m], value[m], matrix.shape) for m in masks]
