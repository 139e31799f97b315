"""Metrics of the similarity matrix `S(M, X) = M X (M X)ᵀ` (section 3), with `Â = (D + I)⁻¹(A + I)`.

`edge_index`, `y` and the `conventions` are described in `acm.metrics.graph`. `ties=">="` counts a
node whose two sides are equal, as definitions 1 and 2 do; `ties=">"` does not. Labels are compared
in exact integers. Features are compared in float64 with a bound of the rounding errors: a node
whose difference is below the bound is undecided and counts as a tie, so that `Score.interval`
encloses the exact value.

Every function raises `UsageError` if the input is invalid or all known labels are equal.
"""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from acm.errors import UsageError
from acm.metrics import exact, features
from acm.metrics.graph import Conventions, check_options, prepare, two_classes


class Score(float):
    """The share of nodes for which a comparison holds: a `float` with its ties as attributes.

    Attributes:
        sign: The comparison of each of the n nodes, `[n]`, int8: 1 if it holds strictly, 0 if the
            sides are equal, -1 if it fails.
        undecided: Mask `[n]` of the nodes that rounding errors leave open; the sign of an undecided
            node is 0. An exact evaluation has none.
        interval: The value without the ties and the value with the ties. The interval encloses
            both exact values if there are undecided nodes.
        ties: The share of nodes with sign 0.
    """

    sign: Tensor
    undecided: Tensor
    interval: tuple[float, float]
    ties: float
    _arguments: tuple

    def __new__(
        cls, sign: Tensor, undecided: Tensor | None = None, ties: str = ">=", modified: bool = False
    ) -> Score:
        check_options(ties=ties)
        shares = [int((sign >= least).sum()) / sign.numel() for least in (1, 0)]
        low, high = (max(2 * share - 1, 0.0) if modified else share for share in shares)
        self = super().__new__(cls, high if ties == ">=" else low)
        none = torch.zeros_like(sign, dtype=torch.bool)
        self.sign, self.undecided = sign, none if undecided is None else undecided
        self.interval, self.ties = (low, high), int((sign == 0).sum()) / sign.numel()
        self._arguments = sign, undecided, ties, modified
        return self

    def __getnewargs__(self) -> tuple:  # for copies and pickles
        return self._arguments


def aggregation_homophily(
    edge_index: Tensor,
    y: Tensor,
    *,
    renormalize: bool = True,
    ties: str = ">=",
    modified: bool = False,
    **conventions: Unpack[Conventions],
) -> Score:
    r"""Compute aggregation homophily :math:`H_\text{agg}` or :math:`H_\text{agg}^M` (section 3.1).

    .. math:: H_\text{agg} = S_\text{agg}(S(\hat A, Z)),
              \qquad H_\text{agg}^M = [2 H_\text{agg} - 1]_+

    It is the share of nodes v whose aggregated label :math:`(\hat A Z)_v` is on average at least as
    similar to those of v's class as to those of the other classes.

    Args:
        edge_index, y, ties, conventions: As in the module. An unknown label has a row of zeros in
            Z.
        renormalize: False means :math:`\hat A = D^{-1} A`, where no node counts itself.
        modified: Return :math:`H_\text{agg}^M`.

    >>> bipartite = torch.tensor([[0, 0, 1, 1], [2, 3, 2, 3]])
    >>> score = aggregation_homophily(bipartite, torch.tensor([0, 0, 1, 1]))
    >>> score, score.interval, score.ties
    (1.0, (1.0, 1.0), 0.0)
    """
    graph = two_classes(prepare(edge_index, y, **conventions))
    return Score(exact.aggregation_signs(graph, graph.known, renormalize), None, ties, modified)


def aggregation_similarity(
    x: Tensor,
    edge_index: Tensor | None,
    y: Tensor,
    *,
    filter: str = "low_pass",
    normalize_features: bool = False,
    ties: str = ">=",
    **conventions: Unpack[Conventions],
) -> Score:
    r"""Compute aggregation similarity :math:`S_\text{agg}` (definition 1).

    .. math:: S_\text{agg}(S) = \frac{|\{v : \mathrm{Mean}_u(\{S_{v,u} : Z_u = Z_v\}) \ge
              \mathrm{Mean}_u(\{S_{v,u} : Z_u \ne Z_v\})\}|}{|\mathcal V|},
              \qquad S = S(M, X) = M X (M X)^T

    The paper's Table 7 has `normalize_features=True` and `ties=">"`.

    Args:
        x: Features, `[N, F]`, dense or sparse, of all nodes.
        edge_index: Edges, `[2, E]`; None is allowed for `filter="identity"`, which needs no edges.
        filter: M: "low_pass" is :math:`\hat A`, "identity" is :math:`I`, "high_pass" is
            :math:`I - \hat A`.
        normalize_features: First divide each row of `x` by the sum of its absolute values.
        y, ties, conventions: As in the module.

    >>> x = torch.tensor([[1., 0.], [1., 1.], [0., 2.], [0., 0.]])
    >>> y = torch.tensor([0, 0, 1, 1])
    >>> score = aggregation_similarity(x, None, y, filter="identity")
    >>> score, score.interval, score.sign.tolist()  # a row of zeros is a tie
    (1.0, (0.75, 1.0), [1, 1, 1, 0])
    >>> aggregation_similarity(x, None, y, filter="identity", ties=">")
    0.75
    """
    check_options(filter=filter)
    if edge_index is None:
        if filter != "identity":
            raise UsageError("edge_index is None: only filter='identity' works without edges")
        edge_index = torch.empty(2, 0, dtype=torch.long, device=y.device)
    graph = two_classes(prepare(edge_index, y, **conventions))
    prepared = features.prepare_features(x, graph.num_nodes, normalize_features)
    low = None if filter == "identity" else features.Aggregation(graph)
    return Score(*features.aggregation_signs(prepared, graph, filter, low), ties)


def diversification_distinguishability(
    x: Tensor | None,
    edge_index: Tensor,
    y: Tensor,
    *,
    normalize_features: bool = False,
    ties: str = ">=",
    **conventions: Unpack[Conventions],
) -> Score:
    r"""Compute diversification distinguishability :math:`\mathrm{DD}_{\hat A, X}` (definition 2).

    It is the share of nodes v for which :math:`S = S(I - \hat A, X)` has

    .. math:: \mathrm{Mean}_u(\{S_{v,u} : Z_u = Z_v\}) \ge 0 \quad\text{and}\quad
              \mathrm{Mean}_u(\{S_{v,u} : Z_u \ne Z_v\}) \le 0

    A node is a tie if both inequalities hold and at least one is an equality.

    Args:
        x: Features, `[N, F]`, dense or sparse. None means :math:`X = Z`, where an unknown label has
            a row of zeros. The value is then 1 on every graph of two classes (theorem 2).
        normalize_features: First divide each row of `x` by the sum of its absolute values.
        edge_index, y, ties, conventions: As in the module.

    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> diversification_distinguishability(None, path, torch.tensor([0, 0, 1, 1]))
    1.0
    """
    graph = two_classes(prepare(edge_index, y, **conventions))
    if x is None:
        return Score(exact.diversification_signs(graph, graph.known), ties=ties)
    prepared = features.prepare_features(x, graph.num_nodes, normalize_features)
    signs = features.diversification_signs(prepared, graph, features.Aggregation(graph))
    return Score(*signs, ties)
