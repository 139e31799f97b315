"""Low-pass and high-pass filters of a graph as sparse matrices (Sections 2.1 and 4.2)."""

from acm.filters.operators import adjacency, check_norm, high_pass, low_pass
from acm.filters.sparse import SparseMatrix, moved, operand

__all__ = [
    "SparseMatrix",
    "adjacency",
    "check_norm",
    "high_pass",
    "low_pass",
    "moved",
    "operand",
]
