"""What an ACM layer costs (section 4.3, "Complexity"): parameters and operations, by step.

The paper counts two operations for each multiplication with addition of a matrix product; so do
the formulas here, in which the steps are those of eq. `acm_gnn_spectral`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import exp

import sympy as sp

N, F_IN, F_OUT, NNZ_LOW, NNZ_HIGH = sp.symbols(
    "N F_{l-1} F_l nnz(H_{LP}) nnz(H_{HP})", positive=True, integer=True
)


def parameters() -> sp.Expr:
    """Learnable numbers of a layer: three `W`, three `W̃` and `W_Mix`, by their shapes."""
    return sp.expand(3 * F_IN * F_OUT + 3 * F_OUT * 1 + 3 * 3)


def printed_parameters() -> sp.Expr:
    """The same as section 4.3 prints it: `3 F_{l-1}(F_l + 1) + 9`."""
    return 3 * F_IN * (F_OUT + 1) + 9


def operations() -> dict[str, sp.Expr]:
    """Multiplications and additions of a layer, by step; nonlinear functions are not among them.

    `transform` and `filter` are the two halves of step 1, `logits` and `mix` those of step 2,
    `combine` is step 3. The high-pass filter is a matrix of its own here, as in the paper's count.
    """
    return {
        "transform": 3 * 2 * N * F_IN * F_OUT,
        "filter": 2 * F_OUT * (NNZ_LOW + NNZ_HIGH),
        "logits": 3 * 2 * N * F_OUT,
        "mix": 2 * 3 * 3 * N,
        "combine": (3 + 2) * N * F_OUT,
    }


def functions() -> dict[str, sp.Expr]:
    """What no count of the paper includes: nonlinear functions, and the softmax in full."""
    return {
        "relu": 3 * N * F_OUT,
        "sigmoid": 3 * N,
        "temperature": 3 * N,
        "softmax": (3 + 2 + 3) * N,
    }


def printed_operations() -> sp.Expr:
    """Section 4.3: `N F_l (8 + 6 F_{l-1}) + 2 F_l (nnz(H_LP) + nnz(H_HP)) + 18 N`."""
    return N * F_OUT * (8 + 6 * F_IN) + 2 * F_OUT * (NNZ_LOW + NNZ_HIGH) + 18 * N


def gcn_operations() -> sp.Expr:
    """A GCN layer, as section 4.3 prints it: `2 N F_{l-1} F_l + 2 F_l nnz(H_LP)`."""
    return 2 * N * F_IN * F_OUT + 2 * F_OUT * NNZ_LOW


def shared_operations() -> sp.Expr:
    """A layer that filters `[X W_L, X W_H]` in one product and subtracts: `H_HP x = x − H_LP x`.

    The same products as with a matrix of its own where no node is isolated, and `N F_l`
    subtractions more; what is saved is the second matrix and the second pass over it.
    """
    parts = operations()
    return sum(parts.values()) - 2 * F_OUT * NNZ_HIGH + 2 * F_OUT * NNZ_LOW + N * F_OUT


@dataclass
class Tally:
    """Operations counted one by one while a layer is evaluated, by step."""

    count: Counter = field(default_factory=Counter)

    def product(self, step: str, a: list[list], b: list[list], sparse: bool = False) -> list[list]:
        """`a b`, two operations for each term; of a sparse `a`, terms with a zero are no terms."""
        out = [[0.0] * len(b[0]) for _ in a]
        for i, row in enumerate(a):
            for k, value in enumerate(row):
                if sparse and value == 0:
                    continue
                for j, other in enumerate(b[k]):
                    out[i][j] += value * other
                    self.count[step] += 2
        return out

    def apply(self, step: str, function, a: list[list]) -> list[list]:
        """A function of each entry, counted once an entry."""
        self.count[step] += sum(map(len, a))
        return [[function(value) for value in row] for row in a]


def evaluate(
    x: list[list], low: list[list], high: list[list], weights: dict, temperature: float = 3.0
) -> tuple[list[list], Counter]:
    """One ACM layer (option 1) in plain numbers, counting every operation as it is done.

    Args:
        x: Features, `[N, F_in]`.
        low, high: The filters, `[N, N]`, whose zeros count as not stored.
        weights: `"W"`, `"W_tilde"`: three matrices each, in the order low, high, identity;
            `"W_mix"`: `[3, 3]`.
        temperature: `T`.

    Returns:
        `H^l`, `[N, F_out]`, and the counts under the keys of `operations` and `functions`.
    """
    tally = Tally()
    channels = []
    for matrix, weight in zip((low, high, None), weights["W"]):
        h = tally.product("transform", x, weight)
        h = h if matrix is None else tally.product("filter", matrix, h, sparse=True)
        channels.append(tally.apply("relu", lambda value: max(value, 0.0), h))
    logits = [tally.product("logits", h, weight) for h, weight in zip(channels, weights["W_tilde"])]
    scores = [[logit[i][0] for logit in logits] for i in range(len(x))]
    scores = tally.apply("sigmoid", lambda value: 1 / (1 + exp(-value)), scores)
    scores = tally.product("mix", scores, weights["W_mix"])
    scores = tally.apply("temperature", lambda value: value / temperature, scores)
    out = []
    for i, row in enumerate(scores):
        powers = [exp(value) for value in row]
        total = sum(powers)
        tally.count["softmax"] += len(row) + (len(row) - 1) + len(row)
        alpha = [value / total for value in powers]
        mixed = []
        for j in range(len(channels[0][i])):
            mixed.append(sum(weight * h[i][j] for weight, h in zip(alpha, channels)))
            tally.count["combine"] += len(alpha) + (len(alpha) - 1)
        out.append(mixed)
    return out, tally.count
