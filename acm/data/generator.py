"""Draw the paper's synthetic graphs (Section 3.4 and the appendix on synthetic experiments).

Every function raises `UsageError` if an argument is out of range.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from numbers import Real

import numpy as np
import scipy.sparse as sp
import torch
from numpy.random import Generator
from torch_geometric.data import Data

from acm.data.raw import make_graph
from acm.errors import UsageError, check_whole

HOMOPHILY_LEVELS = tuple(k / 200 for k in (*range(190, 0, -10), *range(9, 0, -1)))
"""The paper's 28 levels of edge homophily: 0.95, 0.90, …, 0.05, then 0.045, 0.040, …, 0.005."""


def inter_class_draws(h: float, d_intra: int = 2) -> int:
    """Return how many edges a node draws to other classes: the paper's `int(2 / h - 2)`.

    `d_intra` replaces the 2. The formula is exact, since a floating-point error could lose an edge:
    `h` is first replaced by the nearest fraction with a denominator up to 10^6. With `d_intra=2`,
    every `h` above 2/3 gives 0, so the graph has no edges between classes.
    """
    check_whole("d_intra", d_intra, 1)
    if not isinstance(h, Real) or not 1e-6 <= h <= 1:
        raise UsageError(f"h={h!r}: an edge homophily from 0.000001 to 1 is needed")
    level = Fraction(h).limit_denominator(1_000_000)
    return floor(d_intra / level - d_intra)


def synthetic(
    num_classes: int = 5,
    nodes_per_class: int = 400,
    d_intra: int = 2,
    h: float = 0.1,
    seed: int = 0,
    base: Data | None = None,
    undirected: bool = True,
) -> Data:
    """Draw one synthetic graph (appendix on synthetic experiments).

    Each node draws the targets of its edges: `d_intra` other nodes of its class, and
    `inter_class_draws(h, d_intra)` nodes of other classes. The draws are uniform with replacement,
    like `numpy.random.multinomial` in the appendix. Repeated edges are merged.

    The paper does not say whether it symmetrizes these graphs. The default is to symmetrize, since
    the paper trains only on undirected graphs. With `undirected=False`, a node keeps only its own
    draws; the edges of different nodes are then independent, as Theorem 1 assumes.

    Args:
        num_classes, nodes_per_class: Number and size of the classes; nodes are sorted by class.
        d_intra: Number of edges that each node draws to its class.
        h: Intended edge homophily, from 0.000001 to 1.
        seed: Seed of the random numbers; edges and features have independent generators.
        base: Graph with C_base classes whose node features are copied. Class i copies from random
            nodes of base class `i mod C_base`, and uses all of them once before any node twice. By
            default the features are 100 binary words. Each class has 10 topic words. A topic word
            is present with probability 0.3, any other word with probability 0.05.
        undirected: Whether to add the reverse of each edge.

    Returns:
        A graph with the attributes of `load`; `raw_rows` is the number of draws. With `base`, its
        attribute `base_node` [N] tells from which base node the features of each node are copied.
    """
    check_whole("num_classes", num_classes, 1)
    check_whole("nodes_per_class", nodes_per_class, 2)
    check_whole("seed", seed, 0)
    d_inter = inter_class_draws(h, d_intra)
    if d_inter and num_classes < 2:
        raise UsageError(f"num_classes=1: h={h} needs edges between classes: use 2 or more classes")
    edge_generator, generator = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(2))
    edges = _edges(num_classes, nodes_per_class, d_intra, d_inter, edge_generator)
    y = np.repeat(np.arange(num_classes), nodes_per_class)
    if base is None:
        return make_graph("synthetic", _bag_of_words(y, generator), edges, y, not undirected)
    x, nodes = base.x.cpu(), _base_nodes(base.y.cpu().numpy(), y, generator)
    if x.layout == torch.sparse_csr:
        rows = sp.csr_matrix((x.values(), x.col_indices(), x.crow_indices()), shape=x.shape)[nodes]
    else:
        rows = x.numpy()[nodes]
    data = make_graph("synthetic", rows, edges, y, not undirected)
    data.base_node = torch.from_numpy(nodes)
    return data


def _edges(
    num_classes: int, nodes_per_class: int, d_intra: int, d_inter: int, generator: Generator
) -> np.ndarray:
    """Return all drawn edges as rows (source, target); edges may repeat."""
    total = num_classes * nodes_per_class
    node = np.arange(total)[:, None]
    first = node - node % nodes_per_class  # the first node in the class of `node`
    inside = generator.integers(nodes_per_class - 1, size=(total, d_intra)) + first
    inside += inside >= node  # no node draws itself
    outside = generator.integers(max(total - nodes_per_class, 1), size=(total, d_inter))
    outside += nodes_per_class * (outside >= first)  # no node draws from its class here
    target = np.concatenate([inside, outside], axis=1)
    return np.stack([np.broadcast_to(node, target.shape), target], axis=-1).reshape(-1, 2)


def _bag_of_words(y: np.ndarray, generator: Generator) -> np.ndarray:
    probability = np.full((int(y.max()) + 1, 100), 0.05)
    for row in probability:
        row[generator.choice(100, 10, replace=False)] = 0.3
    return generator.random((len(y), 100)) < probability[y]


def _base_nodes(base_y: np.ndarray, y: np.ndarray, generator: Generator) -> np.ndarray:
    """Draw the base node of each node; class i draws from base class `i mod C_base`."""
    drawn = []
    for i, size in enumerate(np.bincount(y)):
        members = np.flatnonzero(base_y == i % (base_y.max() + 1))
        if not len(members):
            raise UsageError(f"class {i} of the base graph has no nodes")
        orders = [generator.permutation(members) for _ in range(-(-size // len(members)))]
        drawn.append(np.concatenate(orders)[:size])
    return np.concatenate(drawn)
