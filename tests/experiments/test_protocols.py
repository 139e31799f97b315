"""The training rules of the paper."""

from acm.experiments.trial import training_protocol
from acm.training import TrainingProtocol


def test_deezer_europe_has_another_rule_than_the_other_graphs():
    deezer = TrainingProtocol("adamw", 500, None, "accuracy", "deezer")
    assert training_protocol("deezer-europe") == deezer
    assert training_protocol("cora") == TrainingProtocol("adam", 5000, 200, "loss", "released")
