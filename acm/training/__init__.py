"""Train many trials at once; the result of a trial depends on the setting of the trial only."""

from acm.training.protocol import RELEASED, TrainingProtocol
from acm.training.setting import Setting
from acm.training.stack import batch_size
from acm.training.trainer import History, TrainingResult, train

__all__ = [
    "RELEASED",
    "History",
    "Setting",
    "TrainingProtocol",
    "TrainingResult",
    "batch_size",
    "train",
]
