"""The training rules of the paper."""

from acm.training import RELEASED, TrainingProtocol

#: The rule of Lim et al. (2021), for Deezer-Europe.
DEEZER = TrainingProtocol("adamw", 500, window=None, select="accuracy", name="deezer")


def training_protocol(dataset: str) -> TrainingProtocol:
    """Return the rule by which the paper trains on a data set."""
    return DEEZER if dataset == "deezer-europe" else RELEASED
