"""Compare the counts of section 4.3 with a built layer, an evaluation and PyTorch's counter."""

from __future__ import annotations

import pytest
import sympy as sp
import torch
from torch.utils.flop_counter import FlopCounterMode

from acm.filters import high_pass, low_pass
from acm.nn import ACMConv
from acm.theory.complexity import (
    F_IN,
    F_OUT,
    NNZ_HIGH,
    NNZ_LOW,
    N,
    evaluate,
    functions,
    operations,
    parameters,
    printed_operations,
    printed_parameters,
    shared_operations,
)

GRAPHS = {
    "path": (4, [(0, 1), (1, 2), (2, 3)]),
    "isolated": (6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]),
    "star": (5, [(0, 1), (0, 2), (0, 3), (0, 4)]),
}


def graph(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    n, pairs = GRAPHS[name]
    edges = torch.tensor(pairs + [(b, a) for a, b in pairs]).T
    weight = torch.ones(edges.shape[1], dtype=torch.double)
    return tuple(make(edges, n, weight).to_dense() for make in (low_pass, high_pass))


def sizes(low, high, f_in: int, f_out: int) -> dict:
    nonzero = (int((matrix != 0).sum()) for matrix in (low, high))
    return dict(zip((N, F_IN, F_OUT, NNZ_LOW, NNZ_HIGH), (len(low), f_in, f_out, *nonzero)))


@pytest.mark.parametrize("f_in, f_out", [(1, 1), (5, 7), (7, 5), (30, 64), (64, 5)])
def test_parameters_equal_those_of_a_built_layer(f_in, f_out):
    built = sum(p.numel() for p in ACMConv(f_in, f_out).parameters())
    assert parameters().subs({F_IN: f_in, F_OUT: f_out}) == built
    printed = printed_parameters().subs({F_IN: f_in, F_OUT: f_out})
    assert (printed == built) == (f_in == f_out)


def test_the_printed_parameters_are_wrong_by_the_difference_of_the_widths():
    assert sp.expand(printed_parameters() - parameters() - 3 * (F_IN - F_OUT)) == 0


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("f_in, f_out", [(3, 2), (2, 4)])
def test_formulas_equal_the_counted_operations(name, f_in, f_out):
    low, high = graph(name)
    torch.manual_seed(f_in)
    layer = ACMConv(f_in, f_out).double()
    x = torch.randn(len(low), f_in, dtype=torch.double)
    weights = {
        "W": [w.tolist() for w in layer.weight.unbind(1)],
        "W_tilde": [w[:, None].tolist() for w in layer.weight_tilde],
        "W_mix": layer.weight_mix.tolist(),
    }
    out, count = evaluate(x.tolist(), low.tolist(), high.tolist(), weights)
    # The counting evaluation computes the same output as the layer.
    expected = layer(x, low_pass_of(name))
    torch.testing.assert_close(torch.tensor(out, dtype=torch.double), expected.detach())
    at = sizes(low, high, f_in, f_out)
    formulas = {step: int(f.subs(at)) for step, f in (operations() | functions()).items()}
    assert dict(count) == formulas
    counted = sum(count[step] for step in operations())
    assert printed_operations().subs(at) == counted - 3 * len(low) * f_out != counted
    gcn = 2 * len(low) * f_in * f_out + 2 * f_out * at[NNZ_LOW]  # the printed count of a GCN layer
    assert gcn == count["transform"] // 3 + 2 * f_out * at[NNZ_LOW]


def low_pass_of(name: str):
    n, pairs = GRAPHS[name]
    edges = torch.tensor(pairs + [(b, a) for a, b in pairs]).T
    return low_pass(edges, n, torch.ones(edges.shape[1], dtype=torch.double))


def test_no_sum_of_steps_gives_the_printed_factor_8():
    parts = operations()
    missing = sp.expand(sum(parts.values()) - printed_operations())
    assert missing == 3 * N * F_OUT
    # Every other term of the printed formula equals one of the steps.
    printed = sp.expand(printed_operations())
    assert printed.coeff(F_IN) == sp.expand(parts["transform"]).coeff(F_IN)
    assert sp.expand(printed - parts["transform"] - parts["filter"] - parts["mix"]) == 8 * N * F_OUT
    assert parts["logits"] + parts["combine"] == 11 * N * F_OUT
    # Of step 3, only the two additions without the multiplications give 8 with the logits. ReLUs
    # would only increase the count.
    logits = parts["logits"] / (N * F_OUT)
    assert {logits + extra for extra in (3, 5)} == {9, 11} and logits + 2 == 8


@pytest.mark.parametrize("n, f_in, f_out", [(6, 3, 2), (5, 4, 7)])
def test_matrix_products_equal_pytorchs_count(n, f_in, f_out):
    x = torch.randn(n, f_in)
    filters = [torch.rand(n, n), torch.rand(n, n), None]
    weights = [(torch.randn(f_in, f_out), torch.randn(f_out, 1)) for _ in filters]
    with FlopCounterMode(display=False) as counter:
        h = [x @ w if f is None else f @ (x @ w) for f, (w, _) in zip(filters, weights)]
        torch.cat([c @ w for c, (_, w) in zip(h, weights)], 1) @ torch.rand(3, 3)
    parts = operations()
    products = sum(parts[step] for step in ("transform", "filter", "logits", "mix"))
    at = {N: n, F_IN: f_in, F_OUT: f_out, NNZ_LOW: n * n, NNZ_HIGH: n * n}
    assert counter.get_total_flops() == products.subs(at) != printed_operations().subs(at)


@pytest.mark.parametrize("name, isolated", [("path", 0), ("isolated", 1), ("star", 0)])
def test_operations_saved_by_the_shared_product(name, isolated):
    low, high = graph(name)
    at = sizes(low, high, 3, 2)
    # The row of an isolated node in the high-pass filter is zero, including the diagonal.
    assert at[NNZ_HIGH] == at[NNZ_LOW] - isolated
    extra = sp.expand(shared_operations() - sum(operations().values())).subs(at)
    assert extra == len(low) * 2 + 2 * 2 * isolated
