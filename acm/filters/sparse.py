"""A sparse matrix with cheap gradients, for filters and for sparse features."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor

from acm import kernels
from acm.errors import UsageError

# PyTorch warns once per process that CSR tensors are in beta. Users cannot act on this warning.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.eye(1).to_sparse_csr()


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
        self.crow, self.col, self.value, self.shape = crow, col, value, (shape[0], shape[1])
        # A cache of what depends on `crow`, `col` and `shape` alone. `with_value` shares the cache.
        self._pattern: dict = {}
        self._transpose: SparseMatrix | None = None
        self._arrays: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseMatrix:
        """Convert a `torch.sparse` matrix of any layout, or a dense one."""
        csr = matrix if matrix.layout == torch.sparse_csr else matrix.to_sparse_csr()
        return cls(csr.crow_indices(), csr.col_indices(), csr.values(), (csr.size(0), csr.size(1)))

    @classmethod
    def from_coo(cls, row: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]):
        """Build the matrix with `value[k]` at `(row[k], col[k])`; repeated entries are summed."""
        # PyTorch's `coalesce` does the same, but has no gradient in some releases.
        entry, inverse = torch.unique(row * shape[1] + col, return_inverse=True)
        total = value.new_zeros(entry.numel()).index_add(0, inverse, value)
        return cls(_row_pointers(entry // shape[1], shape[0]), entry % shape[1], total, shape)

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
        if "order" not in self._pattern:
            order = torch.argsort(self.col, stable=True)
            crow, col = _row_pointers(self.col[order], self.shape[1]), self.row[order]
            self._pattern["order"] = order
            self._pattern["transpose"] = SparseMatrix(crow, col, self.value[:0], self.shape[::-1])
        # `value[..., order]` takes seven times as long.
        value = self.value.index_select(-1, self._pattern["order"])
        transpose = self._pattern["transpose"].with_value(value)
        if not self.value.requires_grad:
            self._transpose = transpose
        return transpose

    def with_value(self, value: Tensor) -> SparseMatrix:
        """Return a matrix of the same pattern with other stored values."""
        other = SparseMatrix(self.crow, self.col, value, self.shape)
        other._pattern = self._pattern
        return other

    def to(self, *args, **kwargs) -> SparseMatrix:
        """Copy the matrix to another device or floating-point type, as `Tensor.to` does."""
        value = self.value.to(*args, **kwargs)
        crow, col = self.crow.to(value.device), self.col.to(value.device)
        return SparseMatrix(crow, col, value, self.shape)

    def to_torch(self) -> Tensor:
        """Convert the matrix to a `torch.sparse_csr` tensor."""
        crow, col = self._index()
        return torch.sparse_csr_tensor(crow, col, self.value, self.shape, check_invariants=False)

    def to_dense(self) -> Tensor:
        """Convert the matrix to a dense tensor."""
        return self.to_torch().to_dense()

    def __matmul__(self, x: Tensor) -> Tensor:
        """Multiply with a dense matrix `[columns, F]`, or with a batch `[B, columns, F]`."""
        if torch.is_autocast_enabled(x.device.type):  # sparse products need full precision
            with torch.autocast(x.device.type, enabled=False):
                return self @ x.to(self.value.dtype)
        batches = {*self.value.shape[:-1], *x.shape[:-2]} - {1}
        if x.dim() not in (2, 3) or x.size(-2) != self.shape[1] or len(batches) > 1:
            count = f"{len(self.value)} times " if self.value.dim() > 1 else ""
            raise UsageError(
                f"{count}a {self.shape[0]} x {self.shape[1]} matrix cannot be multiplied with"
                f" a tensor of shape {list(x.shape)}: [{self.shape[1]}, F] is needed"
            )
        if torch.is_grad_enabled() and (self.value.requires_grad or x.requires_grad):
            return _Product.apply(self.value, x, self)
        return self.times(x)

    def times(self, x: Tensor) -> Tensor:
        """Multiply as `@` does, without a gradient."""
        if not kernels.supports(self.value, x):
            return self._times(x)
        # The compiled loops need the dimension of trials, even for one trial.
        dense = kernels.numpy(x)
        array = kernels.sparse_product(*self.arrays(), dense if x.dim() > 2 else dense[None])
        return torch.from_numpy(array if max(self.value.dim(), x.dim() - 1) > 1 else array[0])

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return row pointers, columns and values, `[B, nnz]` or `[1, nnz]`, for `acm.kernels`."""
        if self._arrays is None:
            crow, col = map(kernels.numpy, self._index())
            self._arrays = crow, col, np.atleast_2d(kernels.numpy(self.value))
        return self._arrays

    def _times(self, x: Tensor) -> Tensor:
        value = self.value.detach()
        if value.dim() == 1 and x.dim() == 2:
            return self.to_torch() @ x
        if value.dim() == 1:  # one matrix for all trials: one product with their columns together
            wide = self.to_torch() @ x.transpose(0, 1).flatten(1)
            return wide.unflatten(1, (x.shape[0], x.shape[2])).transpose(0, 1)
        # One matrix per trial: one product with a block-diagonal matrix.
        (batch,) = torch.broadcast_shapes(value.shape[:-1], x.shape[:-2])
        (rows, columns), (crow, col) = self.shape, self._index()
        value, x = value.expand(batch, -1), x.expand(batch, columns, x.shape[-1])
        if ("diagonal", batch) not in self._pattern:
            step = torch.arange(batch, device=col.device, dtype=col.dtype)[:, None]
            ends = torch.cat([crow[:1], (crow[1:] + step * col.numel()).flatten()])
            self._pattern["diagonal", batch] = ends, (col + step * columns).flatten()
        (crow, col), shape = self._pattern["diagonal", batch], (batch * rows, batch * columns)
        value = value.flatten()
        diagonal = torch.sparse_csr_tensor(crow, col, value, shape, check_invariants=False)
        return (diagonal @ x.flatten(0, 1)).unflatten(0, (batch, rows))

    def _index(self) -> tuple[Tensor, Tensor]:
        """Return the pattern with 32-bit indices if they are large enough."""
        if "index" not in self._pattern:
            # MKL needs 32-bit indices; to convert them costs as much as a small graph's product.
            fits = max(self.col.numel(), *self.shape) < 2**31
            dtype = torch.int32 if fits else torch.int64
            self._pattern["index"] = self.crow.to(dtype), self.col.to(dtype)
        return self._pattern["index"]


class _Product(torch.autograd.Function):
    """`Y = M X` with `dL/dX = Mᵀ dL/dY` and `dL/dM_ij = ⟨dL/dY_i, X_j⟩` on the stored pattern."""

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
    """Prepare features for `x @ w`: convert a `torch.sparse` matrix to a `SparseMatrix`."""
    if not isinstance(x, Tensor | SparseMatrix):
        raise UsageError(f"the features are a {type(x).__name__}: a tensor is needed")
    if isinstance(x, SparseMatrix) or x.layout == torch.strided:
        return x
    layouts = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)
    if x.layout not in layouts or x.dim() != 2 or x.dense_dim():
        raise UsageError(
            f"node features have shape {list(x.shape)}, layout {x.layout} and {x.dense_dim()} dense"
            f" dimensions: COO, CSR or CSC of shape [N, {x.shape[-1]}] is needed"
        )
    return SparseMatrix.from_torch(x)


def _row_pointers(sorted_rows: Tensor, rows: int) -> Tensor:
    counts = torch.bincount(sorted_rows, minlength=rows)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
