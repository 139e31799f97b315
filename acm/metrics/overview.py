"""Compute several metrics of one graph, preparing the graph once.

Both functions raise `UsageError` if the input is invalid, or fewer than two classes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import nan

import torch
from torch import Tensor

from acm.errors import UsageError
from acm.metrics import edges, exact, features
from acm.metrics.graph import Graph, check_mask, check_options, prepare, two_classes
from acm.metrics.similarity import Score

_EDGE_METRICS: dict[str, Callable[..., float]] = {
    "H_edge": edges.edge_homophily,
    "H_node": edges.node_homophily,
    "H_class": edges.class_homophily,
    "h_adj": edges.adjusted_homophily,
    "LI_edge": partial(edges.label_informativeness, form="edge"),
    "LI_node": partial(edges.label_informativeness, form="node"),
}


def all_metrics(
    x: Tensor | None,
    edge_index: Tensor,
    y: Tensor,
    *,
    direction: str = "undirected",
    loops: str = "keep",
    ties: str = ">=",
    normalize_features: bool = True,
) -> dict[str, float]:
    r"""Compute every metric with the paper's :math:`\hat A_\text{rw}`, preparing the graph once.

    Args:
        x: Features, `[N, F]`, dense or sparse; None omits the metrics of features.
        edge_index, y, direction, loops: As in `acm.metrics.graph`. The metrics that count edges
            never count self-loops.
        ties: Whether a node with two equal means counts: ">=" counts the node, ">" does not.
        normalize_features: First divide each row of `x` by the sum of its absolute values, as the
            paper does.

    Returns:
        The value of each metric by name: a `Score` if nodes can tie, a float otherwise. `h_adj`
        and `LI` are NaN where they are 0 / 0; the single functions raise an error there. A graph
        without edges is an error.

    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> all_metrics(None, square, torch.tensor([0, 1, 0, 1]))["H_agg"]
    1.0
    """
    graph = two_classes(prepare(edge_index, y, direction, loops))
    scores = _edge_metrics(graph.without_loops())
    sign = exact.aggregation_signs(graph)
    scores["H_agg"] = Score(sign, ties=ties)
    scores["H_agg^M"] = Score(sign, ties=ties, modified=True)
    scores["DD(Z)"] = Score(exact.diversification_signs(graph), ties=ties)
    if x is not None:
        prepared = features.prepare_features(x, graph.num_nodes, normalize_features)
        scores |= _feature_metrics(prepared, graph, features.Aggregation(graph), ties)
    return scores


def _edge_metrics(graph: Graph) -> dict[str, float]:
    # A function of its own, so that the graph without loops is freed before memory is needed.
    scores = {}
    for name, metric in _EDGE_METRICS.items():
        try:
            scores[name] = metric(graph, graph.y)
        except UsageError:  # 0 / 0
            if not graph.node.numel():
                raise
            scores[name] = nan
    return scores


def _feature_metrics(
    x: features.Features, graph: Graph, low: features.Aggregation, ties: str
) -> dict[str, Score]:
    return {
        "S_agg(S(Â,X))": Score(*features.aggregation_signs(x, graph, "low_pass", low), ties),
        "S_agg(S(I,X))": Score(*features.aggregation_signs(x, graph, "identity", None), ties),
        "DD": Score(*features.diversification_signs(x, graph, low), ties),
    }


def estimates(
    x: Tensor,
    edge_index: Tensor,
    y: Tensor,
    masks: Iterable[Tensor],
    neighbor_labels: str = "known",
) -> list[dict[str, Score]]:
    """Estimate the four statistics of Table 7 from the labels of some nodes, for each mask.

    Args:
        x: Features, `[N, F]`, dense or sparse. Each row is first divided by the sum of its
            absolute values.
        edge_index, y: As in `acm.metrics.graph`. Self-loops are kept.
        masks: Masks `[N]` of the nodes whose labels are known.
        neighbor_labels: The labels that `H_agg` aggregates: "known" sets the rows of Z without a
            known label to zero; "all" uses every label, as the paper's estimates do.

    Returns:
        For each mask, the `Score` of each statistic by name, with `ties=">="`.
    """
    check_options(neighbor_labels=neighbor_labels)
    graph = prepare(edge_index, y)
    prepared = features.prepare_features(x, graph.num_nodes, normalize=True)
    low = features.Aggregation(graph)
    results = []
    for mask in masks:
        check_mask(mask, graph.y)
        known = two_classes(replace(graph, y=torch.where(mask, graph.y, 0), known=mask))
        if neighbor_labels == "all":
            sign = exact.aggregation_signs(replace(graph, known=mask))
        else:
            sign = exact.aggregation_signs(known, in_z=mask)
        results.append({"H_agg": Score(sign)} | _feature_metrics(prepared, known, low, ">="))
    return results
