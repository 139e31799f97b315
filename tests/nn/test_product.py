"""Test values, gradients and bits of the product with stacked weights."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acm.errors import UsageError
from acm.filters import SparseMatrix
from acm.nn import product

SIZES = st.one_of(st.integers(1, 40), st.sampled_from([64, 96, 183, 400]))


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@given(rows=SIZES, inner=SIZES, columns=SIZES, seed=st.integers(0, 99), shared=st.booleans())
def test_a_trial_gets_the_same_bits_beside_any_others(kind, rows, inner, columns, seed, shared):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=kind)

    x = draw(rows, inner) if shared else draw(5, rows, inner)
    w, g = draw(5, inner, columns), draw(5, rows, columns)

    def both(which):
        """Return the product and its gradients for some trials."""
        a = (x if shared else x[which]).clone().requires_grad_()
        b = w[which].clone().requires_grad_()
        out = product(a, b)
        return out, *torch.autograd.grad(out, (a, b), g[which])

    together = both(slice(None))
    expected = x @ w, (g @ w.mT).sum(0) if shared else g @ w.mT, x.mT @ g
    for ours, theirs in zip(together, expected):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    for first, last in ((0, 1), (1, 2), (3, 5)):
        out, grad_x, grad_w = both(slice(first, last))
        assert torch.equal(out, together[0][first:last])
        assert torch.equal(grad_w, together[2][first:last])
        if not shared:
            assert torch.equal(grad_x, together[1][first:last])


def test_one_set_of_weights_and_sparse_features_are_plain_products():
    x, w = torch.randn(6, 5), torch.randn(5, 3)
    assert torch.equal(product(x, w), x @ w)
    sparse = SparseMatrix.from_torch(x)
    torch.testing.assert_close(product(sparse, w), x @ w)
    torch.testing.assert_close(product(sparse, w.expand(2, 5, 3)), (x @ w).expand(2, 6, 3))


def test_columns_of_a_wider_tensor_and_a_view_off_its_line_will_do():
    wide, w = torch.randn(3, 16, 40), torch.randn(3, 16, 16)
    for x in (wide[..., 7:23], wide[:, 1:, 3:19], wide.mT[:, 1:17, :], wide[1:, :, 1:17]):
        torch.testing.assert_close(product(x, w[: len(x)]), x @ w[: len(x)])


UNLIKE = [((5, 3), (2, 10, 4)), ((3, 5, 4), (1, 4, 2)), ((2, 5, 4), (4, 4, 2)), ((4,), (2, 4, 2))]


@pytest.mark.parametrize("x, w", UNLIKE)
def test_shapes_that_do_not_meet_are_refused(x, w):
    with pytest.raises(UsageError, match="do not match") as error:
        product(torch.randn(*x), torch.randn(*w))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("x, w", [((4, 3), (2, 3, 5)), ((2, 4, 3), (2, 3, 5))])
def test_first_and_second_derivatives(loops, x, w):
    inputs = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in (x, w)]
    assert torch.autograd.gradcheck(product, inputs)
    assert torch.autograd.gradgradcheck(product, inputs)


def test_types_that_differ_are_refused_for_one_trial_and_for_many_dense_and_sparse():
    x, words = torch.randn(5, 4).double(), "x is of torch.float64, the weights of torch.float32"
    sparse = SparseMatrix.from_coo(torch.tensor([0]), torch.tensor([0]), torch.ones(1), (5, 4))
    for weight in (torch.randn(4, 2), torch.randn(2, 4, 2)):
        for features in (x, sparse.to(x)):
            with pytest.raises(UsageError, match=words):
                product(features, weight)


def test_where_pytorch_casts_by_itself_types_may_differ():
    x, w = torch.randn(5, 4), torch.randn(4, 2)
    with torch.autocast("cpu", torch.bfloat16):
        out = product(product(x, w), torch.randn(2, 3))
    assert out.dtype == torch.bfloat16 and out.shape == (5, 3)


def test_a_tensor_without_numbers_has_a_product_too():
    x, w = torch.empty(5, 4, device="meta"), torch.empty(4, 2, device="meta")
    assert product(x, w).shape == (5, 2)
