"""Training by the released protocol: many trials at once, each deterministic given its seed."""

from acm.training.protocol import DEEZER, RELEASED, Setting, TrainingProtocol, training_protocol
from acm.training.stack import batch_size, stackable
from acm.training.trainer import History, TrainingResult, train

__all__ = [
    "DEEZER",
    "RELEASED",
    "TrainingResult",
    "History",
    "TrainingProtocol",
    "Setting",
    "batch_size",
    "train",
    "training_protocol",
    "stackable",
]
