"""Derive the paper's formulas and theorems with SymPy and check them in exact arithmetic.

Each module covers one topic of the paper. It computes every claim twice, from the definition and as
printed, so that the tests detect a wrong claim. The package does not need PyTorch or data.
"""
