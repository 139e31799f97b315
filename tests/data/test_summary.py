"""`describe`: counts by hand, and what a reader is told."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from acm.data.graphs import load
from acm.data.summary import describe
from acm.errors import UsageError


@pytest.mark.parametrize("sparse", [False, True])
def test_a_graph_of_ones_own(sparse: bool) -> None:
    x = torch.tensor([[1.0, 0], [0, 0], [2, 3], [0, 0], [0, 1]])
    edge_index = torch.tensor([[0, 1, 1, 2, 3, 1], [1, 0, 2, 1, 3, 2]])  # 3 has a loop, 4 nothing
    data = Data(x.to_sparse_csr() if sparse else x, edge_index, y=torch.tensor([0, 1, 1, 2, 2]))
    summary = describe(data)
    assert (summary.nodes, summary.features, summary.classes) == (5, 2, 3)
    assert (summary.undirected_edges, summary.loops, summary.isolated_nodes) == (2, 1, 2)
    assert (summary.nonzeros, summary.density, summary.zero_rows) == (4, 0.4, 2)
    assert summary.class_counts == (1, 2, 2)
    assert summary.sparse is sparse
    assert summary.raw_rows is None and summary.directed_edges is None
    assert "rows of the edge file       unknown" in str(summary)
    assert "note" not in str(summary)


@pytest.mark.data
def test_what_a_reader_is_told() -> None:
    text = str(describe("cornell"))
    assert text.startswith("cornell\n")
    for line in (
        "nodes                       183",
        "rows of the edge file       298",
        "undirected edges, no loops  277",
        "self-loops                  3",
        "features                    1,703 (sparse)",
        "classes                     5 (33, 1, 18, 101, 30 nodes)",
        "Cornell is not Cornell",
    ):
        assert line in text
    film = str(describe("film"))
    assert "932 (sparse)" in film and "say 931" in film and "33,391" in film
    assert describe("chameleon").zero_rows == 233
    assert describe("citeseer").isolated_nodes == 48
    tolokers = describe("tolokers")
    assert not tolokers.sparse and tolokers.nonzeros == 61101
    assert describe(load("texas", directed=True)) == describe("texas")


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError, match="unknown data set 'imdb'"):
        describe("imdb")
