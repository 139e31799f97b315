"""Measure the homophily of a graph in linear time (sections 2.2 and 3).

The metrics are functions of `(edge_index, y)` or `(x, edge_index, y)`, as in PyG, on any device. No
metric builds an N x N matrix. The sum of `S(M, X)[v, u]` over the nodes u of a class is row v of
`M X` times the sum of these rows, and the product is evaluated from the right.

Conventions are arguments; the defaults are the paper's definitions. See `acm.metrics.graph`.
"""

from acm.metrics.edges import (
    adjusted_homophily,
    class_homophily,
    edge_homophily,
    label_informativeness,
    node_homophily,
)
from acm.metrics.overview import all_metrics, estimates
from acm.metrics.score import Score
from acm.metrics.similarity import (
    aggregation_homophily,
    aggregation_similarity,
    diversification_distinguishability,
    similarity_matrix,
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
    "similarity_matrix",
]
