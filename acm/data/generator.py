"""Draw the synthetic graphs of the paper's Section 3.4 and of its appendix on them.

Every function raises `UsageError` if an argument is out of its range.
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
"""The paper's 28 levels of edge homophily: 0.95 to 0.05 by 0.05, then to 0.005 by 0.005."""


def inter_class_draws(h: float, d_intra: int = 2) -> int:
    """Return the paper's `int(2 / h - 2)`, a node's number of draws in other classes.

    The formula is evaluated exactly, on the nearest fraction `h` with a denominator up to 10^6, so
    that rounding loses no draw. The integer part makes the levels coarse: for `h` of 0.70 or more
    no node draws an edge to another class. `d_intra` takes the place of the paper's 2.
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

    Each node draws `d_intra` targets among the other nodes of its class, and
    `inter_class_draws(h, d_intra)` targets among the nodes of other classes. All draws are uniform
    with replacement, as the appendix's `numpy.random.multinomial`. Repeated edges are merged.

    The paper does not say whether its graphs were symmetrized. By default this one is, since the
    paper trains on undirected graphs only. With `undirected=False` row v holds the draws of v only;
    rows are then independent, as Theorem 1 assumes.

    Args:
        num_classes, nodes_per_class: Class c has the nodes from `c * nodes_per_class` on.
        d_intra: Number of draws in the node's own class.
        h: Intended edge homophily in (0, 1].
        seed: Seed of two independent generators, one for edges and one for features.
        base: Graph whose features are used. Class i gets features of its class `i mod C_base`,
            drawn without replacement until that class is used up. By default features are a bag of
            100 words: a word is present with probability 0.3 if it is one of the 10 words of the
            class's topic, and with probability 0.05 otherwise.
        undirected: Whether to add the opposite direction of each edge.

    Returns:
        A graph as from `load`; `raw_rows` is the number of draws. With `base`, `base_node` [N]
        holds the node of the base graph that gave the features.
    """
    check_whole("num_classes", num_classes, 1)
    check_whole("nodes_per_class", nodes_per_class, 2)
    check_whole("seed", seed, 0)
    d_inter = inter_class_draws(h, d_intra)
    if d_inter and num_classes < 2:
        raise UsageError(f"num_classes=1: h={h} needs edges between classes, so at least 2")
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
    """Return all draws as rows (source, target), with repeated ones."""
    total = num_classes * nodes_per_class
    node = np.arange(total)[:, None]
    first = node - node % nodes_per_class  # the first node of the same class
    inside = generator.integers(nodes_per_class - 1, size=(total, d_intra)) + first
    inside += inside >= node  # skips the node itself
    outside = generator.integers(max(total - nodes_per_class, 1), size=(total, d_inter))
    outside += nodes_per_class * (outside >= first)  # skips the node's class
    target = np.concatenate([inside, outside], axis=1)
    return np.stack([np.broadcast_to(node, target.shape), target], axis=-1).reshape(-1, 2)


def _bag_of_words(y: np.ndarray, generator: Generator) -> np.ndarray:
    probability = np.full((int(y.max()) + 1, 100), 0.05)
    for row in probability:
        row[generator.choice(100, 10, replace=False)] = 0.3
    return generator.random((len(y), 100)) < probability[y]


def _base_nodes(base_y: np.ndarray, y: np.ndarray, generator: Generator) -> np.ndarray:
    """Draw a base node for each node: class i takes base class `i mod C_base`."""
    drawn = []
    for i, size in enumerate(np.bincount(y)):
        members = np.flatnonzero(base_y == i % (base_y.max() + 1))
        if not len(members):
            raise UsageError(f"class {i} of the base has no node")
        orders = [generator.permutation(members) for _ in range(-(-size // len(members)))]
        drawn.append(np.concatenate(orders)[:size])
    return np.concatenate(drawn)
