"""Metrics that count edges: the three of section 2.2 and two of Platonov et al. (2023).

`edge_index`, `y` and the `conventions` are described in `acm.metrics.graph`. A prepared `Graph` may
take the place of `edge_index`; then `y` and the conventions are those of the graph. Every function
raises `UsageError` if the input is invalid or the metric is 0 / 0.
"""

from __future__ import annotations

from typing import TypeAlias, Unpack

import torch
from torch import Tensor

from acm.errors import UsageError
from acm.metrics.graph import Conventions, Graph, check_options, prepare

Edges: TypeAlias = Tensor | Graph


def edge_homophily(edge_index: Edges, y: Tensor, **conventions: Unpack[Conventions]) -> float:
    r"""Compute the share of edges that join equal labels, :math:`H_\text{edge}` (section 2.2).

    .. math:: H_\text{edge} = |\{e_{uv} \in \mathcal E : Z_u = Z_v\}| \,/\, |\mathcal E|

    An undirected edge counts twice, a self-loop once.

    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> edge_homophily(path, torch.tensor([0, 0, 1, 1]))
    0.6666666666666666
    """
    graph = _graph(edge_index, y, conventions)
    counts = _edge_counts(graph)
    return float(counts.trace() / counts.sum())


def node_homophily(edge_index: Edges, y: Tensor, **conventions: Unpack[Conventions]) -> float:
    r"""Average the share of a node's neighbors that have its label, :math:`H_\text{node}`.

    .. math:: H_\text{node} = \frac1{|\mathcal V|} \sum_{v \in \mathcal V}
              |\{u \in \mathcal N_v : Z_u = Z_v\}| \,/\, d_v \qquad\text{(section 2.2)}

    A node without neighbors (share 0 / 0) is left out of the mean, as in the paper's numbers. PyG's
    `homophily` counts 0 for such a node.

    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> node_homophily(path, torch.tensor([0, 0, 1, 1, 0]))
    0.75
    """
    graph = _graph(edge_index, y, conventions)
    same = graph.node[graph.y[graph.node] == graph.y[graph.neighbor]]
    share = torch.bincount(same, minlength=graph.num_nodes).double() / graph.degree
    return float(share[graph.degree > 0].mean())


def class_homophily(edge_index: Edges, y: Tensor, **conventions: Unpack[Conventions]) -> float:
    r"""Measure how far classes are more homophilic than their sizes predict, H_class.

    .. math:: H_\text{class} = \frac1{C - 1} \sum_{k=1}^C
              \Big[h_k - \frac{|\{v : Z_{v,k} = 1\}|}{N}\Big]_+ \qquad\text{(section 2.2)}

    where :math:`h_k` is the share of the edges from class k that end in class k. A class without
    edges or without nodes adds 0 to the sum. C is the largest known label plus one.

    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> round(class_homophily(path, torch.tensor([0, 0, 1, 1])), 4)
    0.3333
    """
    graph = _graph(edge_index, y, conventions)
    if graph.num_classes < 2:
        raise UsageError("y has one class: H_class divides by C - 1")
    counts = _edge_counts(graph)
    share = counts.diagonal() / counts.sum(1).clamp(min=1)
    expected = graph.class_sizes.double() / graph.num_nodes
    return float((share - expected).clamp(min=0).sum() / (graph.num_classes - 1))


def adjusted_homophily(edge_index: Edges, y: Tensor, **conventions: Unpack[Conventions]) -> float:
    r"""Correct edge homophily for the degrees of the classes, :math:`h_\text{adj}`.

    .. math:: h_\text{adj} = \frac{H_\text{edge} - \sum_k \bar p_k^2}{1 - \sum_k \bar p_k^2},
              \qquad \bar p_k = \frac{\sum_{v : Z_v = k} d_v}{\sum_v d_v}

    Platonov et al., "Characterizing graph datasets for node classification" (2023), define it. The
    value is 1 if all edges join equal labels, and 0 if edges are independent of labels. On directed
    graphs, :math:`\bar p_k^2` is the share of edges from class k times the share of edges into k.

    The metric is 0 / 0 if all edges lie in one class.

    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> round(adjusted_homophily(path, torch.tensor([0, 0, 1, 1])), 4)
    0.3333
    """
    graph = _graph(edge_index, y, conventions)
    counts = _edge_counts(graph)
    total = counts.sum()
    expected = counts.sum(1) @ counts.sum(0)
    if bool(expected == total**2):
        raise UsageError("all edges lie in one class: adjusted homophily is 0 / 0")
    return float((counts.trace() * total - expected) / (total**2 - expected))


def label_informativeness(
    edge_index: Edges, y: Tensor, *, form: str = "edge", **conventions: Unpack[Conventions]
) -> float:
    r"""Measure how much a neighbor's label tells about a node's label, :math:`\mathrm{LI}`.

    .. math:: \mathrm{LI} = I(y_\xi, y_\eta) \,/\, H(y_\xi)

    Platonov et al., "Characterizing graph datasets for node classification" (2023), define it.
    :math:`\xi` is a random node and :math:`\eta` one of its neighbors. The metric is 0 / 0 if the
    nodes with neighbors have one label.

    Args:
        edge_index, y, conventions: As in the module.
        form: "edge" draws the pair as an edge, uniformly. "node" draws a node that has neighbors,
            then one of the neighbors. Both forms compare :math:`y_\eta` with its distribution over
            edges, as Platonov et al. do; the node form is a mutual information on regular graphs.

    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> label_informativeness(square, torch.tensor([0, 1, 0, 1]))
    1.0
    """
    check_options(form=form)
    graph = _graph(edge_index, y, conventions)
    counts = _edge_counts(graph)
    joint, end = counts / counts.sum(), counts.sum(0) / counts.sum()
    start = counts.sum(1) / counts.sum()  # exactly 1 for a single class, unlike joint.sum(1)
    if form == "node":
        c, linked = graph.num_classes, graph.degree > 0
        weight = (1 / graph.degree.double())[graph.node]
        joint = torch.bincount(_class_pairs(graph), weight, c * c).reshape(c, c) / linked.sum()
        start = torch.bincount(graph.y[linked], minlength=c).double() / linked.sum()
    if bool((start == 1).any()):
        raise UsageError("all nodes with neighbors are of one class: their entropy is 0")
    entropy = -torch.special.xlogy(start, start).sum()
    expected = torch.where(joint > 0, start[:, None] * end, 1)
    information = torch.special.xlogy(joint, joint) - torch.special.xlogy(joint, expected)
    return float(information.sum() / entropy)


def _graph(edge_index: Edges, y: Tensor, conventions: Conventions) -> Graph:
    if isinstance(edge_index, Graph):
        graph = edge_index
    else:
        settings: Conventions = {"loops": "remove", **conventions}
        graph = prepare(edge_index, y, **settings).among_known()
    if not graph.node.numel():
        raise UsageError("no edges join nodes with known labels: the metric is 0 / 0")
    return graph


def _edge_counts(graph: Graph) -> Tensor:
    """Count edges from each class to each class, `[C, C]`, as float64 (exact below 2**53)."""
    c = graph.num_classes
    return torch.bincount(_class_pairs(graph), minlength=c * c).reshape(c, c).double()


def _class_pairs(graph: Graph) -> Tensor:
    """Number the pair of classes of each edge (v, u): `C y_v + y_u`, `[E]`."""
    return graph.y[graph.node].mul_(graph.num_classes).add_(graph.y[graph.neighbor])
