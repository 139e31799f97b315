"""Define Geom-GCN, and compute the latent positions of nodes that it needs."""

from __future__ import annotations

import contextlib
import hashlib
import os

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree
from torch import Tensor, nn

from acm.baselines.base import Baseline, Linear, dropouts, proper_edges
from acm.data.files import cache_folder
from acm.errors import UsageError
from acm.filters import SparseMatrix, adjacency, low_pass

#: Isomap is exact up to this number of nodes. In a larger graph it embeds this number of landmark
#: nodes, and places the other nodes by their distances to the landmarks.
LANDMARKS = 4096
#: Part of the cache key: increase it when a change of code changes what `positions` returns.
_VERSION = 1


def positions(edge_index: Tensor, num_nodes: int) -> np.ndarray:
    """Return the Isomap positions of all nodes, `[N, 2]`, from the cache folder if possible."""
    a = adjacency(edge_index.cpu(), num_nodes)
    key = hashlib.sha256(repr((_VERSION, LANDMARKS, num_nodes)).encode())
    key.update(a.crow.numpy().tobytes() + a.col.numpy().tobytes())
    path = cache_folder() / "isomap" / f"{key.hexdigest()[:32]}.npy"
    with contextlib.suppress(OSError, ValueError, EOFError):  # missing or damaged
        return np.load(path)
    z = isomap(a)
    with contextlib.suppress(OSError):  # if the folder cannot be written, the next call computes z
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as file:
            np.save(file, z)
        part.replace(path)
    return z


def isomap(a: SparseMatrix, landmarks: int = LANDMARKS) -> np.ndarray:
    """Compute the positions of all nodes, `[N, 2]`, by Isomap with hop distances.

    Isomap (Tenenbaum et al., 2000) is kernel PCA with the kernel `−D²/2`, where `D` are the
    distances. A graph with more than `landmarks` nodes uses landmarks (de Silva and Tenenbaum,
    2002). If no path joins two nodes, their distance is the largest finite distance plus one.
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
    # SciPy returns float64, so blocks of 256 sources save memory.
    blocks = np.split(sources, range(256, len(sources), 256))
    rows = [dijkstra(_csr(a), unweighted=True, indices=b).astype(np.float32) for b in blocks]
    return np.ascontiguousarray(np.concatenate(rows).T)


def _csr(a: SparseMatrix) -> csr_array:
    return csr_array((np.ones(len(a.col)), a.col.cpu().numpy(), a.crow.cpu().numpy()), a.shape)


def ball(z: np.ndarray, component: np.ndarray, pairs: int) -> np.ndarray:
    """Return all pairs of nodes whose distance is at most a common radius, `[P, 2]`.

    The radius is the largest for which P is at most `pairs`; equal distances can make P smaller.
    Pairs of nodes from two components are excluded: Isomap gives them arbitrary distances, and puts
    all small components at nearly the same position. `z`, `[N, 2]`, are the positions.
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
    if count(low) > pairs:  # even radius 0 has too many pairs
        return np.empty((0, 2), np.int64)
    return tree.query_pairs(low, output_type="ndarray")


DIVISIONS = 8  # two neighborhoods with four relations each


class GeomGCN(Baseline):
    """Geom-GCN of Pei et al. (2020), with Isomap for the latent space.

    `e_v^{i,r} = Σ_u h_u / √(d_i(v) d_i(u))` over the `u` in `N_i(v)` with relation `r` to `v`,
    `H' = ReLU(∥_{i,r} E^{i,r} W_{i,r})` and `Y = mean_{i,r} E^{i,r} W_{i,r}`.

    There are two neighborhoods `i`: the neighbors in the graph, and a ball around the latent
    position of `v`. On average the ball has as many neighbors as the graph. The ball includes `v`
    and excludes nodes of other components. The relation `r` is the quadrant around `v` with `u`.
    Pei et al. use the degree in the graph for both neighborhoods. Here `d_i` is the degree in
    neighborhood `i`, so that sums stay bounded. A hidden layer has `8 · hidden` features. Dropout
    acts on the input of every layer.
    """

    def __init__(self, in_channels, out_channels, hidden=64, dropout=0.5, layers=2):
        super().__init__(in_channels, out_channels, hidden, layers=layers)
        ends = [hidden] * (layers - 1) + [out_channels]
        starts = [in_channels] + [DIVISIONS * hidden] * (layers - 1)
        self.linears = nn.ModuleList(
            Linear(i, DIVISIONS * o, DIVISIONS) for i, o in zip(starts, ends)
        )
        self.dropouts = dropouts(dropout, layers)

    def operator(self, edge_index: Tensor, num_nodes: int) -> tuple[SparseMatrix, ...]:
        """Return a matrix per neighborhood and relation: four of the graph, four of the ball."""
        graph = low_pass(edge_index, num_nodes, norm="sym", renormalize=False)
        edges = proper_edges(edge_index, num_nodes)
        z = positions(edges, num_nodes)
        component = connected_components(_csr(adjacency(edges, num_nodes)))[1]
        pairs = torch.from_numpy(ball(z, component, edges.shape[1] // 2)).T.to(edges)
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
    """Split a matrix into four by the quadrant around `z_v` (row) that contains `z_u` (column)."""
    z = torch.from_numpy(z).to(matrix.col.device)
    row, col, value = matrix.row, matrix.col, matrix.value
    greater = z[row] > z[col]  # an entry (v, v) is in quadrant 0
    relation = 2 * greater[:, 0].long() + greater[:, 1].long()
    masks = [relation == r for r in range(4)]
    return [SparseMatrix.from_coo(row[m], col[m], value[m], matrix.shape) for m in masks]
