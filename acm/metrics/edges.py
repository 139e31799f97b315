"""Metrics that count edges: the three of section 2.2, and two that came later."""

from __future__ import annotations

import torch
from torch import Tensor

from acm.errors import UsageError
from acm.metrics.graph import Graph, prepare


def edge_homophily(
    edge_index: Tensor,
    y: Tensor,
    *,
    direction: str = "undirected",
    loops: str = "remove",
    train_mask: Tensor | None = None,
) -> float:
    r"""The share of edges within a class, :math:`H_\text{edge}` (section 2.2).

    .. math:: H_\text{edge} = |\{e_{uv} \in \mathcal E : Z_u = Z_v\}| \,/\, |\mathcal E|

    Edges are counted as ones of `A`, so that an undirected edge counts twice and a loop once.

    Args:
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        direction, loops, train_mask: See `acm.metrics.graph`. With `train_mask`, edges with an
            unlabelled end are left out.

    Raises:
        UsageError: Bad input, or a graph without edges, which has no such share.

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
    r"""The mean share of a node's neighbours that are of its class, :math:`H_\text{node}`.

    .. math:: H_\text{node} = \frac1{|\mathcal V|} \sum_{v \in \mathcal V}
              |\{u \in \mathcal N_v : Z_u = Z_v\}| \,/\, d_v \qquad\text{(section 2.2)}

    Args:
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        isolated: The paper's graph is connected; of a node without neighbours, where the share is
            0 / 0, `"skip"` takes the mean over the other nodes (the paper's numbers) and `"zero"`
            counts 0 (PyG's `homophily`).
        direction, loops, train_mask: See `acm.metrics.graph`. With `train_mask`, the nodes and
            neighbours with known labels are those that there are.

    Raises:
        UsageError: Bad input, or no node is left to take the mean over.

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
    r"""How far each class is more homophilic than its size explains, :math:`H_\text{class}`.

    .. math:: H_\text{class} = \frac1{C - 1} \sum_{k=1}^C
              \Big[h_k - \frac{|\{v : Z_{v,k} = 1\}|}{N}\Big]_+ \qquad\text{(section 2.2)}

    where :math:`h_k` is the share of the edges of class k that stay within it. A class without
    edges or without nodes adds nothing.

    Args:
        edge_index: Edges, `[2, E]`.
        y: Labels, `[N]`.
        num_classes: C; by default one more than the largest label that is known.
        direction, loops, train_mask: See `acm.metrics.graph`. With `train_mask`, all counts are
            those of the subgraph with known labels.

    Raises:
        UsageError: Bad input, or there is one class only.

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
    r"""Edge homophily beyond what the degrees of the classes explain, :math:`h_\text{adj}`.

    .. math:: h_\text{adj} = \frac{H_\text{edge} - \sum_k \bar p_k^2}{1 - \sum_k \bar p_k^2},
              \qquad \bar p_k = \frac{\sum_{v : Z_v = k} d_v}{\sum_v d_v}

    Not of the paper: Platonov et al., "Characterizing graph datasets for node classification"
    (2023). It is 1 where all edges stay within classes, 0 where they are as if drawn at random.
    On a directed graph the two factors of each square are the shares of both ends.

    Arguments are those of `edge_homophily`.

    Raises:
        UsageError: Bad input, no edges, or all edges have both ends in one class.

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
    r"""How much of a node's label a neighbour's label tells, :math:`\mathrm{LI}`.

    .. math:: \mathrm{LI} = I(y_\xi, y_\eta) \,/\, H(y_\xi)

    Not of the paper: Platonov et al., "Characterizing graph datasets for node classification"
    (2023). :math:`\xi` is a random node and :math:`\eta` its neighbour: both ends of an edge drawn
    uniformly (`form="edge"`), or a node with neighbours drawn uniformly and then one of them
    (`form="node"`). As there, the reference distribution of :math:`y_\eta` is in both forms the one
    over the ends of edges, so that the node form is a mutual information only on regular graphs.

    Other arguments are those of `edge_homophily`.

    Raises:
        UsageError: Bad input, no edges, or one class only, whose entropy is zero.

    >>> import torch
    >>> square = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    >>> label_informativeness(square, torch.tensor([0, 1, 0, 1]))
    1.0
    """
    return informativeness(prepare(edge_index, y, direction, loops, train_mask), form)


def _class_pairs(graph: Graph) -> Tensor:
    """The class of each node of a pair times C, plus that of its neighbour, `[E]`."""
    pairs = graph.y[graph.node]
    pairs *= graph.num_classes
    pairs += graph.y[graph.neighbor]
    return pairs


def _edge_counts(graph: Graph) -> Tensor:
    """Pairs from each class to each class, `[C, C]`, as float64, which counts exactly to 2**53."""
    c = graph.num_classes
    counts = torch.bincount(_class_pairs(graph), minlength=c * c).reshape(c, c)
    if not graph.node.numel():
        raise UsageError(
            "the graph has no edges (between nodes with known labels): without any,"
            " this metric is 0 / 0"
        )
    return counts.double()


def edge_share(graph: Graph) -> float:
    """`edge_homophily` of a prepared graph."""
    counts = _edge_counts(graph.among_known())
    return float(counts.trace() / counts.sum())


def node_share(graph: Graph, isolated: str = "skip") -> float:
    """`node_homophily` of a prepared graph."""
    if isolated not in ("skip", "zero"):
        raise UsageError(f"unknown isolated {isolated!r}: skip and zero are known")
    graph = graph.among_known()
    same = graph.node[graph.y[graph.node] == graph.y[graph.neighbor]]
    share = torch.bincount(same, minlength=graph.num_nodes).double() / graph.degree.clamp(min=1)
    if isolated == "skip":
        share = share[graph.degree > 0]
        if not share.numel():
            raise UsageError(
                "no node has a neighbour (with a known label): isolated='zero' makes"
                " H_node zero then"
            )
    return float(share.mean())


def class_share(graph: Graph, num_classes: int | None = None) -> float:
    """`class_homophily` of a prepared graph."""
    graph = graph.among_known()
    classes = graph.num_classes if num_classes is None else num_classes
    if classes < 2:
        raise UsageError("there is one class only: H_class divides by C - 1")
    if not graph.node.numel():
        return 0.0
    counts = _edge_counts(graph)
    share = counts.diagonal() / counts.sum(1).clamp(min=1)
    expected = graph.class_sizes.double() / graph.num_nodes
    return float((share - expected).clamp(min=0).sum() / (classes - 1))


def adjusted_share(graph: Graph) -> float:
    """`adjusted_homophily` of a prepared graph."""
    counts = _edge_counts(graph.among_known())
    total = counts.sum()
    expected = counts.sum(1) @ counts.sum(0)
    if bool(expected == total**2):
        raise UsageError("all edges have both ends in one class: adjusted homophily is 0 / 0 then")
    return float((counts.trace() * total - expected) / (total**2 - expected))


def informativeness(graph: Graph, form: str = "edge") -> float:
    """`label_informativeness` of a prepared graph."""
    if form not in ("edge", "node"):
        raise UsageError(f"unknown form {form!r}: edge and node are known")
    graph = graph.among_known()
    counts = _edge_counts(graph)
    ends = counts.sum(0) / counts.sum()
    joint = counts / counts.sum()
    if form == "node":
        c, linked = graph.num_classes, graph.degree > 0
        weight = (1 / graph.degree.double())[graph.node]
        joint = torch.bincount(_class_pairs(graph), weight, c * c).reshape(c, c) / linked.sum()
        start = torch.bincount(graph.y[linked], minlength=c).double() / linked.sum()
    else:
        start = counts.sum(1) / counts.sum()  # one rounding: exactly 1 for a single class
    entropy = -torch.special.xlogy(start, start).sum()
    if bool((start == 1).any()):
        raise UsageError("all nodes with neighbours are of one class: its label has no entropy")
    expected = torch.where(joint > 0, start[:, None] * ends, 1)
    information = torch.special.xlogy(joint, joint) - torch.special.xlogy(joint, expected)
    return float(information.sum() / entropy)
