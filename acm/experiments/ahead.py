"""What worker processes import before they are needed: see `acm.experiments.workers`."""

import contextlib
import signal

# Blocked from the start of this process on, and ignored for the seconds that the import takes.
# Python ignores it after that, and gives the handler that stands here to those it starts.
_before = signal.signal(signal.SIGINT, signal.SIG_IGN)
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])

# What is wrong with it, a model of the user's own perhaps, is said where it is used.
with contextlib.suppress(Exception):
    import acm.experiments.run  # noqa: F401

signal.signal(signal.SIGINT, _before)
