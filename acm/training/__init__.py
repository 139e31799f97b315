"""Training by the released protocol: many trials at once, each deterministic given its seed."""

from acm.training.fit import Fit, History, fit
from acm.training.protocol import DEEZER, RELEASED, Protocol, protocol_for
from acm.training.setting import Setting
from acm.training.stack import batch_size, stackable

__all__ = [
    "DEEZER",
    "RELEASED",
    "Fit",
    "History",
    "Protocol",
    "Setting",
    "batch_size",
    "fit",
    "protocol_for",
    "stackable",
]
