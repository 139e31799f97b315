"""Check first and second derivatives of every fused operation, in double precision."""

import pytest
import torch
from torch.func import functional_call

from acm.baselines.attention import Attend, EdgeSoftmax, PairSum
from acm.filters import SparseMatrix, low_pass
from acm.nn import ACMConv
from acm.nn.stacked import _Dropout, product

EDGES = torch.tensor([[0, 1, 2, 3, 0, 2], [1, 2, 0, 0, 3, 3]])
EDGES = torch.cat([EDGES, EDGES.flip(0)], 1)


def graph() -> SparseMatrix:
    a = low_pass(EDGES, 4)
    return a.with_value(a.value.double())


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.manual_seed(sum(shape)))


NNZ = len(graph().value)
KEYS = torch.tensor([11, 13]), torch.tensor([0, 5])
OPERATIONS = {
    "dense product": (product, (leaf(2, 4, 3), leaf(2, 3, 2))),
    "shared product": (product, (leaf(4, 3), leaf(2, 3, 2))),
    "sparse product": (lambda v, x: graph().with_value(v) @ x, (leaf(NNZ), leaf(4, 2))),
    "dropout": (
        lambda x: _Dropout.apply(x, torch.tensor([0.5, 0.2], dtype=torch.float64), *KEYS),
        (leaf(2, 4, 3),),
    ),
    "pair sum": (lambda t, s: PairSum.apply(t, s, graph()), (leaf(3, 4), leaf(3, 4))),
    "edge softmax": (lambda s: EdgeSoftmax.apply(s, graph()), (leaf(3, NNZ),)),
    "attention": (lambda w, h: Attend.apply(w, h, graph()), (leaf(3, NNZ), leaf(3, 4, 2))),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_fused_operation_is_differentiable_twice(name):
    function, inputs = OPERATIONS[name]
    inputs = [x.clone().requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(function, inputs)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("both", [False, True])
def test_the_hessian_of_a_layer_is_not_zero(both):
    torch.manual_seed(0)
    conv, x = ACMConv(3, 2).double(), leaf(4, 3)

    def loss(w):
        out = functional_call(conv, {"weight": w}, (x, EDGES), {"return_channel_weights": both})
        return (out[0] if both else out).pow(2).sum()

    weight = conv.weight.detach()
    hessian = torch.autograd.functional.hessian(loss, weight).flatten(0, weight.dim() - 1)
    assert hessian.abs().max() > 0.1
    step = torch.zeros_like(weight)
    step.view(-1)[1] = 1e-5
    ends = [(weight + sign * step).requires_grad_() for sign in (1, -1)]
    up, down = (torch.autograd.grad(loss(w), w)[0] for w in ends)
    assert torch.allclose(hessian[1], (up - down) / 2e-5, atol=1e-6)
