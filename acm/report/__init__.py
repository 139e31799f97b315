"""Compare records with the paper's numbers. Import figures and pages from their own modules."""

from acm.report.comparison import Comparison, agreement, compare, compare_cells, pooled
from acm.report.tables import comparison_table

__all__ = ["Comparison", "agreement", "compare", "compare_cells", "comparison_table", "pooled"]
