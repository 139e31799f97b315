"""Compare sparse products, of one matrix and of a batch, with dense products."""

import pytest
import torch

from acm import kernels
from acm.errors import UsageError
from acm.filters import SparseMatrix

ONE, THREE, NONE = (1,), (3,), (0,)
BATCHES = [((), ()), ((), THREE), (THREE, ()), (THREE, THREE), (ONE, ONE), ((), ONE)]
BATCHES += [(ONE, THREE), (THREE, ONE), (NONE, ()), ((), NONE)]


def draw(rows, columns, batch=(), kind=torch.float64, seed=0):
    """Return a matrix with empty and full rows, sparse and dense; each trial has other values."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(rows, columns, generator=generator) < torch.rand(rows, 1) ** 2
    mask[::5] = False
    mask[1:2] = True
    row, col = mask.nonzero(as_tuple=True)
    value = torch.randn(*batch, row.numel(), generator=generator, dtype=torch.float64).to(kind)
    matrix = SparseMatrix.from_coo(row, col, value.new_ones(row.numel()), (rows, columns))
    dense = torch.zeros(*batch, rows, columns, dtype=kind)
    dense[..., row, col] = value
    return matrix.with_value(value), dense


@pytest.mark.parametrize("of_values, of_x", BATCHES)
@pytest.mark.parametrize("width", [1, 5, 10, 64, 192])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_products_are_those_of_dense_matrices(loops, of_values, of_x, width, kind):
    matrix, dense = draw(13, 29, of_values, kind)
    x = torch.randn(*of_x, 29, width, dtype=kind, generator=torch.Generator().manual_seed(1))
    assert kernels.supports(matrix.value, x) == loops
    expected = dense @ x
    torch.testing.assert_close(matrix @ x, expected)
    torch.testing.assert_close(matrix.times(x), expected)
    back = matrix.T @ expected
    torch.testing.assert_close(back, dense.transpose(-1, -2) @ expected)


@pytest.mark.parametrize("of_values, of_x", BATCHES)
def test_columns_of_a_wider_tensor_and_other_strides_will_do(loops, of_values, of_x):
    matrix, dense = draw(13, 29, of_values)
    wide = torch.randn(*of_x, 29, 40, dtype=torch.float64)
    for x in (wide[..., 7:17], wide[..., ::3], wide.transpose(-1, -2).contiguous().mT[..., 5:]):
        torch.testing.assert_close(matrix @ x, dense @ x)
    if of_x == (3,):
        x = wide.transpose(0, 1).contiguous().transpose(0, 1)[..., 2:9]
        torch.testing.assert_close(matrix @ x, dense @ x)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("rows, columns, width", [(4, 3, 2), (0, 3, 2), (4, 0, 2), (4, 3, 0)])
def test_an_empty_matrix_gives_zeros(loops, batch, rows, columns, width):
    none = torch.zeros(0, dtype=torch.long)
    matrix = SparseMatrix.from_coo(none, none, torch.zeros(0), (rows, columns))
    product = matrix @ torch.ones(*batch, columns, width)
    assert product.shape == (*batch, rows, width) and not product.any()


@pytest.mark.parametrize("of_values, of_x", BATCHES)
def test_gradients_in_the_values_and_in_the_operand(loops, of_values, of_x):
    matrix, _ = draw(6, 5, of_values)
    x = torch.randn(*of_x, 5, 2, dtype=torch.float64, requires_grad=True)
    value = matrix.value.clone().requires_grad_()

    def product(value, x):
        return matrix.with_value(value) @ x

    assert torch.autograd.gradcheck(product, (value, x))
    assert torch.autograd.gradgradcheck(product, (value, x))
    assert torch.autograd.gradcheck(lambda x: matrix @ x, (x,))


@pytest.mark.parametrize("of_x", [(2,), (0,), (2, 3)])
def test_batches_that_do_not_meet_are_refused_in_one_line(loops, of_x):
    matrix, _ = draw(6, 5, (3,))
    with pytest.raises(UsageError, match=r"3 times a 6 x 5 matrix cannot .* \[5, F\]"):
        matrix @ torch.ones(*of_x, 5, 2, dtype=torch.float64)


def test_what_a_trial_gets_is_the_same_in_any_batch_and_on_any_number_of_threads(monkeypatch):
    matrix, _ = draw(2000, 60, (4,), torch.float32)
    x = torch.randn(4, 60, 48)
    alone = [matrix.with_value(matrix.value[b]) @ x[b] for b in range(4)]
    shared = []
    monkeypatch.setattr(kernels, "_helpers", spy_on(kernels._helpers, shared))
    for number in (1, 2, 3):
        with kernels.threads(number):
            product = matrix @ x
        assert all(torch.equal(product[b], alone[b]) for b in range(4))
        assert len(shared) == sum(range(number))  # each product starts `number − 1` helpers


def spy_on(function, calls):
    """Return a function that also appends its arguments to `calls`."""

    def spy(*args):
        calls.append(args)
        return function(*args)

    return spy
