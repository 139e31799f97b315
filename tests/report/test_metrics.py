"""Tables and figures of the metrics; the printed numbers themselves are in tests/metrics."""

import statistics

import pytest
import torch

from acm.metrics import node_homophily
from acm.paper import printed
from acm.report.figures import (
    local_homophily,
    plot_homophily,
    plot_node_distributions,
    plot_ties,
)
from acm.report.pages.data import (
    estimates_table,
    highlight_printed,
    standard_errors,
    uniform_mask,
    verdict,
)


@pytest.mark.parametrize(
    "value, interval, expected",
    [
        (0.84696, (0.84, 0.85), "exact"),
        (0.84704, (0.84704, 0.84704), "exact"),
        (0.85, (0.84, 0.85), "between tie bounds"),
        (0.8412, (0.8412, 0.84697), "between tie bounds"),
        (0.85, (0.85, 0.86), "off by +0.0030"),
        (0.8412, (0.8412, 0.8412), "off by −0.0058"),
    ],
)
def test_verdicts(value, interval, expected):
    paper = printed("metrics", row="H_agg", dataset="texas").mean  # 0.847
    assert verdict(paper, value, *interval) == expected


def test_estimates_are_compared_by_the_larger_spread():
    cell = printed("metrics_estimated", row="H_agg", dataset="texas")  # 0.8596 ± 0.0299
    values = tuple(0.8596 + d for d in (-0.001, 0.0, 0.001, 0.02))
    assert standard_errors(cell, values) == pytest.approx(0.005 / (0.0299 * 0.35**0.5))
    wide = [0.7646, 0.9646]
    error = statistics.stdev(wide) * (1 / 2 + 1 / 10) ** 0.5
    assert standard_errors(cell, wide) == pytest.approx(0.005 / error)


def test_uniform_masks():
    mask = uniform_mask(101, seed=3)
    assert mask.sum() == 61 and torch.equal(mask, uniform_mask(101, seed=3))
    assert not torch.equal(mask, uniform_mask(101, seed=4))


def test_local_homophily():
    edge_index = torch.tensor([[0, 0, 1, 2, 2], [1, 2, 1, 0, 0]])
    y = torch.tensor([0, 0, 1, 1])
    share = local_homophily(edge_index, y)
    torch.testing.assert_close(share, torch.tensor([0.5, 1, 0, torch.nan]), equal_nan=True)
    assert share.nanmean() == pytest.approx(node_homophily(edge_index, y))


def test_the_highlight_marks_what_agrees():
    import pandas as pd

    columns = pd.MultiIndex.from_tuples([("paper", ""), ("out", "add"), ("in", "add")])
    table = pd.DataFrame([[0.5, 0.50004, 0.5001]], columns=columns)
    html = highlight_printed(table).to_html()
    assert html.count("background-color") == 1 and "#T_acm_row0_col1" in html


@pytest.mark.data
def test_tables_and_figures_of_real_graphs():
    names = ["texas", "cornell"]
    table = estimates_table(["texas"], "60 % of all nodes, every label aggregated")
    assert table["paper"].tolist()[0] == "0.8596 ± 0.0299"
    axes = plot_homophily(names).axes[0]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["texas", "cornell"]  # by H_edge
    panels = [a for a in plot_node_distributions(names).axes if a.get_visible()]
    for panel in panels:
        assert sum(bar.get_height() for bar in panel.patches) == pytest.approx(1)
    for panel in plot_ties(names).axes:
        assert sum(bar.get_width() for bar in panel.patches) == pytest.approx(len(names))
