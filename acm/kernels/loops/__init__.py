"""The compiled loops; `acm.kernels` says what each computes.

The rows of every trial are divided into parts by their number alone. A call computes the parts
from `first` to `last − 1` of all trials, so several threads can share the work. Each part has its
own sum, so sums are equal for any number of threads.
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
