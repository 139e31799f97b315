"""The one sparse form of the package: filters are square ones, sparse features are tall ones."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from acm import kernels
from acm.errors import UsageError

# The first CSR tensor of a process makes PyTorch say that they are "beta", which is nothing that
# a user could act on: let it say so here, where nobody listens.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.eye(1).to_sparse_csr()

#: Sparse matrices of PyTorch that are taken.
_LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


class SparseMatrix:
    """A sparse matrix in CSR form whose products have a gradient as cheap as themselves.

    PyTorch's own gradient of `csr @ dense` transposes the matrix at every backward pass, which
    costs several products; this class sorts the transposed pattern once. Stored values are not to
    be changed in place.

    Args:
        crow: Row pointers, `[rows + 1]`.
        col: Column of each stored value, `[nnz]`.
        value: Stored values, `[nnz]`; may require a gradient.
        shape: `(rows, columns)`.
    """

    def __init__(self, crow: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]):
        self.crow, self.col, self.value, self.shape = crow, col, value, tuple(shape)
        # What follows from the pattern alone is computed when first asked for, and shared by all
        # matrices of this pattern (`with_value`).
        self._shared: dict = {}
        self._transpose: SparseMatrix | None = None
        self._arrays: tuple | None = None

    @classmethod
    def from_torch(cls, matrix: Tensor) -> SparseMatrix:
        """The same matrix from a `torch.sparse` tensor of any layout, or from a dense one."""
        csr = matrix if matrix.layout == torch.sparse_csr else matrix.to_sparse_csr()
        return cls(csr.crow_indices(), csr.col_indices(), csr.values(), csr.shape)

    @classmethod
    def from_coo(cls, row: Tensor, col: Tensor, value: Tensor, shape: tuple[int, int]):
        """The matrix with `value[k]` added at `(row[k], col[k])`: repeated places are summed."""
        # Sorting and summing are done here rather than by `coalesce`, whose gradient in `value`
        # some PyTorch releases lack.
        place, inverse = torch.unique(row * shape[1] + col, return_inverse=True)
        total = value.new_zeros(place.numel()).index_add(0, inverse, value)
        crow = pointers(place // shape[1], shape[0])
        return cls(crow, place % shape[1], total, shape)

    @property
    def row(self) -> Tensor:
        """Row of each stored value, `[nnz]`."""
        index = torch.arange(self.shape[0], device=self.crow.device)
        return index.repeat_interleave(self.crow.diff())

    @property
    def T(self) -> SparseMatrix:  # noqa: N802  (NumPy's and PyTorch's name)
        """The transpose."""
        if self._transpose is not None:
            return self._transpose
        if "order" not in self._shared:
            order = torch.argsort(self.col, stable=True)
            pattern = pointers(self.col[order], self.shape[1]), self.row[order]
            self._shared["order"] = order
            self._shared["transpose"] = SparseMatrix(*pattern, self.value[:0], self.shape[::-1])
        # Indexing by `[..., order]` would take seven times as long.
        value = self.value.index_select(-1, self._shared["order"])
        transpose = self._shared["transpose"].with_value(value)
        if not self.value.requires_grad:
            self._transpose = transpose
        return transpose

    def with_value(self, value: Tensor) -> SparseMatrix:
        """A matrix of the same pattern with other stored values, `[nnz]`."""
        other = SparseMatrix(self.crow, self.col, value, self.shape)
        other._shared = self._shared
        return other

    def to(self, *args, **kwargs) -> SparseMatrix:
        """The same matrix on another device or in another floating-point type."""
        value = self.value.to(*args, **kwargs)
        crow, col = self.crow.to(value.device), self.col.to(value.device)
        return SparseMatrix(crow, col, value, self.shape)

    def to_torch(self) -> Tensor:
        """The same matrix as a `torch.sparse_csr` tensor."""
        return torch.sparse_csr_tensor(
            *self._index(), self.value, self.shape, check_invariants=False
        )

    def to_dense(self) -> Tensor:
        """The same matrix as a dense tensor."""
        dense = self.value.new_zeros(self.shape)
        return dense.index_put((self.row, self.col), self.value)

    def __matmul__(self, x: Tensor) -> Tensor:
        """The product with a dense `[columns, F]` matrix, or with a batch `[B, columns, F]`."""
        batches = self.value.shape[:-1] + x.shape[:-2]  # as many trials, or one for all
        if x.dim() not in (2, 3) or x.size(-2) != self.shape[1] or len({*batches} - {1}) > 1:
            many = f"{len(self.value)} times " if self.value.dim() > 1 else ""
            raise UsageError(
                f"{many}a {self.shape[0]} x {self.shape[1]} matrix cannot be multiplied with"
                f" a tensor of shape {list(x.shape)}: give [{self.shape[1]}, F]"
            )
        if (x.dtype, x.device) != (self.value.dtype, self.value.device):
            raise UsageError(
                f"a {self.value.dtype} matrix on {self.value.device} cannot be multiplied with a"
                f" {x.dtype} tensor on {x.device}: `matrix.to(x)` has the same of both"
            )
        if torch.is_grad_enabled() and (self.value.requires_grad or x.requires_grad):
            return _Product.apply(self.value, x, self)
        return self.times(x)

    def times(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """The product without a gradient, with one more dimension where there are many trials.

        Args:
            x: `[columns, F]`, or `[B, columns, F]` for a batch.
            out: Where the product is to be added.
        """
        if not kernels.supports(self.value, x):
            product = self._times(self.value.detach(), x)
            return product if out is None else out.add_(product)
        # The loops have the trials in front, even if there is only one.
        own, many = kernels.numpy(x), max(self.value.dim(), x.dim() - 1) > 1
        into = None if out is None else kernels.numpy(out)
        product = kernels.sparse_product(
            *self.arrays(),
            own if own.ndim > 2 else own[None],
            into if many or out is None else into[None],
        )
        return torch.from_numpy(product if many else product[0]) if out is None else out

    def arrays(self) -> tuple:
        """Row pointers, columns and stored values, `[B, nnz]` or `[1, nnz]`, for `acm.kernels`."""
        if self._arrays is None:
            if "arrays" not in self._shared:
                self._shared["arrays"] = tuple(map(kernels.numpy, self._index()))
            value = kernels.numpy(self.value)
            self._arrays = *self._shared["arrays"], value if value.ndim > 1 else value[None]
        return self._arrays

    def _times(self, value: Tensor, x: Tensor) -> Tensor:
        if value.device.type == "cpu" and value.dtype in (torch.float16, torch.bfloat16):
            # PyTorch has no sparse product of half precision on a CPU.
            return self.with_value(value.float()).times(x.float()).to(value.dtype)
        if value.dim() == 1 and x.dim() == 2:
            return self.to_torch() @ x
        if value.dim() == 1:  # one matrix for all trials: their columns stand side by side
            wide = self.to_torch() @ x.transpose(0, 1).flatten(1)
            return wide.unflatten(1, (x.shape[0], x.shape[2])).transpose(0, 1)
        # Other values for each trial: the matrices stand along a diagonal.
        (batch,) = torch.broadcast_shapes(value.shape[:-1], x.shape[:-2])
        rows, columns = self.shape
        value, x = value.expand(batch, -1), x.expand(batch, columns, x.shape[-1])
        if ("diagonal", batch) not in self._shared:
            crow, col = self._index()
            step = torch.arange(batch, device=col.device, dtype=col.dtype)[:, None]
            ends = (crow[1:] + step * col.numel()).flatten()
            index = torch.cat([crow[:1], ends]), (col + step * columns).flatten()
            self._shared["diagonal", batch] = index
        diagonal = torch.sparse_csr_tensor(
            *self._shared["diagonal", batch],
            value.flatten(),
            (batch * rows, batch * columns),
            check_invariants=False,
        )
        return (diagonal @ x.flatten(0, 1)).unflatten(0, (batch, rows))

    def _index(self) -> tuple[Tensor, Tensor]:
        """The pattern with 32-bit indices, where they reach."""
        if "index" not in self._shared:
            # MKL multiplies with 32-bit indices: converting them anew at every product costs as
            # much as a product of a small graph.
            fits = max(self.col.numel(), *self.shape) < 2**31
            kind = torch.int32 if fits else torch.int64
            self._shared["index"] = self.crow.to(kind), self.col.to(kind)
        return self._shared["index"]


class _Product(torch.autograd.Function):
    """`Y = M X` with `dL/dX = Mᵀ dL/dY` and `dL/dM_ij = ⟨dL/dY_i, X_j⟩` on the stored pattern.

    Both `X` and the stored values may have one more dimension in front, a batch of trials.
    """

    @staticmethod
    def forward(ctx, value: Tensor, x: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        ctx.save_for_backward(value, x)
        return matrix.times(x)

    @staticmethod
    def backward(ctx, grad: Tensor):
        value, x = ctx.saved_tensors
        # Constant values have their transpose at hand; others are taken as they were saved.
        matrix = ctx.matrix.with_value(value) if ctx.needs_input_grad[0] else ctx.matrix
        grad_value = grad_x = None
        if ctx.needs_input_grad[0]:
            grad_value = (grad[..., matrix.row, :] * x[..., matrix.col, :]).sum(-1)
            grad_value = grad_value.sum_to_size(value.shape)
        if ctx.needs_input_grad[1]:
            grad_x = (matrix.T @ grad).sum_to_size(x.shape)
        return grad_value, grad_x, None


def moved(matrices, *args, **kwargs):
    """`matrices.to(…)` of a `SparseMatrix`, or of each in a tuple of them, however deep."""
    if isinstance(matrices, tuple):
        return tuple(moved(matrix, *args, **kwargs) for matrix in matrices)
    return matrices.to(*args, **kwargs)


def operand(x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
    """`x` ready for `x @ w`: a `torch.sparse` tensor becomes a `SparseMatrix`, all else stays.

    Raises:
        UsageError: If it is no tensor, or a sparse one that is no matrix.
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


def pointers(sorted_rows: Tensor, rows: int) -> Tensor:
    """Row pointers of a CSR matrix, `[rows + 1]`, from the rows of its values in order."""
    counts = torch.bincount(sorted_rows, minlength=rows)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
