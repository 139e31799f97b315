"""The paper's derivations and theorems as SymPy objects and exact checks.

The room stands alone: no PyTorch, no data. Each module is one piece of the paper's mathematics,
written so that a statement can be false: what is claimed is compared with what is derived from the
definition by another way, symbolically or in exact arithmetic.
"""
