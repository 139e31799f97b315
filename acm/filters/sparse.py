"""A sparse matrix with cheap gradients, for filters and for sparse features."""

from __future__ import annotations

import warnings
from typing import cast

import numpy as np
import torch
from torch import Tensor

from acm import kernels
from acm.errors import UsageError

# PyTorch warns once per process that CSR tensors are in beta. Users cannot act on this warning.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.eye(1).to_sparse_csr()

_LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


class SparseMatrix:
    """A sparse matrix in CSR form whose products have cheap gradients.

    PyTorch's gradient of `csr @ dense` transposes the matrix in every backward pass, which costs
    several products. This class sorts the transposed pattern once. Do not change stored values in
    place.

    Args:
        crow: Row pointers, `[rows + 1]`.
        col: Column of each stored value, `[nnz]`.
        value: Stored values, `[nnz]`, or `[B, nnz]` for a batch of B trials; may require a
            gradient.
        shape: `(rows, columns)`.
    """

    def __init__(self, crow: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]):
        self.crow, self.col, self.value = crow, col, value
        self.shape = (*shape,)  # for a type checker, `tuple(shape)` has any length
        # Results that depend on the pattern only; all matrices of this pattern share them.
        self._shared: dict = {}
        self._transpose: SparseMatrix | None = None
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseMatrix:
        """Convert a `torch.sparse` matrix of any layout, or a dense one."""
        csr = matrix if matrix.layout == torch.sparse_csr else matrix.to_sparse_csr()
        shape = cast(tuple[int, int], csr.shape)
        return cls(csr.crow_indices(), csr.col_indices(), csr.values(), shape)

    @classmethod
    def from_coo(cls, row: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]):
        """Build the matrix with `value[k]` at `(row[k], col[k])`; repeated entries are summed."""
        # Some PyTorch releases lack the gradient of `coalesce`, which would do the same.
        entry, inverse = torch.unique(row * shape[1] + col, return_inverse=True)
        total = value.new_zeros(entry.numel()).index_add(0, inverse, value)
        return cls(row_pointers(entry // shape[1], shape[0]), entry % shape[1], total, shape)

    @property
    def row(self) -> Tensor:
        """Row of each stored value, `[nnz]`."""
        index = torch.arange(self.shape[0], device=self.crow.device)
        return index.repeat_interleave(self.crow.diff())

    @property
    def T(self) -> SparseMatrix:  # noqa: N802  (the name in NumPy and PyTorch)
        """The transpose."""
        if self._transpose is not None:
            return self._transpose
        if "order" not in self._shared:
            order = torch.argsort(self.col, stable=True)
            pattern = row_pointers(self.col[order], self.shape[1]), self.row[order]
            self._shared["order"] = order
            self._shared["transpose"] = SparseMatrix(*pattern, self.value[:0], self.shape[::-1])
        # `value[..., order]` takes seven times as long.
        value = self.value.index_select(-1, self._shared["order"])
        transpose = self._shared["transpose"].with_value(value)
        if not self.value.requires_grad:
            self._transpose = transpose
        return transpose

    def with_value(self, value: Tensor) -> SparseMatrix:
        """Return a matrix of the same pattern with other stored values."""
        other = SparseMatrix(self.crow, self.col, value, self.shape)
        other._shared = self._shared
        return other

    def to(self, *args, **kwargs) -> SparseMatrix:
        """Copy the matrix to another device or floating-point type, as `Tensor.to` does."""
        value = self.value.to(*args, **kwargs)
        crow, col = self.crow.to(value.device), self.col.to(value.device)
        return SparseMatrix(crow, col, value, self.shape)

    def to_torch(self) -> Tensor:
        """Convert the matrix to a `torch.sparse_csr` tensor."""
        return torch.sparse_csr_tensor(
            *self._index(), self.value, self.shape, check_invariants=False
        )

    def to_dense(self) -> Tensor:
        """Convert the matrix to a dense tensor."""
        dense = self.value.new_zeros(self.shape)
        return dense.index_put((self.row, self.col), self.value)

    def __matmul__(self, x: Tensor) -> Tensor:
        """Multiply with a dense matrix `[columns, F]`, or with a batch `[B, columns, F]`."""
        batches = self.value.shape[:-1] + x.shape[:-2]
        if x.dim() not in (2, 3) or x.size(-2) != self.shape[1] or len({*batches} - {1}) > 1:
            count = f"{len(self.value)} times " if self.value.dim() > 1 else ""
            raise UsageError(
                f"{count}a {self.shape[0]} x {self.shape[1]} matrix cannot be multiplied with"
                f" a tensor of shape {list(x.shape)}: [{self.shape[1]}, F] is needed"
            )
        if (x.dtype, x.device) != (self.value.dtype, self.value.device):
            raise UsageError(
                f"a {self.value.dtype} matrix on {self.value.device} cannot be multiplied with a"
                f" {x.dtype} tensor on {x.device}: convert the matrix with `matrix.to(x)`"
            )
        if torch.is_grad_enabled() and (self.value.requires_grad or x.requires_grad):
            return _Product.apply(self.value, x, self)
        return self.times(x)

    def times(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """Multiply without a gradient.

        Args:
            x: `[columns, F]`, or `[B, columns, F]` for a batch of B trials.
            out: Tensor to which the product is added.

        Returns:
            `out` if it is given; else the product, `[rows, F]`, or `[B, rows, F]` for a batch.
        """
        if not kernels.supports(self.value, x):
            product = self._times(self.value.detach(), x)
            return product if out is None else out.add_(product)
        # The compiled loops need the dimension of trials, even for one trial.
        dense, is_batch = kernels.numpy(x), max(self.value.dim(), x.dim() - 1) > 1
        total = None if out is None else kernels.numpy(out)
        array = kernels.sparse_product(
            *self.arrays(),
            dense if dense.ndim > 2 else dense[None],
            total if is_batch or total is None else total[None],
        )
        return torch.from_numpy(array if is_batch else array[0]) if out is None else out

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return row pointers, columns and values, `[B, nnz]` or `[1, nnz]`, for `acm.kernels`."""
        if self._arrays is None:
            if "arrays" not in self._shared:
                self._shared["arrays"] = tuple(map(kernels.numpy, self._index()))
            crow, col = self._shared["arrays"]
            value = kernels.numpy(self.value)
            self._arrays = crow, col, value if value.ndim > 1 else value[None]
        return self._arrays

    def _times(self, value: Tensor, x: Tensor) -> Tensor:
        if value.device.type == "cpu" and value.dtype in (torch.float16, torch.bfloat16):
            # PyTorch has no sparse product of half precision on a CPU.
            return self.with_value(value.float()).times(x.float()).to(value.dtype)
        if value.dim() == 1 and x.dim() == 2:
            return self.to_torch() @ x
        if value.dim() == 1:  # one matrix for all trials: one product with their columns together
            wide = self.to_torch() @ x.transpose(0, 1).flatten(1)
            return wide.unflatten(1, (x.shape[0], x.shape[2])).transpose(0, 1)
        # One matrix per trial: one product with a block-diagonal matrix.
        (batch,) = torch.broadcast_shapes(value.shape[:-1], x.shape[:-2])
        rows, columns = self.shape
        value, x = value.expand(batch, -1), x.expand(batch, columns, x.shape[-1])
        if ("diagonal", batch) not in self._shared:
            crow, col = self._index()
            step = torch.arange(batch, device=col.device, dtype=col.dtype)[:, None]
            ends = (crow[1:] + step * col.numel()).flatten()
            index = torch.cat([crow[:1], ends]), (col + step * columns).flatten()
            self._shared["diagonal", batch] = index
        crow, col = self._shared["diagonal", batch]
        diagonal = torch.sparse_csr_tensor(
            crow,
            col,
            value.flatten(),
            (batch * rows, batch * columns),
            check_invariants=False,
        )
        return (diagonal @ x.flatten(0, 1)).unflatten(0, (batch, rows))

    def _index(self) -> tuple[Tensor, Tensor]:
        """Return the pattern with 32-bit indices if they are large enough."""
        if "index" not in self._shared:
            # MKL needs 32-bit indices; to convert them costs as much as a small graph's product.
            fits = max(self.col.numel(), *self.shape) < 2**31
            dtype = torch.int32 if fits else torch.int64
            self._shared["index"] = self.crow.to(dtype), self.col.to(dtype)
        return self._shared["index"]


class _Product(torch.autograd.Function):
    """`Y = M X` with `dL/dX = Mᵀ dL/dY` and `dL/dM_ij = ⟨dL/dY_i, X_j⟩` on the stored pattern.

    `X` and the stored values may have a leading dimension, a batch of trials.
    """

    @staticmethod
    def forward(ctx, value: Tensor, x: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(value, x)
        return matrix.times(x)

    @staticmethod
    def backward(ctx, grad: Tensor):
        value, x = ctx.saved_tensors
        # A matrix of constant values keeps its transpose. Saved values are needed for a gradient.
        matrix = ctx.matrix.with_value(value) if ctx.needs_input_grad[0] else ctx.matrix
        grad_value = grad_x = None
        if ctx.needs_input_grad[0]:
            grad_value = (grad[..., matrix.row, :] * x[..., matrix.col, :]).sum(-1)
            grad_value = grad_value.sum_to_size(value.shape)
        if ctx.needs_input_grad[1]:
            grad_x = (matrix.T @ grad).sum_to_size(x.shape)
        return grad_value, grad_x, None


def moved(matrices, *args, **kwargs):
    """Apply `to(*args, **kwargs)` to a `SparseMatrix`, or to all in a nested tuple of them."""
    if isinstance(matrices, tuple):
        return tuple(moved(matrix, *args, **kwargs) for matrix in matrices)
    return matrices.to(*args, **kwargs)


def operand(x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
    """Prepare features for `x @ w`: convert a `torch.sparse` matrix to a `SparseMatrix`.

    Raises:
        UsageError: `x` is no tensor, or a sparse tensor that is no matrix.
    """
    if not isinstance(x, Tensor | SparseMatrix):
        raise UsageError(f"the features are a {type(x).__name__}: a tensor is needed")
    if isinstance(x, SparseMatrix) or x.layout == torch.strided:
        return x
    if x.layout not in _LAYOUTS or x.dim() != 2 or x.dense_dim():
        raise UsageError(
            f"node features have shape {list(x.shape)} and layout {x.layout}, of which"
            f" {x.dense_dim()} dimensions are dense: COO, CSR or CSC of shape"
            f" [N, {x.shape[-1]}] is needed"
        )
    return SparseMatrix.from_torch(x)


def row_pointers(sorted_rows: Tensor, rows: int) -> Tensor:
    """Return the row pointers of a CSR matrix, `[rows + 1]`, from the sorted rows of its values."""
    counts = torch.bincount(sorted_rows, minlength=rows)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
