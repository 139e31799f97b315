"""The synthetic graphs of the paper's Section 3.4 and appendix on synthetic experiments."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from numbers import Real

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.data import Data

from acm.data.names import check_whole
from acm.data.parsers import RawGraph, compact, to_data
from acm.errors import UsageError

HOMOPHILY_LEVELS: tuple[float, ...] = tuple(k / 20 for k in range(19, 0, -1)) + tuple(
    k / 200 for k in range(9, 0, -1)
)
"""The paper's 28 levels of edge homophily: 0.95 to 0.05 by 0.05, then to 0.005 by 0.005."""


def inter_class_draws(h: float, d_intra: int = 2) -> int:
    """The paper's `int(2 / h - 2)`, for any `d_intra` in the place of 2: draws outside the class.

    It is evaluated on the decimal that `h` stands for, so that neither 0.05 nor a level that came
    out of a floating-point range, such as 0.05000000000000004, loses a draw to rounding. The cut to
    a whole number makes the levels coarse: from 0.70 up no node draws an edge outside its class.

    Raises:
        UsageError: `h` is not in (0, 1], or `d_intra` not a whole number from 1 up.
    """
    check_whole("d_intra", d_intra, 1)
    if not isinstance(h, Real) or not 1e-6 <= h <= 1:
        raise UsageError(f"h={h!r}: an edge homophily from 0.000001 to 1")
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
    """Draw one synthetic graph as the paper's appendix on synthetic experiments does.

    Each node draws `d_intra` targets among the other nodes of its class and
    `int(d_intra / h - d_intra)` among the nodes of the other classes, uniformly and with
    replacement: the counts are the appendix's `numpy.random.multinomial` draws (drawn target by
    target, which has the same distribution and needs memory for the edges alone). Repeated edges
    are merged, and loops cannot arise.

    Whether the paper's graphs were symmetrised is not said. Here they are by default, because all
    training of the paper is on undirected graphs. With `undirected=False` row v holds v's own draws
    and nothing else: about half the mean degree, rows that are independent (as Theorem 1 supposes),
    the same homophily but for merged edges, and no node sees an edge that another one drew.

    Args:
        num_classes: C, the number of classes.
        nodes_per_class: nodes of each class; class c holds nodes `c * nodes_per_class` onwards.
        d_intra: draws within the class, per node.
        h: edge homophily aimed at, in (0, 1].
        seed: what the draws depend on; edges and features have streams of their own.
        base: the graph whose features are used. Those of class i are the
            features of nodes of its class `i mod C_base`, drawn without replacement and topped up
            by further draws where it has too few; `base_node` [N] says which. By default features
            come from a small built-in bag-of-words model: 100 words, each present with probability
            0.05, but 0.3 for the 10 words that are the class's topic.
        undirected: add the opposite direction of each edge.

    Returns:
        A graph like that of `load`; `raw_rows` counts all draws.

    Raises:
        UsageError: an argument makes no such graph.
    """
    check_whole("num_classes", num_classes, 1)
    check_whole("nodes_per_class", nodes_per_class, 2)
    check_whole("seed", seed, 0)
    d_inter = inter_class_draws(h, d_intra)
    if d_inter and num_classes < 2:
        raise UsageError(f"num_classes=1: h={h} needs edges between classes, so at least 2")
    edge_rng, feature_rng = (
        np.random.default_rng(stream) for stream in np.random.SeedSequence(seed).spawn(2)
    )
    edges = _edges(num_classes, nodes_per_class, d_intra, d_inter, edge_rng)
    y = np.repeat(np.arange(num_classes), nodes_per_class)
    base_node = None
    if base is None:
        x = _bag_of_words(y, feature_rng)
    else:
        if base.x is None or base.x.layout not in (torch.strided, torch.sparse_csr):
            raise UsageError("the base's features are a dense or CSR matrix [N, F]")
        base_node = _base_nodes(base.y.cpu().numpy(), num_classes, nodes_per_class, feature_rng)
        x = _rows(base.x.cpu(), base_node)
    raw = RawGraph(compact(x), np.unique(edges, axis=0).T.copy(), y, len(edges))
    data = to_data("synthetic", raw, directed=not undirected)
    if base_node is not None:
        data.base_node = torch.from_numpy(base_node)
    return data


def _edges(
    num_classes: int, nodes_per_class: int, d_intra: int, d_inter: int, rng: np.random.Generator
) -> np.ndarray:
    """All draws as rows (source, target), repeated ones kept."""
    total = num_classes * nodes_per_class
    node = np.arange(total)[:, None]
    first = node - node % nodes_per_class  # the first node of the own class
    own = rng.integers(nodes_per_class - 1, size=(total, d_intra)) + first
    own += own >= node  # steps over the node itself
    other = rng.integers(max(total - nodes_per_class, 1), size=(total, d_inter))  # one class: none
    other += nodes_per_class * (other >= first)  # steps over the own class
    target = np.concatenate([own, other], axis=1)
    return np.stack([np.broadcast_to(node, target.shape), target], axis=-1).reshape(-1, 2)


def _bag_of_words(
    y: np.ndarray, rng: np.random.Generator, words: int = 100, topic: int = 10
) -> sp.csr_matrix:
    """Binary features [N, 100]: a few words of the class's topic are likelier than the rest."""
    probability = np.full((int(y.max()) + 1, words), 0.05)
    for row in probability:
        row[rng.choice(words, topic, replace=False)] = 0.3
    return sp.csr_matrix((rng.random((len(y), words)) < probability[y]).astype(np.float32))


def _base_nodes(
    y: np.ndarray, num_classes: int, nodes_per_class: int, rng: np.random.Generator
) -> np.ndarray:
    """A base node for each node, [C * nodes_per_class]: class i from base class `i mod C_base`."""
    chosen = []
    for i in range(num_classes):
        members = np.flatnonzero(y == i % (int(y.max()) + 1))
        if not len(members):
            raise UsageError(f"class {i % (int(y.max()) + 1)} of the base has no node")
        rounds = -(-nodes_per_class // len(members))
        drawn = np.concatenate([rng.permutation(members) for _ in range(rounds)])
        chosen.append(drawn[:nodes_per_class])
    return np.concatenate(chosen)


def _rows(x: Tensor, nodes: np.ndarray) -> sp.csr_matrix | np.ndarray:
    if x.layout == torch.sparse_csr:
        parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
        return sp.csr_matrix(parts, shape=x.shape)[nodes]
    return x.numpy()[nodes]
