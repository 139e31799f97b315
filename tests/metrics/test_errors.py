"""Bad input is refused in one line that says what would be right; limiting cases have answers."""

import pytest
import torch

from acm.errors import UsageError
from acm.metrics import (
    adjusted_homophily,
    aggregation_homophily,
    aggregation_similarity,
    all_metrics,
    class_homophily,
    diversification_distinguishability,
    edge_homophily,
    estimates,
    label_informativeness,
    node_homophily,
    similarity_matrix,
)

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])
NONE = torch.empty(2, 0, dtype=torch.long)
Y = torch.tensor([0, 0, 1, 1])
ONE = torch.zeros(4, dtype=torch.long)
X = torch.eye(4)
KNOWN = torch.tensor([True, True, False, False])


@pytest.mark.parametrize("metric", [
    edge_homophily, node_homophily, class_homophily, adjusted_homophily, label_informativeness,
    aggregation_homophily, lambda e, y, **o: aggregation_similarity(X, e, y, **o),
    lambda e, y, **o: diversification_distinguishability(None, e, y, **o),
    lambda e, y, **o: diversification_distinguishability(X, e, y, **o),
])
@pytest.mark.parametrize("edges, y, options, words", [
    (EDGES.T, Y, {}, r"shape \[2, E\]"),
    (EDGES.float(), Y, {}, "integers"),
    (EDGES.tolist(), Y, {}, "integers"),
    (EDGES, Y.float(), {}, r"integer label for each node"),
    (EDGES, Y[:, None], {}, r"shape \[N\]"),
    (EDGES, [0, 0, 1, 1], {}, r"shape \[N\]"),
    (EDGES, Y[:3], {}, "names nodes 0 to 3: y has labels for 0 to 2"),
    (EDGES - 1, Y, {}, "names nodes -1 to 2"),
    (EDGES, Y - 1, {}, "from -1 to 0: classes are numbered from 0"),
    (NONE, Y[:0], {}, "without nodes"),
    (EDGES, Y, {"direction": "both"}, "'both': undirected, out, in are known"),
    (EDGES, Y, {"loops": "no"}, "'no': remove, keep, add are known"),
    (EDGES, Y, {"train_mask": Y}, r"booleans of shape \[4\]"),
    (EDGES, Y, {"train_mask": KNOWN[:3]}, r"booleans of shape \[4\]"),
    (EDGES, Y, {"train_mask": torch.zeros(4, dtype=torch.bool)}, "at least one label"),
])
def test_every_metric_refuses(metric, edges, y, options, words):
    with pytest.raises(UsageError, match=words) as error:
        metric(edges, y, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("call, words", [
    (lambda: edge_homophily(NONE, Y), "no edges"),
    (lambda: edge_homophily(torch.tensor([[0], [0]]), Y), "no edges"),  # loops are removed
    (lambda: edge_homophily(EDGES[:, 2:], Y, train_mask=KNOWN), "no edges"),
    (lambda: node_homophily(NONE, Y), "isolated='zero'"),
    (lambda: node_homophily(EDGES, Y, isolated="one"), "skip and zero"),
    (lambda: class_homophily(EDGES, ONE), "one class"),
    (lambda: class_homophily(EDGES, Y, num_classes=1), "from 0 to 0"),
    (lambda: adjusted_homophily(NONE, Y), "no edges"),
    (lambda: adjusted_homophily(EDGES, ONE), "one class"),
    (lambda: label_informativeness(EDGES, ONE), "entropy"),
    (lambda: label_informativeness(EDGES, Y, form="path"), "edge and node"),
    (lambda: aggregation_homophily(EDGES, ONE), "one class"),
    (lambda: aggregation_homophily(EDGES, Y, train_mask=KNOWN), "one class"),
    (lambda: aggregation_homophily(EDGES, Y, norm="left"), "rw, sym"),
    (lambda: aggregation_homophily(EDGES, Y, ties="="), ">=, >"),
    (lambda: aggregation_homophily(EDGES, Y, neighbor_labels="some"), "known, all"),
    (lambda: aggregation_similarity(X, EDGES, ONE), "one class"),
    (lambda: aggregation_similarity(X[:3], EDGES, Y), r"\[4, F\]"),
    (lambda: aggregation_similarity(X[0], EDGES, Y), r"\[4, F\]"),
    (lambda: aggregation_similarity(X[:, :0], EDGES, Y), r"\[4, F\]"),
    (lambda: aggregation_similarity(X / 0, EDGES, Y), "NaN or infinite"),
    (lambda: aggregation_similarity((X - 2).sqrt().to_sparse_csr(), EDGES, Y), "NaN or infinite"),
    (lambda: aggregation_similarity(X, EDGES, Y, filter="band"), "low_pass, high_pass, identity"),
    (lambda: aggregation_similarity(X, None, Y), "only filter='identity'"),
    (lambda: diversification_distinguishability(X, EDGES, ONE), "one class"),
    (lambda: diversification_distinguishability(None, EDGES, ONE), "one class"),
    (lambda: similarity_matrix(Y, EDGES), "shape"),
    (lambda: similarity_matrix(torch.zeros(10_001, 1), EDGES), "10001 nodes is too large"),
    (lambda: all_metrics(X, EDGES, ONE), "one class"),
    (lambda: all_metrics(X, NONE, Y), "no edges"),
    (lambda: all_metrics(None, EDGES, Y, ties="<"), ">=, >"),
    (lambda: estimates(X, EDGES, Y, [KNOWN]), "one class"),
    (lambda: estimates(X, EDGES, Y, [KNOWN[:2]]), "booleans"),
])
def test_what_has_no_answer(call, words):
    with pytest.raises(UsageError, match=words) as error:
        call()
    assert "\n" not in str(error.value)


def test_limiting_cases_that_have_an_answer():
    # No edges: every node aggregates itself.
    assert aggregation_homophily(NONE, Y) == 1
    # Without the identity added there is nothing to aggregate: everything ties.
    score = aggregation_homophily(NONE, Y, renormalize=False)
    assert (score, score.ties) == (1, 1)
    assert diversification_distinguishability(None, NONE, Y) == 1
    assert class_homophily(NONE, Y) == 0
    assert node_homophily(NONE, Y, isolated="zero") == 0
    assert edge_homophily(EDGES, ONE) == 1
    # A class that nobody is in counts in C alone.
    assert class_homophily(EDGES, Y, num_classes=4) == class_homophily(EDGES, Y) / 3
    gap = torch.tensor([0, 0, 5, 5])
    assert aggregation_homophily(EDGES, gap) == aggregation_homophily(EDGES, Y)
    # All features zero: 0 against 0, for every node, and nothing is undecided.
    score = aggregation_similarity(torch.zeros(4, 2), EDGES, Y)
    assert score.ties == 1 and not score.undecided.any()
    score = aggregation_similarity(torch.zeros(4, 2).to_sparse_csr(), None, Y, filter="identity",
                                   ties=">", normalize_features=True)
    assert score == 0 and score.ties == 1
