"""Derive the paper's formulas and theorems with SymPy and check them in exact arithmetic.

This package needs neither PyTorch nor data. Each module covers one part of the paper. It computes
every claim in two ways, from the definition and as printed, so that a wrong claim fails.
"""
