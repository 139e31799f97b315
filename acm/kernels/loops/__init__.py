"""The loops themselves; `acm.kernels` says what each computes.

The rows of every trial are cut into parts, by their number alone; a call computes the parts
`first` to `last − 1` of all trials' parts, so several threads can share them. Each part adds up
for itself: sums come out alike on any number of threads.
"""

from acm.kernels.loops.elements import adam, cross_entropy, dropout
from acm.kernels.loops.mixing import mix, mix_backward
from acm.kernels.loops.products import dense_product, sparse_product, transposed_product

__all__ = [
    "adam",
    "cross_entropy",
    "dense_product",
    "dropout",
    "mix",
    "mix_backward",
    "sparse_product",
    "transposed_product",
]
