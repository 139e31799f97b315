"""Unpickling that admits NumPy and SciPy arrays in plain containers, and nothing else.

NumPy's own classes are not handed to a pickle: `numpy.ndarray` makes an array of objects from a
buffer of made-up pointers. Stand-ins take what a pickled array says, check it, and build it.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from collections import defaultdict
from typing import Any

import numpy as np
import scipy.sparse as sp

from acm.errors import UsageError


class _DType:
    """A pickled `numpy.dtype`: a plain number, truth value or object."""

    def __init__(self, code: str, *_: object) -> None:
        if not re.fullmatch(r"b1|[iu][1248]|f[248]|O8?", code):
            raise pickle.UnpicklingError(f"it holds an array of {code!r}")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple) -> None:
        if state[1] in ("<", ">"):
            self.dtype = self.dtype.newbyteorder(state[1])


class _Array(np.ndarray):
    """A pickled `numpy.ndarray`."""

    def __setstate__(self, state: tuple) -> None:
        _, shape, stand_in, fortran, content = state
        dtype, size = stand_in.dtype, math.prod(shape)
        if isinstance(content, str):
            content = content.encode("latin1")  # Python 2's bytes
        expected, length = (list, size) if dtype.hasobject else (bytes, size * dtype.itemsize)
        if type(content) is not expected or len(content) != length or min(shape, default=0) < 0:
            raise pickle.UnpicklingError("it holds an array that does not fit its shape")
        super().__setstate__((1, shape, dtype, bool(fortran), content))


class _Csr:
    """A pickled `scipy.sparse.csr_matrix`."""

    def __setstate__(self, state: dict) -> None:
        parts = (state["data"], state["indices"], state["indptr"])
        self.matrix = sp.csr_matrix(parts, shape=state["_shape"])
        self.matrix.check_format(full_check=True)


def _reconstruct(*_: object) -> np.ndarray:
    return np.empty(0, np.int8).view(_Array)


# All that a pickle may name, spelt out: those of Python 2 and old SciPy name old places.
_ALLOWED = {
    ("numpy", "ndarray"): "the argument of _reconstruct, which is not called",
    ("numpy", "dtype"): _DType,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("scipy.sparse.csr", "csr_matrix"): _Csr,
    ("scipy.sparse._csr", "csr_matrix"): _Csr,
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
    """Read a pickle of arrays, lists and dictionaries, or of one sparse matrix (Python 2's too).

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
        value = _ArrayUnpickler(stream, encoding="latin1").load()
        return value.matrix if isinstance(value, _Csr) else value
    except Exception as error:  # a damaged pickle can raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"{source} is not a pickle of arrays alone: {reason}") from error
