"""Metrics of the similarity matrix `S(M, X) = M X (M X)ᵀ` (section 3)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from acm.errors import UsageError
from acm.metrics import exact, features
from acm.metrics.graph import Graph, check_mask, check_options, prepare, two_classes
from acm.metrics.score import Score

_MOST_NODES = 10_000  # a similarity matrix of 10,000 nodes takes 800 MB in float64


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
    r"""Compute aggregation homophily :math:`H_\text{agg}` or :math:`H_\text{agg}^M` (section 3.1).

    .. math:: H_\text{agg} = S_\text{agg}(S(\hat A, Z)),
              \qquad H_\text{agg}^M = [2 H_\text{agg} - 1]_+

    It is the share of nodes v whose aggregated label :math:`(\hat A Z)_v` is on average at least as
    similar to those of v's class as to those of the other classes. `norm="rw"` is evaluated in
    exact integers. `norm="sym"` has irrational entries and is evaluated in float64 with a bound.

    Args:
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        norm, renormalize: The normalization of :math:`\hat A`, as in `acm.filters.low_pass`.
        direction, loops, train_mask: See `acm.metrics.graph`. With `train_mask`, only nodes with
            known labels are compared and averaged over.
        ties: ">=" counts a node with two equal means (definition 1); ">" does not.
        modified: Return :math:`H_\text{agg}^M`.
        neighbor_labels: The labels that :math:`\hat A Z` aggregates if `train_mask` is given:
            "known" sets the rows of Z without a known label to zero; "all" uses every label, as
            the paper's estimates do (Table 7).

    Returns:
        A `Score`, which is a float with its ties.

    Raises:
        UsageError: The input is invalid or all known labels are equal.

    >>> import torch
    >>> bipartite = torch.tensor([[0, 0, 1, 1], [2, 3, 2, 3]])
    >>> score = aggregation_homophily(bipartite, torch.tensor([0, 0, 1, 1]))
    >>> score, score.interval, score.ties
    (1.0, (1.0, 1.0), 0.0)
    """
    check_options(norm=norm, ties=ties, neighbor_labels=neighbor_labels)
    graph, in_z = _label_graph(edge_index, y, direction, loops, train_mask, neighbor_labels)
    if norm == "rw":
        sign = exact.aggregation_signs(*exact_arguments(graph, renormalize, in_z))
        return Score(sign, ties=ties, modified=modified)
    low = features.Aggregation(graph, norm, renormalize)
    return aggregate(_one_hot(graph, in_z), graph, "low_pass", low, ties, modified)


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
    r"""Compute aggregation similarity :math:`S_\text{agg}` or its modified form (definition 1).

    .. math:: S_\text{agg}(S) = \frac{|\{v : \mathrm{Mean}_u(\{S_{v,u} : Z_u = Z_v\}) \ge
              \mathrm{Mean}_u(\{S_{v,u} : Z_u \ne Z_v\})\}|}{|\mathcal V|},
              \qquad S = S(M, X) = M X (M X)^T

    The evaluation uses float64. A node is undecided if its two means differ by less than the bound
    of the rounding errors. An undecided node counts as a tie, and `Score.interval` encloses the
    exact value. The paper's Table 7 has `normalize_features=True` and `ties=">"`.

    Args:
        x: Features, `[N, F]`, dense or sparse.
        edge_index: Edges, `[2, E]`; None is allowed for `filter="identity"`, which needs no edges.
        y: Labels, `[N]`.
        filter: M: "low_pass" is :math:`\hat A`, "identity" is :math:`I`, "high_pass" is
            :math:`I - \hat A`.
        normalize_features: First divide each row of `x` by the sum of its absolute values.
        norm, renormalize, direction, loops, ties, modified, train_mask: As in
            `aggregation_homophily`. With `train_mask`, X still holds the features of all nodes.

    Returns:
        A `Score`, which is a float with its ties.

    Raises:
        UsageError: The input is invalid, `x` holds NaN or infinity, or all known labels are equal.

    >>> import torch
    >>> x = torch.tensor([[1., 0.], [1., 1.], [0., 2.], [0., 0.]])
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> score = aggregation_similarity(x, None, y, filter="identity")
    >>> score, score.interval, score.sign.tolist()  # a row of zeros is a tie
    (1.0, (0.75, 1.0), [1, 1, 1, 0])
    >>> aggregation_similarity(x, None, y, filter="identity", ties=">")
    0.75
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
    r"""Compute diversification distinguishability :math:`\mathrm{DD}_{\hat A, X}` (definition 2).

    It is the share of nodes v for which :math:`S = S(I - \hat A, X)` has

    .. math:: \mathrm{Mean}_u(\{S_{v,u} : Z_u = Z_v\}) \ge 0 \quad\text{and}\quad
              \mathrm{Mean}_u(\{S_{v,u} : Z_u \ne Z_v\}) \le 0

    Args:
        x: Features, `[N, F]`, dense or sparse, evaluated in float64 as in `aggregation_similarity`.
            None means :math:`X = Z`, which `norm="rw"` evaluates exactly: the value is 1 on every
            graph of two classes (theorem 2).
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        normalize_features: First divide each row of `x` by the sum of its absolute values.
        ties: ">" requires both inequalities to be strict.
        norm, renormalize, direction, loops, train_mask, neighbor_labels: As in
            `aggregation_homophily`.

    Returns:
        A `Score`. A node is a tie if both inequalities hold and at least one is an equality.

    Raises:
        UsageError: The input is invalid, `x` holds NaN or infinity, or all known labels are equal.

    >>> import torch
    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> diversification_distinguishability(None, path, torch.tensor([0, 0, 1, 1]))
    1.0
    """
    check_options(norm=norm, ties=ties, neighbor_labels=neighbor_labels)
    if x is None:
        graph, in_z = _label_graph(edge_index, y, direction, loops, train_mask, neighbor_labels)
        if norm == "rw":
            sign = exact.diversification_signs(*exact_arguments(graph, renormalize, in_z))
            return Score(sign, ties=ties)
        prepared = _one_hot(graph, in_z)
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
    r"""Compute the similarity matrix :math:`S(M, X) = M X (M X)^T` of a small graph (equation 5).

    Args:
        x: Features, `[N, F]`, dense or sparse; pass one-hot labels for :math:`S(M, Z)`.
        edge_index, filter: As in `aggregation_similarity`.
        norm, renormalize, direction, loops: As in `aggregation_homophily`.

    Returns:
        Similarities, `[N, N]`, float64.

    Raises:
        UsageError: The input is invalid, or the graph has more than 10,000 nodes.

    >>> import torch
    >>> similarity_matrix(torch.eye(2), torch.tensor([[0], [1]]))
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]], dtype=torch.float64)
    """
    check_options(norm=norm, filter=filter)
    if not isinstance(x, Tensor) or x.dim() != 2:
        raise UsageError("x needs shape [N, F]: one row of features for each node")
    if x.size(0) > _MOST_NODES:
        raise UsageError(
            f"a similarity matrix of {x.size(0)} nodes is too large: the limit is {_MOST_NODES}"
            " nodes, and no metric needs the matrix"
        )
    y = torch.zeros(x.size(0), dtype=torch.long, device=x.device)
    graph = _graph(edge_index, y, direction, loops, None, filter)
    mx = features.dense_features(x, x.size(0))
    if filter != "identity":
        low = features.Aggregation(graph, norm, renormalize) @ mx
        mx = low if filter == "low_pass" else mx - low
    return mx @ mx.T


def aggregate(
    prepared: features.Features,
    graph: Graph,
    filter: str,
    low: features.Aggregation | None,
    ties: str,
    modified: bool = False,
) -> Score:
    """Compute `aggregation_similarity` of prepared features and a prepared graph; `low` is `Â`."""
    sums = features.similarity_sums(prepared, graph, filter, low)
    signs = features.aggregation_signs(sums, graph.known_labels, graph.class_sizes)
    return Score(*signs, ties, modified)


def diversify(
    prepared: features.Features, graph: Graph, low: features.Aggregation, ties: str
) -> Score:
    """Compute `diversification_distinguishability` of prepared features and a prepared graph."""
    sums = features.similarity_sums(prepared, graph, "high_pass", low)
    return Score(*features.diversification_signs(sums, graph.known_labels), ties)


def _graph(edge_index, y, direction, loops, train_mask, filter) -> Graph:
    if edge_index is None:
        if filter != "identity":
            raise UsageError("edge_index is None: only filter='identity' works without edges")
        edge_index = torch.empty(2, 0, dtype=torch.long, device=y.device)
    return prepare(edge_index, y, direction, loops, train_mask)


def _label_graph(
    edge_index, y, direction, loops, train_mask, neighbor_labels
) -> tuple[Graph, Tensor | None]:
    """Return the graph and the mask `[N]` of the labels that `Z` holds; None means all labels."""
    if train_mask is None or neighbor_labels == "known":
        return two_classes(prepare(edge_index, y, direction, loops, train_mask)), train_mask
    graph = prepare(edge_index, y, direction, loops)
    check_mask(train_mask, graph.y)
    return two_classes(graph.restricted(train_mask, hide=False)), None


def exact_arguments(
    graph: Graph, renormalize: bool = True, in_z: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return counts, degrees, labels and class sizes of the nodes with known labels.

    These are the arguments of `exact.aggregation_signs` and `exact.diversification_signs`.
    """
    counts, degree = exact.neighbor_counts(graph, renormalize, in_z)
    if graph.known is not None:
        counts, degree = counts[graph.known], degree[graph.known]
    return counts, degree, graph.known_labels, graph.class_sizes


def _one_hot(graph: Graph, in_z: Tensor | None) -> features.Features:
    z = one_hot(graph.y, graph.num_classes).double()
    if in_z is not None:
        z *= in_z[:, None]
    return features.prepare_features(z.to_sparse_csr(), graph.num_nodes, False)
