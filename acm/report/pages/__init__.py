"""One module a page of the book; no page imports another."""
