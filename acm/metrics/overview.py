"""All metrics of a graph at once."""

from __future__ import annotations

from torch import Tensor

from acm.metrics import edges, exact
from acm.metrics.features import prepare_features
from acm.metrics.graph import prepare
from acm.metrics.score import Score
from acm.metrics.similarity import _rational, _two_classes, aggregate, check_options, diversify


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
        where nodes can tie, otherwise a plain float.

    Raises:
        UsageError: Bad input, no edges, or fewer than two classes: some metric does not exist then.

    >>> import torch
    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> all_metrics(None, square, torch.tensor([0, 1, 0, 1]))["H_agg"]
    1.0
    """
    check_options(ties=ties)
    graph = _two_classes(prepare(edge_index, y, direction, loops))
    simple = graph.with_loops("remove")
    found: dict[str, float] = {
        "H_edge": edges.edge_share(simple),
        "H_node": edges.node_share(simple),
        "H_class": edges.class_share(simple),
        "h_adj": edges.adjusted_share(simple),
        "LI_edge": edges.informativeness(simple, "edge"),
        "LI_node": edges.informativeness(simple, "node"),
    }
    every = y == y
    rational = _rational(graph, True, every)
    sign = exact.aggregation_signs(*rational)
    found["H_agg"] = Score(sign, ties=ties)
    found["H_agg^M"] = Score(sign, ties=ties, modified=True)
    found["DD(Z)"] = Score(exact.diversification_signs(*rational), ties=ties)
    if x is not None:
        features = prepare_features(x, graph.num_nodes, normalize_features)
        for name, filter in (("S_agg(S(Â,X))", "low_pass"), ("S_agg(S(I,X))", "identity")):
            found[name] = aggregate(features, graph, filter, "rw", True, ties)
        found["DD"] = diversify(features, graph, "rw", True, ties)
    return found
