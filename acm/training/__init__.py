"""Training by the released protocol: one trial at a time, deterministic given its seed."""

from acm.training.fit import Fit, History, fit
from acm.training.protocol import DEEZER, RELEASED, Protocol, protocol_for

__all__ = ["DEEZER", "RELEASED", "Fit", "History", "Protocol", "fit", "protocol_for"]
