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
)

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])
NONE = torch.empty(2, 0, dtype=torch.long)
Y = torch.tensor([0, 0, 1, 1])
ONE = torch.zeros(4, dtype=torch.long)
X = torch.eye(4)
KNOWN = torch.tensor([True, True, False, False])


@pytest.mark.parametrize(
    "metric",
    [
        edge_homophily,
        node_homophily,
        class_homophily,
        adjusted_homophily,
        label_informativeness,
        aggregation_homophily,
        lambda e, y, **o: aggregation_similarity(X, e, y, **o),
        lambda e, y, **o: diversification_distinguishability(None, e, y, **o),
        lambda e, y, **o: diversification_distinguishability(X, e, y, **o),
    ],
)
@pytest.mark.parametrize(
    "edges, y, options, words",
    [
        (EDGES.T, Y, {}, r"shape \[2, E\]"),
        (EDGES.float(), Y, {}, "integers"),
        (EDGES, Y.float(), {}, "integers"),
        (EDGES, Y[:, None], {}, r"shape \[N\]"),
        (EDGES, Y[:3], {}, "names nodes 0 to 3: y has labels for 0 to 2"),
        (EDGES - 1, Y, {}, "names nodes -1 to 2"),
        (EDGES, Y - 1, {}, "from -1 to 0 for 4 nodes: exclude nodes"),
        (NONE, Y[:0], {}, "without nodes"),
        (EDGES, Y + 10**6, {}, r"torch.unique\(y, return_inverse=True\)"),
        (EDGES, Y + 2**62, {}, r"torch.unique\(y, return_inverse=True\)"),
        (EDGES, torch.arange(10_001), {}, "up to 10,000 classes"),
        (EDGES, (Y - 1).to(torch.uint64), {}, "from -1 to 0"),
        ((EDGES - 1).to(torch.uint64), Y, {}, "names nodes -1 to 2"),
        (EDGES, Y, {"direction": "both"}, "'both': expected undirected, out, in"),
        (EDGES, Y, {"loops": "no"}, "'no': expected remove, keep, add"),
        (EDGES, Y, {"train_mask": Y}, r"booleans of shape \[4\]"),
        (EDGES, Y, {"train_mask": KNOWN[:3]}, r"booleans of shape \[4\]"),
        (EDGES, Y, {"train_mask": torch.zeros(4, dtype=torch.bool)}, "not all false"),
    ],
)
def test_every_metric_refuses(metric, edges, y, options, words):
    with pytest.raises(UsageError, match=words) as error:
        metric(edges, y, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: edge_homophily(NONE, Y), "no edges"),
        (lambda: edge_homophily(torch.tensor([[0], [0]]), Y), "no edges"),  # loops are removed
        (lambda: edge_homophily(EDGES[:, 2:], Y, train_mask=KNOWN), "no edges"),
        (lambda: node_homophily(NONE, Y), "no edges"),
        (lambda: class_homophily(EDGES, ONE), "one class"),
        (lambda: class_homophily(NONE, Y), "no edges"),
        (lambda: adjusted_homophily(NONE, Y), "no edges"),
        (lambda: adjusted_homophily(EDGES, ONE), "one class"),
        (lambda: label_informativeness(EDGES, ONE), "entropy"),
        (lambda: label_informativeness(EDGES, Y, form="path"), "expected edge, node"),
        (lambda: aggregation_homophily(EDGES, ONE), "one class"),
        (lambda: aggregation_homophily(EDGES, Y, train_mask=KNOWN), "one class"),
        (lambda: aggregation_homophily(EDGES, Y, ties="="), ">=, >"),
        (lambda: estimates(X, EDGES, Y, [KNOWN], "some"), "known, all"),
        (lambda: aggregation_similarity(X, EDGES, ONE), "one class"),
        (lambda: aggregation_similarity(X[:3], EDGES, Y), r"\[4, F\]"),
        (lambda: aggregation_similarity(X[0], EDGES, Y), r"\[4, F\]"),
        (lambda: aggregation_similarity(X[:, :0], EDGES, Y), r"\[4, F\]"),
        (lambda: aggregation_similarity(X / 0, EDGES, Y), "NaN or infinite"),
        (
            lambda: aggregation_similarity((X - 2).sqrt().to_sparse_csr(), EDGES, Y),
            "NaN or infinite",
        ),
        (
            lambda: aggregation_similarity(X, EDGES, Y, filter="band"),
            "low_pass, high_pass, identity",
        ),
        (lambda: aggregation_similarity(X, None, Y), "only filter='identity'"),
        (lambda: diversification_distinguishability(X, EDGES, ONE), "one class"),
        (lambda: diversification_distinguishability(None, EDGES, ONE), "one class"),
        (lambda: aggregation_similarity(X * 1j, EDGES, Y), "real numbers"),
        (lambda: aggregation_similarity((X * 1j).to_sparse_coo(), EDGES, Y), "real numbers"),
        (lambda: all_metrics(X, EDGES, ONE), "one class"),
        (lambda: all_metrics(X, NONE, Y), "no edges"),
        (lambda: all_metrics(None, EDGES, Y, ties="<"), ">=, >"),
        (lambda: estimates(X, EDGES, Y, [KNOWN]), "one class"),
        (lambda: estimates(X, EDGES, Y, [KNOWN[:2]]), "booleans"),
    ],
)
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
    assert edge_homophily(EDGES, ONE) == 1
    # A class that nobody is in counts in C alone.
    assert class_homophily(EDGES, torch.tensor([0, 0, 4, 4])) == class_homophily(EDGES, Y) / 4
    gap = torch.tensor([0, 0, 5, 5])
    assert aggregation_homophily(EDGES, gap) == aggregation_homophily(EDGES, Y)
    # All features zero: 0 against 0, for every node, and nothing is undecided.
    score = aggregation_similarity(torch.zeros(4, 2), EDGES, Y)
    assert score.ties == 1 and not score.undecided.any()
    score = aggregation_similarity(
        torch.zeros(4, 2).to_sparse_csr(),
        None,
        Y,
        filter="identity",
        ties=">",
        normalize_features=True,
    )
    assert score == 0 and score.ties == 1


def test_lists_are_tensors_too():
    assert edge_homophily(EDGES.tolist(), Y.tolist()) == edge_homophily(EDGES, Y)


@pytest.mark.parametrize("kind", [torch.uint8, torch.uint16, torch.uint32, torch.uint64])
def test_unsigned_integers_are_integers(kind):
    assert edge_homophily(EDGES.to(kind), Y.to(kind)) == edge_homophily(EDGES, Y)


def test_what_is_0_by_0_is_nan_among_the_others():
    linked = torch.tensor([[0, 1, 2], [1, 2, 0]])  # a triangle within class 0
    found = all_metrics(None, linked, torch.tensor([0, 0, 0, 1]))
    assert {name for name, value in found.items() if value != value} == {
        "h_adj",
        "LI_edge",
        "LI_node",
    }
    assert found["H_edge"] == found["H_node"] == 1
    # Stars: all edges leave class 0, whose share 3 / 3 must not be lost to rounding.
    star = torch.tensor([[0] * 49, list(range(1, 50))])
    y = torch.arange(50) % 49
    found = all_metrics(None, star, y, direction="out")
    assert found["LI_edge"] != found["LI_edge"] and found["h_adj"] == found["h_adj"]
