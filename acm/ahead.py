"""What worker processes import before they are needed: see `acm.workers`."""

import contextlib

# What is wrong with it, a model of the user's own perhaps, is said where it is used.
with contextlib.suppress(Exception):
    import acm.experiments.batch  # noqa: F401
