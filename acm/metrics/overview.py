"""Compute several metrics of one graph, preparing the graph once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import nan

from torch import Tensor

from acm.errors import UsageError
from acm.metrics import edges, exact
from acm.metrics.features import Aggregation, prepare_features
from acm.metrics.graph import Graph, check_mask, check_options, prepare, two_classes
from acm.metrics.score import Score
from acm.metrics.similarity import aggregate, diversify, exact_arguments


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
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        direction: See `acm.metrics.graph`.
        loops: Self-loops in :math:`\hat A`. The metrics that count edges never count self-loops.
        ties: Whether a node with two equal means counts: ">=" counts the node, ">" does not.
        normalize_features: First divide each row of `x` by the sum of its absolute values, as the
            paper does.

    Returns:
        The value of each metric by name: a `Score` if nodes can tie, a float otherwise. `h_adj`
        and `LI` are NaN where they are 0 / 0; the single functions raise an error there.

    Raises:
        UsageError: The input is invalid, or the graph has no edges or fewer than two classes.

    >>> import torch
    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> all_metrics(None, square, torch.tensor([0, 1, 0, 1]))["H_agg"]
    1.0
    """
    check_options(ties=ties)
    graph = two_classes(prepare(edge_index, y, direction, loops))
    scores = _edge_metrics(graph.with_loops("remove"))
    arguments = exact_arguments(graph)
    sign = exact.aggregation_signs(*arguments)
    scores["H_agg"] = Score(sign, ties=ties)
    scores["H_agg^M"] = Score(sign, ties=ties, modified=True)
    scores["DD(Z)"] = Score(exact.diversification_signs(*arguments), ties=ties)
    if x is not None:
        features = prepare_features(x, graph.num_nodes, normalize_features)
        low = Aggregation(graph)
        scores["S_agg(S(Â,X))"] = aggregate(features, graph, "low_pass", low, ties)
        scores["S_agg(S(I,X))"] = aggregate(features, graph, "identity", None, ties)
        scores["DD"] = diversify(features, graph, low, ties)
    return scores


def _edge_metrics(graph: Graph) -> dict[str, float]:
    # A function of its own, so that the graph without loops is freed before memory is needed.
    return {
        "H_edge": edges.edge_share(graph),
        "H_node": edges.node_share(graph),
        "H_class": edges.class_share(graph),
        "h_adj": _or_nan(edges.adjusted_share, graph),
        "LI_edge": _or_nan(edges.informativeness, graph, "edge"),
        "LI_node": _or_nan(edges.informativeness, graph, "node"),
    }


def _or_nan(metric: Callable[..., float], *arguments) -> float:
    """Compute the metric, or NaN if it is 0 / 0; the caller has checked everything else."""
    try:
        return metric(*arguments)
    except UsageError:
        return nan


def estimates(
    x: Tensor,
    edge_index: Tensor,
    y: Tensor,
    masks: Iterable[Tensor],
    *,
    direction: str = "undirected",
    loops: str = "keep",
    normalize_features: bool = True,
    neighbor_labels: str = "known",
) -> list[dict[str, Score]]:
    """Estimate the four statistics of Table 7 from the labels of some nodes, for each mask.

    Args:
        x: Features, `[N, F]`, dense or sparse.
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        masks: Masks `[N]` of the nodes whose labels are known.
        direction, loops, normalize_features: As in `all_metrics`.
        neighbor_labels: The labels that `H_agg` aggregates, as in `aggregation_homophily`; the
            paper's estimates use "all".

    Returns:
        For each mask, the `Score` of each statistic by name, with `ties=">="`.

    Raises:
        UsageError: The input is invalid, or a mask is empty or holds one class.
    """
    check_options(neighbor_labels=neighbor_labels)
    graph = prepare(edge_index, y, direction, loops)
    features = prepare_features(x, graph.num_nodes, normalize_features)
    low = Aggregation(graph)
    results = []
    for mask in masks:
        check_mask(mask, y)
        known = two_classes(graph.restricted(mask))
        if neighbor_labels == "all":
            arguments = exact_arguments(graph.restricted(mask, hide=False))
        else:
            arguments = exact_arguments(known, in_z=mask)
        results.append(
            {
                "H_agg": Score(exact.aggregation_signs(*arguments)),
                "S_agg(S(Â,X))": aggregate(features, known, "low_pass", low, ">="),
                "S_agg(S(I,X))": aggregate(features, known, "identity", None, ">="),
                "DD": diversify(features, known, low, ">="),
            }
        )
    return results
