"""The figures show what they are given."""

import matplotlib
import pytest
import torch

matplotlib.use("Agg")

from acm.errors import UsageError  # noqa: E402
from acm.report.figures import plot_channel_weights, plot_history  # noqa: E402
from acm.report.pages.this_machine import environment  # noqa: E402
from acm.training import History, TrainingResult  # noqa: E402


def test_history_shows_the_curves_and_the_selected_epoch():
    fit = TrainingResult(
        None,
        None,
        2,
        4,
        0.9,
        0.4,
        1.0,
        True,
        History([3.0, 2.0, 1.0, 0.5], [3.0, 1.0, 0.4, 2.0], [0.1, 0.5, 0.9, 0.8]),
    )
    loss, accuracy = plot_history(fit).axes
    curves = {line.get_label(): list(line.get_ydata()) for line in loss.lines}
    assert curves["training"] == fit.history.train_loss
    assert curves["validation"] == fit.history.val_loss
    assert list(accuracy.lines[0].get_ydata()) == pytest.approx([10, 50, 90, 80])
    assert loss.lines[2].get_xdata()[0] == 2


def test_channel_weights_are_stacked_to_one_and_sorted_by_class():
    y = torch.tensor([1, 0, 1, 0])
    alpha = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.6, 0.2, 0.2], [0.7, 0.2, 0.1]])
    figure = plot_channel_weights([alpha, alpha], y)
    assert len(figure.axes) == 2
    # Nodes in the order 3, 1 (class 0), 2, 0 (class 1).
    low, high, identity = (patch.get_data() for patch in figure.axes[0].patches)
    assert low.values.tolist() == pytest.approx([0.7, 0.1, 0.6, 0.2])
    assert (high.values - high.baseline).tolist() == pytest.approx([0.2, 0.1, 0.2, 0.3])
    assert identity.values.tolist() == pytest.approx([1, 1, 1, 1])
    assert [t.get_text() for t in figure.axes[-1].get_xticklabels()] == ["class 0", "class 1"]


def test_wrong_shapes_are_one_line():
    with pytest.raises(UsageError, match="each layer needs .4, 3."):
        plot_channel_weights([torch.ones(3, 3)], torch.zeros(4, dtype=torch.long))


def test_the_environment_is_this_one():
    found = environment()
    assert found["torch"].split("+")[0] == torch.__version__.split("+")[0]
