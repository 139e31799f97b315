"""Records held against published numbers: comparison, verdict, figure."""

from importlib import import_module

_HOME = {
    "Comparison": "comparison",
    "agreement": "comparison",
    "chosen_by_test": "choice",
    "channel_sentence": "channels",
    "compare": "comparison",
    "compare_cells": "comparison",
    "environment": "machine",
    "graphs_at_hand": "machine",
    "plot_channel_weights": "figures",
    "plot_history": "figures",
    "plot_splits": "figures",
    "pooled": "comparison",
    "selection": "choice",
    "split_luck": "luck",
    "comparison_table": "tables",
}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    # Figures pull in matplotlib, which a comparison on the command line has no use for.
    if name not in _HOME:
        raise AttributeError(f"module 'acm.report' has no attribute {name!r}")
    return getattr(import_module(f"acm.report.{_HOME[name]}"), name)
