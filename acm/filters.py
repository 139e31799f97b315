"""Low-pass, high-pass and identity filters as sparse operators (section 2.1, section 4.2).

The whole package has one sparse form, `SparseMatrix`: a constant CSR matrix that knows its
transpose. Filters are square ones, sparse feature matrices are tall ones.
"""

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
        crow = _pointers(place // shape[1], shape[0])
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
            pattern = _pointers(self.col[order], self.shape[1]), self.row[order]
            self._shared["order"] = order
            self._shared["transpose"] = SparseMatrix(*pattern, self.value[:0], self.shape[::-1])
        transpose = self._shared["transpose"].with_value(self.value[..., self._shared["order"]])
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
        return _Product.apply(self.value, x, self)

    def times(self, x: Tensor, out: Tensor | None = None) -> Tensor:
        """The product without a gradient, with one more dimension where there are many trials.

        Args:
            x: `[columns, F]`, or `[B, columns, F]` for a batch.
            out: Where the product is to be added.
        """
        value = self.value.detach()
        if kernels.fit(value, x):
            return kernels.sparse_product(*self._index(), value, x, out)
        product = self._times(value, x)
        return product if out is None else out.add_(product)

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


def operand(x: Tensor | SparseMatrix) -> Tensor | SparseMatrix:
    """`x` ready for `x @ w`: a `torch.sparse` tensor becomes a `SparseMatrix`, all else stays."""
    if isinstance(x, Tensor) and x.layout != torch.strided:
        return SparseMatrix.from_torch(x)
    return x


def _pointers(sorted_rows: Tensor, rows: int) -> Tensor:
    counts = torch.bincount(sorted_rows, minlength=rows)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def adjacency(
    edge_index: Tensor, num_nodes: int | None = None, edge_weight: Tensor | None = None
) -> SparseMatrix:
    """The adjacency matrix `A` of a graph (section 2), rows are targets.

    An edge `(j, i)` of `edge_index` sends a message from `j` to `i` (PyG's flow) and so stands at
    `A[i, j]`; for an undirected graph the distinction is void. Repeated edges are summed.

    Args:
        edge_index: Edges, `[2, E]`, or an adjacency as a `torch.sparse` tensor `[N, N]` whose
            rows are targets (PyG's `adj_t`).
        num_nodes: `N`; by default one more than the largest node index.
        edge_weight: Weights, `[E]`; by default one each, in the default floating-point type.

    Raises:
        UsageError: If a shape is wrong or a node index lies outside `0 … N − 1`.
    """
    if isinstance(edge_index, Tensor) and edge_index.layout != torch.strided:
        if edge_weight is not None:
            raise UsageError(
                "a sparse adjacency carries its weights as its values: leave edge_weight out"
            )
        matrix = SparseMatrix.from_torch(edge_index)
        _check_square(matrix, num_nodes)
        return matrix
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.is_floating_point():
        raise UsageError(
            f"edge_index has shape {list(edge_index.shape)} and type"
            f" {edge_index.dtype}: integers of shape [2, E] are needed"
        )
    source, target = edge_index.long()
    largest = int(edge_index.max()) if edge_index.numel() else -1
    num_nodes = largest + 1 if num_nodes is None else num_nodes
    if largest >= num_nodes or (edge_index.numel() and int(edge_index.min()) < 0):
        raise UsageError(
            f"edge_index names nodes {int(edge_index.min())} … {largest}:"
            f" a graph of {num_nodes} nodes has 0 … {num_nodes - 1}"
        )
    if edge_weight is None:
        edge_weight = torch.ones(source.numel(), device=edge_index.device)
    if not edge_weight.is_floating_point():
        edge_weight = edge_weight.to(torch.get_default_dtype())
    if edge_weight.shape != source.shape:
        raise UsageError(
            f"edge_weight has shape {list(edge_weight.shape)}:"
            f" one weight for each of the {source.numel()} edges is needed"
        )
    return SparseMatrix.from_coo(target, source, edge_weight, (num_nodes, num_nodes))


def _check_square(matrix: SparseMatrix, num_nodes: int | None) -> None:
    rows, columns = matrix.shape
    if rows != columns or (num_nodes is not None and rows != num_nodes):
        raise UsageError(
            f"the sparse adjacency is {rows} x {columns}:"
            f" {num_nodes or rows} x {num_nodes or rows} is needed"
        )


def known_norm(norm: str) -> str:
    """The normalisation, if it is one: `"rw"` or `"sym"`."""
    if norm not in ("rw", "sym"):
        raise UsageError(f"unknown normalisation {norm!r}: 'rw' and 'sym' are known")
    return norm


def low_pass(
    edge_index: Tensor,
    num_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    norm: str = "rw",
    renormalize: bool = True,
) -> SparseMatrix:
    r"""The low-pass filter `H_LP`: an affinity matrix of the graph (section 2.1).

    With the renormalisation trick :math:`\tilde A = A + I`, :math:`\tilde D = D + I`: `"rw"` is
    :math:`\hat A_{rw} = \tilde D^{-1} \tilde A` (the paper's choice) and `"sym"` is
    :math:`\hat A_{sym} = \tilde D^{-1/2} \tilde A \tilde D^{-1/2}`; without it the same of `A` and
    `D`. A self-loop that the graph already has is kept, so that its node has 2 on the diagonal of
    :math:`\tilde A` (PyG's `gcn_norm` would leave it at 1). A node without any edge has a zero row
    where nothing is added.

    Args:
        edge_index: Edges, `[2, E]`, or a sparse adjacency, as in `adjacency`.
        num_nodes: `N`; by default one more than the largest node index.
        edge_weight: Weights, `[E]`; by default one each.
        norm: `"rw"` (rows sum to one) or `"sym"`.
        renormalize: Whether to add the identity first.

    Returns:
        The `[N, N]` filter.

    Raises:
        UsageError: If the normalisation is unknown, a shape is wrong, or a degree is negative.
    """
    known_norm(norm)
    a = adjacency(edge_index, num_nodes, edge_weight)
    row, col, value = a.row, a.col, a.value
    if renormalize:
        node = torch.arange(a.shape[0], device=row.device)
        row, col = torch.cat([row, node]), torch.cat([col, node])
        value = torch.cat([value, value.new_ones(node.numel())])
        a = SparseMatrix.from_coo(row, col, value, a.shape)
        row, col, value = a.row, a.col, a.value
    degree = value.new_zeros(a.shape[0]).index_add(0, row, value)
    if not bool((degree >= 0).all()):  # nor a NaN
        raise UsageError(
            "a node has a negative degree, or none: edge weights must be numbers from 0"
        )
    exponent = -1.0 if norm == "rw" else -0.5
    scale = torch.where(degree > 0, degree.clamp(min=torch.finfo(degree.dtype).tiny) ** exponent, 0)
    scaled = scale[row] * value if norm == "rw" else scale[row] * value * scale[col]
    return a.with_value(scaled)


def high_pass(
    edge_index: Tensor,
    num_nodes: int | None = None,
    edge_weight: Tensor | None = None,
    norm: str = "rw",
    renormalize: bool = True,
) -> SparseMatrix:
    """The high-pass filter `H_HP = I − H_LP` (section 4.2): a Laplacian of the graph.

    Arguments and errors are those of `low_pass`. Layers do not build it: they compute
    `H_HP x = x − H_LP x` from the product they have.
    """
    low = low_pass(edge_index, num_nodes, edge_weight, norm, renormalize)
    node = torch.arange(low.shape[0], device=low.col.device)
    value = torch.cat([low.value.new_ones(node.numel()), -low.value])
    return SparseMatrix.from_coo(
        torch.cat([node, low.row]), torch.cat([node, low.col]), value, low.shape
    )


def identity(num_nodes: int) -> SparseMatrix:
    """The identity filter `I` (section 4.2), `[N, N]`: what an MLP filters with."""
    node = torch.arange(num_nodes + 1)
    return SparseMatrix(node, node[:-1], torch.ones(num_nodes), (num_nodes, num_nodes))
