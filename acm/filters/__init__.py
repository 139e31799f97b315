"""Low-pass, high-pass and identity filters as sparse operators (section 2.1, section 4.2).

The whole package has one sparse form, `SparseMatrix`: a CSR matrix that knows its transpose.
"""

from acm.filters.graph import adjacency, high_pass, identity, known_norm, low_pass
from acm.filters.sparse import SparseMatrix, moved, operand

__all__ = [
    "SparseMatrix",
    "adjacency",
    "high_pass",
    "identity",
    "known_norm",
    "low_pass",
    "moved",
    "operand",
]
