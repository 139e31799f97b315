"""Test the bits of counter-based dropout, and that its draws look independent."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acm import kernels
from acm.filters import SparseMatrix
from acm.nn import Dropout
from acm.nn import stacked as module
from acm.nn.stacked import squares
from tests.kernels.test_products import draw

WORD = 2**64


def key_of(seed: int) -> int:
    """Return the key of a seed: 64 mixed bits, odd, as a signed number."""
    bits = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) | 1
    return bits - WORD if bits >= WORD // 2 else bits


def give(layer: Dropout, p, key, counter) -> Dropout:
    """Set up a layer as the trainer does for a batch of trials."""
    layer.p = torch.tensor(p, dtype=torch.float64)
    layer.key, layer.counter = torch.tensor(key), torch.tensor(counter)
    return layer.train()


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_squares_is_the_published_generator(counter, key):
    # The generator of Widynski (2020), in Python's integers modulo 2⁶⁴.
    def swap(x):
        return ((x >> 32) | (x << 32)) % WORD

    y = counter * key % WORD
    z = (y + key) % WORD
    x = swap((y * y + y) % WORD)
    x = swap((x * x + z) % WORD)
    x = swap((x * x + y) % WORD)
    expected = (x * x + z) % WORD >> 32
    assert squares(torch.tensor([counter]), torch.tensor([key])).tolist() == [expected]


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("shared", [False, True])
def test_the_loop_is_the_formula_to_the_bit(kind, shared):
    p = torch.tensor([0.0, 0.1, 0.5, 0.999999], dtype=torch.float64)
    key = torch.tensor([key_of(k) for k in range(4)])
    counter = torch.tensor([0, 7 * 2**44 + 2**36, 5000 * 2**44, -5])
    x = torch.randn(1 if shared else 4, 700, 11, dtype=kind)
    expected = module._dropout(x, p, key, counter)
    for number in (1, 2):
        with kernels.threads(number):
            assert torch.equal(kernels.dropout(x, p, key, counter), expected)
    assert torch.equal(kernels.dropout(x.mT.contiguous().mT, p, key, counter), expected)
    assert torch.equal(expected[0], x[0])


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_shares_and_mean(loops, p):
    n = 200_000
    layer = give(Dropout(), [p], [key_of(3)], [11 * 2**44])
    out = layer(torch.ones(1, n // 10, 10))
    assert out.unique().tolist() == pytest.approx([0, 1 / (1 - p)])
    dropped = int((out == 0).sum())
    assert abs(dropped - n * p) < 4 * math.sqrt(n * p * (1 - p))


def test_streams_of_other_keys_counters_and_layers_are_uncorrelated(loops):
    n, p = 50_000, 0.3
    starts = [0, 1 * 2**44, 2 * 2**44, 2**36, 2**44 + 2**36]
    pairs = [(key_of(seed), start) for seed in range(4) for start in starts]
    keys, counters = zip(*pairs)
    layer = give(Dropout(), [p] * len(pairs), keys, counters)
    keep = (layer(torch.ones(1, n, 1).expand(len(pairs), n, 1)) != 0).double().squeeze(2)
    correlation = torch.corrcoef(keep) - torch.eye(len(pairs))
    assert correlation.abs().max() < 5 / math.sqrt(n)
    for lag in (1, 2, 64):  # an element and later elements are uncorrelated too
        within = torch.stack([torch.corrcoef(torch.stack([k[:-lag], k[lag:]]))[0, 1] for k in keep])
        assert within.abs().max() < 5 / math.sqrt(n)
    # The 16 patterns of 4 adjacent draws have the expected counts (chi-square test).
    pattern = (keep.view(len(pairs), -1, 4) @ torch.tensor([1.0, 2, 4, 8]).double()).long()
    ones = torch.tensor([bin(k).count("1") for k in range(16)])
    expected = pattern[0].numel() * (1 - p) ** ones * p ** (4 - ones)
    for row in pattern:
        observed = row.bincount(minlength=16)
        assert float(((observed - expected) ** 2 / expected).sum()) < 50  # p = 1e-5


def test_a_trial_has_the_draws_that_it_has_alone(loops):
    p, key, counter = [0.2, 0.0, 0.7], [key_of(k) for k in range(3)], [5 * 2**44] * 3
    x = torch.randn(3, 40, 6)
    together = give(Dropout(), p, key, counter)
    first, of_one_for_all, last = together(x), together(x[0]), together(x)
    for b in range(3):
        alone = give(Dropout(), p[b], key[b], counter[b])
        assert torch.equal(first[b], alone(x[b]))
        assert torch.equal(of_one_for_all[b], alone(x[0]))
        assert torch.equal(last[b], alone(x[b]))
    assert torch.equal(together.eval()(x), x)


def test_a_second_use_goes_on_where_the_first_ended(loops):
    x = torch.ones(2, 30, 4)
    layer = give(Dropout(), [0.5, 0.3], [key_of(0), key_of(1)], [7, 9])
    twice = torch.cat([layer(x), layer(x)], 1)
    once = give(Dropout(), [0.5, 0.3], [key_of(0), key_of(1)], [7, 9])(torch.ones(2, 60, 4))
    assert torch.equal(twice, once) and not torch.equal(twice[:, :30], twice[:, 30:])
    assert layer.counter.tolist() == [7 + 240, 9 + 240]


def test_sparse_values_are_dropped_as_they_stand(loops):
    matrix, _ = draw(13, 29, (), torch.float32)
    p, key, counter = [0.5, 0.2], [key_of(0), key_of(1)], [0, 9]
    dropped = give(Dropout(), p, key, counter)(matrix)
    assert isinstance(dropped, SparseMatrix) and dropped.value.shape == (2, matrix.value.numel())
    for b in range(2):
        draws = p[b], key[b], counter[b]
        assert torch.equal(dropped.value[b], give(Dropout(), *draws)(matrix).value)
        assert torch.equal(dropped.value[b], give(Dropout(), *draws)(matrix.value[None])[0])


def test_the_gradient_goes_through_what_was_kept(loops):
    def drop(x):
        return give(Dropout(), [0.4, 0.0], [key_of(0), key_of(1)], [3, 4])(x)

    x = torch.randn(2, 6, 3, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(drop(x).sum(), x)
    assert torch.equal(grad != 0, drop(x) != 0)
    assert torch.autograd.gradcheck(drop, (x,)) and torch.autograd.gradgradcheck(drop, (x,))
    shared = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(drop, (shared,))


def test_used_alone_it_draws_from_pytorchs_generator():
    layer, x = Dropout(0.5).train(), torch.ones(50, 50)
    torch.manual_seed(0)
    first, second = layer(x), layer(x)
    torch.manual_seed(0)
    assert torch.equal(layer(x), first) and not torch.equal(first, second)
    torch.manual_seed(0)
    assert torch.equal(torch.nn.functional.dropout(x, 0.5), first)
