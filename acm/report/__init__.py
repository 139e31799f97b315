"""Records held against published numbers: comparison, verdict, figure."""

from importlib import import_module

_HOME = {
    "Comparison": "comparison",
    "agreement": "comparison",
    "chosen_by_test": "pages.results",
    "channel_sentence": "figures",
    "compare": "comparison",
    "compare_cells": "comparison",
    "environment": "pages.this_machine",
    "graphs_at_hand": "pages.this_machine",
    "plot_channel_weights": "figures",
    "plot_history": "figures",
    "plot_splits": "figures",
    "pooled": "comparison",
    "selection": "pages.results",
    "split_luck": "pages.results",
    "comparison_table": "tables",
}

__all__ = sorted(_HOME)


def __getattr__(name: str):
    # Figures pull in matplotlib, which a comparison on the command line has no use for.
    if name not in _HOME:
        raise AttributeError(f"module 'acm.report' has no attribute {name!r}")
    return getattr(import_module(f"acm.report.{_HOME[name]}"), name)
