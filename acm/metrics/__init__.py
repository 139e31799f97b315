"""How homophilic a graph is: exact metrics in linear time (section 2.2, section 3).

Pure functions on `(edge_index, y)` or `(x, edge_index, y)` as in PyG, on any device. None of them
builds an N x N matrix: the mean of `S(M, X)[v, u]` over a set of nodes u is the product of row v of
`M X` with the mean of the rows u, and that product is taken from the right, class by class.

Conventions are arguments, with the paper's definition as the default: see `acm.metrics.graph`.
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
