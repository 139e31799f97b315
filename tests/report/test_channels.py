"""The channel weights in words, against means and spreads by hand."""

import pytest
import torch

from acm.errors import UsageError
from acm.report.figures import channel_sentence


def test_each_layer_is_described_by_what_was_measured():
    level = torch.tensor([[0.25, 0.75], [0.259, 0.741]])  # both 0.0045 off their mean
    other = torch.tensor([[0.2, 0.8], [0.6, 0.4]])  # both 0.2 off
    assert channel_sentence([level, other], ["low", "identity"]) == (
        "Layer 1 weighs low 25 %, identity 75 % on average, with a standard deviation over the"
        " nodes of at most 0.5 points: the weights are level. "
        "Layer 2 weighs low 40 %, identity 60 % on average, with a standard deviation over the"
        " nodes of at most 20.0 points: the weights are not level."
    )


@pytest.mark.parametrize("spread, level", [(0.0049, True), (0.0051, False)])
def test_where_level_ends(spread, level):
    alpha = torch.tensor([[0.5 - spread, 0.5 + spread], [0.5 + spread, 0.5 - spread]])
    assert ("are level" in channel_sentence([alpha], ["low", "high"])) == level


@pytest.mark.parametrize("weights", [[], [torch.ones(3)], [torch.ones(3, 2)], [torch.ones(0, 3)]])
def test_wrong_shapes_are_one_line(weights):
    with pytest.raises(UsageError, match="each layer needs .nodes, 3."):
        channel_sentence(weights)
