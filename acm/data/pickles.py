"""Unpickling that admits NumPy and SciPy arrays in plain containers, and nothing else."""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse

from acm.errors import UsageError

_reconstruct = np.ndarray([0]).__reduce__()[0]

# All that a pickle may name, spelt out: those of Python 2 and old SciPy name old places.
_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): scipy.sparse.csr_matrix,
    ("scipy.sparse._csr", "csr_matrix"): scipy.sparse.csr_matrix,
    ("collections", "defaultdict"): defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _ArrayUnpickler(pickle._Unpickler):
    # The one in Python: C's resolves extension codes it has seen without asking `find_class`.

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it names {module}.{name}") from None

    def get_extension(self, code: int) -> Any:
        raise pickle.UnpicklingError(f"it names extension {code}")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it names an object outside the file")


def load_arrays(content: bytes, source: str) -> Any:
    """Read a pickle of arrays, lists and dictionaries (Python 2's included).

    Args:
        content: the pickle, or a `.npy` file of an object array, which holds one.
        source: what to call it in an error.

    Raises:
        UsageError: it names anything but arrays, or cannot be read. Nothing of it is executed.
    """
    stream = io.BytesIO(content)
    try:
        if content.startswith(np.lib.format.MAGIC_PREFIX):
            np.lib.format.read_magic(stream)
            np.lib.format.read_array_header_1_0(stream)
        return _ArrayUnpickler(stream, encoding="latin1").load()
    except Exception as error:  # a damaged pickle can raise anything
        reason = f"{error}" or type(error).__name__
        raise UsageError(f"{source} is not a pickle of arrays alone: {reason}") from error
