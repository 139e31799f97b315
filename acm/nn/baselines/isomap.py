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
from torch import Tensor

from acm.data.files import cache_folder
from acm.errors import UsageError
from acm.filters import SparseMatrix, adjacency

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
