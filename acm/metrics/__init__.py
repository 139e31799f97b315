"""Measure the homophily of a graph in linear time (sections 2.2 and 3).

The metrics are functions of `(edge_index, y)` or `(x, edge_index, y)`, as in PyG, on any device. No
metric builds an N x N matrix: the sum of `S(M, X)[v, u]` over the nodes u of a class is row v of
`M X` times the sum of these rows. Conventions are arguments; the defaults are the paper's.
"""

from acm.metrics.edges import (
    adjusted_homophily,
    class_homophily,
    edge_homophily,
    label_informativeness,
    node_homophily,
)
from acm.metrics.overview import all_metrics, estimates
from acm.metrics.similarity import (
    Score,
    aggregation_homophily,
    aggregation_similarity,
    diversification_distinguishability,
)

__all__ = [
    "Score",
    "adjusted_homophily",
    "aggregation_homophily",
    "aggregation_similarity",
    "all_metrics",
    "class_homophily",
    "diversification_distinguishability",
    "edge_homophily",
    "estimates",
    "label_informativeness",
    "node_homophily",
]
