"""Metrics of the similarity matrix `S(M, X) = M X (M X)ᵀ` (section 3)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from acm.errors import UsageError
from acm.metrics import exact, features
from acm.metrics.graph import Graph, prepare
from acm.metrics.score import Score

_LARGEST = 10_000  # nodes of a similarity matrix: 800 MB in float64


def aggregation_homophily(
    edge_index: Tensor,
    y: Tensor,
    *,
    norm: str = "rw",
    renormalize: bool = True,
    direction: str = "undirected",
    loops: str = "keep",
    ties: str = ">=",
    modified: bool = False,
    train_mask: Tensor | None = None,
    neighbor_labels: str = "known",
) -> Score:
    r"""Aggregation homophily :math:`H_\text{agg}`, and :math:`H_\text{agg}^M` (section 3.1).

    .. math:: H_\text{agg} = S_\text{agg}(S(\hat A, Z)),
              \qquad H_\text{agg}^M = [2 H_\text{agg} - 1]_+

    the share of nodes whose aggregated label :math:`(\hat A Z)_v` is, on average, at least as
    similar to those of its own class as to those of the other classes. With `norm="rw"` it is
    evaluated exactly, with `norm="sym"`, whose entries are not rational, in float64 with a bound.

    Args:
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        norm, renormalize: Of :math:`\hat A`, as in `acm.filters.low_pass`.
        direction, loops, train_mask: See `acm.metrics.graph`.
        ties: Whether a node whose two means are equal counts: ">=" (definition 1) or ">".
        modified: Give :math:`H_\text{agg}^M`.
        neighbor_labels: With `train_mask`, which labels :math:`\hat A Z` aggregates: "known" (the
            others are zero in Z) or "all", as the paper's estimates did (Table 7): nodes and means
            are then those of `train_mask`, but no label is hidden from the aggregation.

    Returns:
        A float that knows its ties: see `Score`.

    Raises:
        UsageError: Bad input, or the known labels are of one class only: there is no other mean.

    >>> import torch
    >>> bipartite = torch.tensor([[0, 0, 1, 1], [2, 3, 2, 3]])
    >>> score = aggregation_homophily(bipartite, torch.tensor([0, 0, 1, 1]))
    >>> score, score.interval, score.ties
    (1.0, (1.0, 1.0), 0.0)
    """
    check_options(norm=norm, ties=ties, neighbor_labels=neighbor_labels)
    graph, labels = _labelled(edge_index, y, direction, loops, train_mask, neighbor_labels)
    if norm == "rw":
        sign = exact.aggregation_signs(*rational(graph, renormalize, labels))
        return Score(sign, None, ties, modified)
    low = features.Aggregation(graph, norm, renormalize)
    return aggregate(_one_hot(graph, labels), graph, "low_pass", low, ties, modified)


def aggregation_similarity(
    x: Tensor,
    edge_index: Tensor | None,
    y: Tensor,
    *,
    filter: str = "low_pass",
    norm: str = "rw",
    renormalize: bool = True,
    normalize_features: bool = False,
    direction: str = "undirected",
    loops: str = "keep",
    ties: str = ">=",
    modified: bool = False,
    train_mask: Tensor | None = None,
) -> Score:
    r"""Aggregation similarity :math:`S_\text{agg}`, and :math:`S_\text{agg}^M` (definition 1).

    .. math:: S_\text{agg}(S) = \frac{|\{v : \mathrm{Mean}_u(\{S_{v,u} : Z_u = Z_v\}) \ge
              \mathrm{Mean}_u(\{S_{v,u} : Z_u \ne Z_v\})\}|}{|\mathcal V|},
              \qquad S = S(M, X) = M X (M X)^T

    It is evaluated in float64. A node whose two means differ by no more than the rounding errors
    can be is undecided: it counts as a tie, `Score.undecided` tells, and `Score.interval` encloses
    the exact value. The paper's values of Table 7 have `normalize_features=True` and `ties=">"`.

    Args:
        x: Features, `[N, F]`, dense or sparse.
        edge_index: Edges, `[2, E]`; may be None for `filter="identity"`, which does not use them.
        y: Labels, `[N]`.
        filter: M: "low_pass" for :math:`S(\hat A, X)`, "identity" for :math:`S(I, X)`, "high_pass"
            for :math:`S(I - \hat A, X)`.
        normalize_features: Divide each row of `x` by the sum of its absolute values first.
        norm, renormalize, direction, loops, ties, modified, train_mask: As in
            `aggregation_homophily`. Features are known of all nodes; `train_mask` restricts the
            nodes that are compared and those that means are over.

    Returns:
        A float that knows its ties: see `Score`.

    Raises:
        UsageError: Bad input, NaN or infinite features, or known labels of one class only.

    >>> import torch
    >>> x = torch.tensor([[1., 0.], [1., 1.], [0., 2.], [0., 0.]])
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> score = aggregation_similarity(x, None, y, filter="identity")
    >>> score, score.interval, score.sign.tolist()  # the last row is zero: a tie
    (1.0, (0.75, 1.0), [1, 1, 1, 0])
    """
    check_options(norm=norm, ties=ties, filter=filter)
    graph = two_classes(_graph(edge_index, y, direction, loops, train_mask, filter))
    prepared = features.prepare_features(x, graph.num_nodes, normalize_features)
    low = None if filter == "identity" else features.Aggregation(graph, norm, renormalize)
    return aggregate(prepared, graph, filter, low, ties, modified)


def diversification_distinguishability(
    x: Tensor | None,
    edge_index: Tensor,
    y: Tensor,
    *,
    norm: str = "rw",
    renormalize: bool = True,
    normalize_features: bool = False,
    direction: str = "undirected",
    loops: str = "keep",
    ties: str = ">=",
    train_mask: Tensor | None = None,
    neighbor_labels: str = "known",
) -> Score:
    r"""Diversification distinguishability :math:`\mathrm{DD}_{\hat A, X}` (definition 2).

    The share of nodes v for which, with :math:`S = S(I - \hat A, X)`,

    .. math:: \mathrm{Mean}_u(\{S_{v,u} : Z_u = Z_v\}) \ge 0 \quad\text{and}\quad
              \mathrm{Mean}_u(\{S_{v,u} : Z_u \ne Z_v\}) \le 0

    Args:
        x: Features, `[N, F]`, dense or sparse, evaluated as in `aggregation_similarity`. None is
            :math:`X = Z`, and exact for `norm="rw"`: 1 on every graph of two classes (theorem 2).
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        normalize_features: Divide each row of `x` by the sum of its absolute values first.
        ties: With ">" both inequalities must be strict.
        norm, renormalize, direction, loops, train_mask, neighbor_labels: As in
            `aggregation_homophily`.

    Returns:
        A float that knows its ties: see `Score`. A node ties where no inequality fails and one
        holds with equality.

    Raises:
        UsageError: Bad input, NaN or infinite features, or known labels of one class only.

    >>> import torch
    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> diversification_distinguishability(None, path, torch.tensor([0, 0, 1, 1]))
    1.0
    """
    check_options(norm=norm, ties=ties, neighbor_labels=neighbor_labels)
    if x is None:
        graph, labels = _labelled(edge_index, y, direction, loops, train_mask, neighbor_labels)
        if norm == "rw":
            return Score(
                exact.diversification_signs(*rational(graph, renormalize, labels)), None, ties
            )
        prepared = _one_hot(graph, labels)
    else:
        graph = two_classes(prepare(edge_index, y, direction, loops, train_mask))
        prepared = features.prepare_features(x, graph.num_nodes, normalize_features)
    return diversify(prepared, graph, features.Aggregation(graph, norm, renormalize), ties)


def similarity_matrix(
    x: Tensor,
    edge_index: Tensor | None,
    *,
    filter: str = "low_pass",
    norm: str = "rw",
    renormalize: bool = True,
    direction: str = "undirected",
    loops: str = "keep",
) -> Tensor:
    r"""The similarity matrix :math:`S(M, X) = M X (M X)^T` of a small graph (section 3.1, eq. (5)).

    Args:
        x: Features `[N, F]`, dense or sparse; one-hot labels for :math:`S(M, Z)`.
        edge_index: Edges, `[2, E]`; may be None for `filter="identity"`.
        filter: M: "low_pass", "high_pass" or "identity".
        norm, renormalize: Of :math:`\hat A`, as in `acm.filters.low_pass`.
        direction, loops: See `acm.metrics.graph`.

    Returns:
        `[N, N]`, float64.

    Raises:
        UsageError: Bad input, NaN too, or more than 10,000 nodes: no metric needs this matrix.

    >>> import torch
    >>> similarity_matrix(torch.eye(2), torch.tensor([[0], [1]]))
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]], dtype=torch.float64)
    """
    check_options(norm=norm, filter=filter)
    if not isinstance(x, Tensor) or x.dim() != 2:
        raise UsageError("x holds the features of each node, shape [N, F]")
    if x.size(0) > _LARGEST:
        raise UsageError(
            f"a similarity matrix of {x.size(0)} nodes is too large: it is meant for"
            f" up to {_LARGEST}, and no metric needs it"
        )
    y = torch.zeros(x.size(0), dtype=torch.long, device=x.device)
    graph = _graph(edge_index, y, direction, loops, None, filter)
    rows = features.dense_features(x, x.size(0))
    if filter != "identity":
        low = features.Aggregation(graph, norm, renormalize) @ rows
        rows = low if filter == "low_pass" else rows - low
    return rows @ rows.T


def aggregate(
    prepared: features.Features,
    graph: Graph,
    filter: str,
    low: features.Aggregation | None,
    ties: str,
    modified: bool = False,
) -> Score:
    """`aggregation_similarity` of what is prepared, with `Â`."""
    sums = features.similarity_sums(prepared, graph, filter, low)
    signs = features.aggregation_signs(sums, graph.known_labels, graph.class_sizes)
    return Score(*signs, ties, modified)


def diversify(
    prepared: features.Features, graph: Graph, low: features.Aggregation, ties: str
) -> Score:
    """`diversification_distinguishability` of what is prepared, with `Â`."""
    sums = features.similarity_sums(prepared, graph, "high_pass", low)
    return Score(*features.diversification_signs(sums, graph.known_labels), ties)


_OPTIONS = {
    "norm": ("rw", "sym"),
    "ties": (">=", ">"),
    "filter": features.FILTERS,
    "neighbor_labels": ("known", "all"),
}


def check_options(**options: str) -> None:
    """Refuse values that an option does not have."""
    for name, value in options.items():
        if value not in _OPTIONS[name]:
            raise UsageError(f"unknown {name} {value!r}: {', '.join(_OPTIONS[name])} are known")


def _graph(edge_index, y, direction, loops, train_mask, filter) -> Graph:
    if edge_index is None:
        if filter != "identity":
            raise UsageError("edge_index is None: only filter='identity' needs no edges")
        edge_index = torch.empty(2, 0, dtype=torch.long, device=y.device)
    return prepare(edge_index, y, direction, loops, train_mask)


def _labelled(edge_index, y, direction, loops, train_mask, neighbor_labels) -> tuple[Graph, Tensor]:
    """The graph, and the mask of the labels that `Z` holds."""
    graph = prepare(edge_index, y, direction, loops, train_mask)
    seen = torch.ones_like(graph.y, dtype=torch.bool) if train_mask is None else train_mask
    if train_mask is not None and neighbor_labels == "all":
        graph = prepare(edge_index, y, direction, loops).restricted(train_mask, hide=False)
        seen = torch.ones_like(train_mask)
    return two_classes(graph), seen


def two_classes(graph: Graph) -> Graph:
    """The graph, if more than one class is known."""
    if int((graph.class_sizes > 0).sum()) < 2:
        raise UsageError(
            "all known labels are of one class: the mean over the other classes does not exist"
        )
    return graph


def rational(
    graph: Graph, renormalize: bool, labels: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the exact verdicts take: counts, degrees, labels and class sizes of the known nodes."""
    counts, degree = exact.neighbor_counts(graph, renormalize, labels)
    if graph.known is not None:
        counts, degree = counts[graph.known], degree[graph.known]
    return counts, degree, graph.known_labels, graph.class_sizes


def _one_hot(graph: Graph, labels: Tensor) -> features.Features:
    z = one_hot(graph.y, graph.num_classes).double() * labels[:, None]
    return features.prepare_features(z.to_sparse_csr(), graph.num_nodes, False)
