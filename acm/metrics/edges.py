"""Metrics that count edges: the three of section 2.2 and two of Platonov et al. (2023)."""

from __future__ import annotations

import torch
from torch import Tensor

from acm.errors import UsageError
from acm.metrics.graph import Graph, check_options, prepare


def edge_homophily(
    edge_index: Tensor,
    y: Tensor,
    *,
    direction: str = "undirected",
    loops: str = "remove",
    train_mask: Tensor | None = None,
) -> float:
    r"""Compute the share of edges that join equal labels, :math:`H_\text{edge}` (section 2.2).

    .. math:: H_\text{edge} = |\{e_{uv} \in \mathcal E : Z_u = Z_v\}| \,/\, |\mathcal E|

    Args:
        edge_index: Edges, `[2, E]`. The metric counts the ones of `A`: an undirected edge counts
            twice, a self-loop once.
        y: Labels, `[N]`.
        direction, loops, train_mask: See `acm.metrics.graph`. With `train_mask`, only edges between
            nodes with known labels count.

    Raises:
        UsageError: The input is invalid or the graph has no edges.

    >>> import torch
    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> edge_homophily(path, torch.tensor([0, 0, 1, 1]))
    0.6666666666666666
    """
    return edge_share(prepare(edge_index, y, direction, loops, train_mask))


def node_homophily(
    edge_index: Tensor,
    y: Tensor,
    *,
    direction: str = "undirected",
    loops: str = "remove",
    isolated: str = "skip",
    train_mask: Tensor | None = None,
) -> float:
    r"""Average the share of a node's neighbors that have its label, :math:`H_\text{node}`.

    .. math:: H_\text{node} = \frac1{|\mathcal V|} \sum_{v \in \mathcal V}
              |\{u \in \mathcal N_v : Z_u = Z_v\}| \,/\, d_v \qquad\text{(section 2.2)}

    Args:
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        isolated: What a node without neighbors (share 0 / 0) contributes: "skip" leaves the node
            out of the mean, as in the paper's numbers; "zero" counts 0, as PyG's `homophily` does.
        direction, loops, train_mask: As in `edge_homophily`.

    Raises:
        UsageError: The input is invalid, or every node is isolated and `isolated="skip"`.

    >>> import torch
    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> node_homophily(path, torch.tensor([0, 0, 1, 1, 0]))
    0.75
    >>> node_homophily(path, torch.tensor([0, 0, 1, 1, 0]), isolated="zero")
    0.6
    """
    return node_share(prepare(edge_index, y, direction, loops, train_mask), isolated)


def class_homophily(
    edge_index: Tensor,
    y: Tensor,
    *,
    num_classes: int | None = None,
    direction: str = "undirected",
    loops: str = "remove",
    train_mask: Tensor | None = None,
) -> float:
    r"""Measure how far classes are more homophilic than their sizes predict, H_class.

    .. math:: H_\text{class} = \frac1{C - 1} \sum_{k=1}^C
              \Big[h_k - \frac{|\{v : Z_{v,k} = 1\}|}{N}\Big]_+ \qquad\text{(section 2.2)}

    where :math:`h_k` is the share of the edges from class k that end in class k. A class without
    edges or without nodes adds 0 to the sum.

    Args:
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        num_classes: C; the default is the largest known label plus one.
        direction, loops, train_mask: As in `edge_homophily`. With `train_mask`, N and the class
            sizes also count only nodes with known labels.

    Raises:
        UsageError: The input is invalid or C is 1.

    >>> import torch
    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> round(class_homophily(path, torch.tensor([0, 0, 1, 1])), 4)
    0.3333
    """
    graph = prepare(edge_index, y, direction, loops, train_mask, num_classes)
    return class_share(graph, num_classes)


def adjusted_homophily(
    edge_index: Tensor,
    y: Tensor,
    *,
    direction: str = "undirected",
    loops: str = "remove",
    train_mask: Tensor | None = None,
) -> float:
    r"""Correct edge homophily for the degrees of the classes, :math:`h_\text{adj}`.

    .. math:: h_\text{adj} = \frac{H_\text{edge} - \sum_k \bar p_k^2}{1 - \sum_k \bar p_k^2},
              \qquad \bar p_k = \frac{\sum_{v : Z_v = k} d_v}{\sum_v d_v}

    Platonov et al., "Characterizing graph datasets for node classification" (2023), define it. The
    value is 1 if all edges join equal labels, and 0 if edges are independent of labels. On directed
    graphs, :math:`\bar p_k^2` is the share of edges from class k times the share of edges into k.

    The arguments are those of `edge_homophily`.

    Raises:
        UsageError: The input is invalid, the graph has no edges, or all edges lie in one class.

    >>> import torch
    >>> path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    >>> round(adjusted_homophily(path, torch.tensor([0, 0, 1, 1])), 4)
    0.3333
    """
    return adjusted_share(prepare(edge_index, y, direction, loops, train_mask))


def label_informativeness(
    edge_index: Tensor,
    y: Tensor,
    *,
    form: str = "edge",
    direction: str = "undirected",
    loops: str = "remove",
    train_mask: Tensor | None = None,
) -> float:
    r"""Measure how much a neighbor's label tells about a node's label, :math:`\mathrm{LI}`.

    .. math:: \mathrm{LI} = I(y_\xi, y_\eta) \,/\, H(y_\xi)

    Platonov et al., "Characterizing graph datasets for node classification" (2023), define it.
    :math:`\xi` is a random node and :math:`\eta` one of its neighbors.

    Args:
        form: "edge" draws the pair as an edge, uniformly. "node" draws a node that has neighbors,
            then one of the neighbors. Both forms compare :math:`y_\eta` with its distribution over
            edges, as Platonov et al. do; the node form is a mutual information on regular graphs.
        edge_index, y, direction, loops, train_mask: As in `edge_homophily`.

    Raises:
        UsageError: The input is invalid, the graph has no edges, or the nodes with neighbors have
            one label, so that the entropy is 0.

    >>> import torch
    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> label_informativeness(square, torch.tensor([0, 1, 0, 1]))
    1.0
    """
    return informativeness(prepare(edge_index, y, direction, loops, train_mask), form)


def _class_pairs(graph: Graph) -> Tensor:
    """Number the pair of classes of each edge (v, u): `C y_v + y_u`, `[E]`."""
    pairs = graph.y[graph.node]
    pairs *= graph.num_classes
    pairs += graph.y[graph.neighbor]
    return pairs


def _edge_counts(graph: Graph) -> Tensor:
    """Count edges from each class to each class, `[C, C]`, as float64 (exact below 2**53)."""
    c = graph.num_classes
    counts = torch.bincount(_class_pairs(graph), minlength=c * c).reshape(c, c)
    if not graph.node.numel():
        raise UsageError(
            "the graph has no edges between nodes with known labels: the metric is 0 / 0"
        )
    return counts.double()


def edge_share(graph: Graph) -> float:
    """Compute `edge_homophily` of a prepared graph."""
    counts = _edge_counts(graph.among_known())
    return float(counts.trace() / counts.sum())


def node_share(graph: Graph, isolated: str = "skip") -> float:
    """Compute `node_homophily` of a prepared graph."""
    check_options(isolated=isolated)
    graph = graph.among_known()
    same = graph.node[graph.y[graph.node] == graph.y[graph.neighbor]]
    share = torch.bincount(same, minlength=graph.num_nodes).double() / graph.degree.clamp(min=1)
    if isolated == "skip":
        share = share[graph.degree > 0]
        if not share.numel():
            raise UsageError(
                "no node has a neighbor with a known label: H_node is 0 / 0, and 0 with"
                " isolated='zero'"
            )
    return float(share.mean())


def class_share(graph: Graph, num_classes: int | None = None) -> float:
    """Compute `class_homophily` of a prepared graph."""
    graph = graph.among_known()
    classes = graph.num_classes if num_classes is None else num_classes
    if classes < 2:
        raise UsageError("y has one class: H_class divides by C - 1")
    if not graph.node.numel():
        return 0.0
    counts = _edge_counts(graph)
    share = counts.diagonal() / counts.sum(1).clamp(min=1)
    expected = graph.class_sizes.double() / graph.num_nodes
    return float((share - expected).clamp(min=0).sum() / (classes - 1))


def adjusted_share(graph: Graph) -> float:
    """Compute `adjusted_homophily` of a prepared graph."""
    counts = _edge_counts(graph.among_known())
    total = counts.sum()
    expected = counts.sum(1) @ counts.sum(0)
    if bool(expected == total**2):
        raise UsageError("all edges lie in one class: adjusted homophily is 0 / 0")
    return float((counts.trace() * total - expected) / (total**2 - expected))


def informativeness(graph: Graph, form: str = "edge") -> float:
    """Compute `label_informativeness` of a prepared graph."""
    check_options(form=form)
    graph = graph.among_known()
    counts = _edge_counts(graph)
    joint, end = counts / counts.sum(), counts.sum(0) / counts.sum()
    if form == "node":
        c, has_neighbors = graph.num_classes, graph.degree > 0
        weight = (1 / graph.degree.double())[graph.node]
        joint = (
            torch.bincount(_class_pairs(graph), weight, c * c).reshape(c, c) / has_neighbors.sum()
        )
        start = torch.bincount(graph.y[has_neighbors], minlength=c).double() / has_neighbors.sum()
    else:
        start = counts.sum(1) / counts.sum()  # exactly 1 for a single class, unlike joint.sum(1)
    entropy = -torch.special.xlogy(start, start).sum()
    if bool((start == 1).any()):
        raise UsageError(
            "all nodes with neighbors are of one class: the entropy of the labels is 0"
        )
    expected = torch.where(joint > 0, start[:, None] * end, 1)
    information = torch.special.xlogy(joint, joint) - torch.special.xlogy(joint, expected)
    return float(information.sum() / entropy)
