"""Compute what the pages of the book show: one module per page, independent of the others."""
