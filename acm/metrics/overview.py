"""All metrics of a graph at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import nan

from torch import Tensor

from acm.errors import UsageError
from acm.metrics import edges, exact
from acm.metrics.features import Aggregation, prepare_features
from acm.metrics.graph import Graph, check_mask, prepare
from acm.metrics.score import Score
from acm.metrics.similarity import aggregate, check_options, diversify, rational, two_classes


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
    r"""Every metric of this room, with the paper's :math:`\hat A_\text{rw}`.

    One call costs less than the calls one by one, which prepare the graph anew.

    Args:
        x: Features, `[N, F]`, dense or sparse; None leaves out what needs them.
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        direction: See `acm.metrics.graph`.
        loops: For the metrics with :math:`\hat A`; those that count edges have none.
        ties: Whether a node whose two means are equal counts: ">=" or ">".
        normalize_features: Divide each row of `x` by the sum of its absolute values first, as the
            paper did.

    Returns:
        From the metric's name, as in the paper's tables where it is there, to its value: a `Score`
        where nodes can tie, otherwise a plain float. Where all edges lie within one class, or all
        nodes with neighbours are of one, `h_adj` and `LI` are 0 / 0: NaN here, an error if called
        one by one.

    Raises:
        UsageError: Bad input, no edges, or fewer than two classes: most metrics do not exist then.

    >>> import torch
    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> all_metrics(None, square, torch.tensor([0, 1, 0, 1]))["H_agg"]
    1.0
    """
    check_options(ties=ties)
    graph = two_classes(prepare(edge_index, y, direction, loops))
    found = _counted(graph.with_loops("remove"))
    labelled = rational(graph, True, y == y)
    sign = exact.aggregation_signs(*labelled)
    found["H_agg"] = Score(sign, ties=ties)
    found["H_agg^M"] = Score(sign, ties=ties, modified=True)
    found["DD(Z)"] = Score(exact.diversification_signs(*labelled), ties=ties)
    if x is not None:
        features = prepare_features(x, graph.num_nodes, normalize_features)
        low = Aggregation(graph)
        found["S_agg(S(Â,X))"] = aggregate(features, graph, "low_pass", low, ties)
        found["S_agg(S(I,X))"] = aggregate(features, graph, "identity", None, ties)
        found["DD"] = diversify(features, graph, low, ties)
    return found


def _counted(graph: Graph) -> dict[str, float]:
    """The metrics that count edges; `graph` is let go before the others need memory."""
    return {
        "H_edge": edges.edge_share(graph),
        "H_node": edges.node_share(graph),
        "H_class": edges.class_share(graph),
        "h_adj": _or_nan(edges.adjusted_share, graph),
        "LI_edge": _or_nan(edges.informativeness, graph, "edge"),
        "LI_node": _or_nan(edges.informativeness, graph, "node"),
    }


def _or_nan(metric: Callable[..., float], *arguments) -> float:
    """The metric, NaN where it is 0 / 0; a graph without edges has been refused before."""
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
    """The four statistics of Table 7 from the labels of some nodes alone, for each choice of them.

    Args:
        x: Features, `[N, F]`, dense or sparse.
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        masks: The nodes whose labels are known, each `[N]`.
        direction, loops, normalize_features: As in `all_metrics`.
        neighbor_labels: Which labels `H_agg` aggregates, see `aggregation_homophily`: the paper's
            estimates are those of "all".

    Returns:
        For each mask, from the statistic's name to its `Score`. A tie counts, see `Score.interval`.

    Raises:
        UsageError: Bad input, or a mask that is empty or leaves a single class.
    """
    check_options(neighbor_labels=neighbor_labels)
    graph = prepare(edge_index, y, direction, loops)
    features = prepare_features(x, graph.num_nodes, normalize_features)
    low = Aggregation(graph)
    found = []
    for mask in masks:
        check_mask(mask, y)
        known = two_classes(graph.restricted(mask))
        everything = neighbor_labels == "all"
        seen = graph.restricted(mask, hide=False) if everything else known
        labelled = rational(seen, True, y == y if everything else mask)
        found.append(
            {
                "H_agg": Score(exact.aggregation_signs(*labelled)),
                "S_agg(S(Â,X))": aggregate(features, known, "low_pass", low, ">="),
                "S_agg(S(I,X))": aggregate(features, known, "identity", None, ">="),
                "DD": diversify(features, known, low, ">="),
            }
        )
    return found
