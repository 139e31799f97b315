"""Adaptive Channel Mixing for graph neural networks: the companion to Luan et al. (2021)."""

__version__ = "0.1.0"
