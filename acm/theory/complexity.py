"""Count the parameters and operations of an ACM layer by step (section 4.3, "Complexity").

Like the paper, the formulas count two operations for each multiply-add of a matrix product. The
steps 1 to 3 are those of the layer's definition in section 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import exp

import sympy as sp

N, F_IN, F_OUT, NNZ_LOW, NNZ_HIGH = sp.symbols(
    "N F_{l-1} F_l nnz(H_{LP}) nnz(H_{HP})", positive=True, integer=True
)

Matrix = list[list[float]]


def parameters() -> sp.Expr:
    """Count the parameters of a layer: three `W_c`, three `W̃_c` and `W_Mix`."""
    return sp.expand(3 * F_IN * F_OUT + 3 * F_OUT * 1 + 3 * 3)


def printed_parameters() -> sp.Expr:
    """Return the printed number of parameters, `3 F_{l-1}(F_l + 1) + 9`."""
    return 3 * F_IN * (F_OUT + 1) + 9


def operations() -> dict[str, sp.Expr]:
    """Count the multiplications and additions of a layer, without nonlinear functions.

    Returns:
        Operations by name: `transform` and `filter` (step 1), `logits` and `mix` (step 2) and
        `combine` (step 3). As in the paper, `filter` uses a stored high-pass matrix.
    """
    return {
        "transform": 3 * 2 * N * F_IN * F_OUT,
        "filter": 2 * F_OUT * (NNZ_LOW + NNZ_HIGH),
        "logits": 3 * 2 * N * F_OUT,
        "mix": 2 * 3 * 3 * N,
        "combine": (3 + 2) * N * F_OUT,
    }


def functions() -> dict[str, sp.Expr]:
    """Count the operations that the paper omits: nonlinear functions and the softmax."""
    return {
        "relu": 3 * N * F_OUT,
        "sigmoid": 3 * N,
        "temperature": 3 * N,
        "softmax": (3 + 2 + 3) * N,
    }


def printed_operations() -> sp.Expr:
    """Return the printed count, `N F_l (8 + 6 F_{l-1}) + 2 F_l (nnz(H_LP) + nnz(H_HP)) + 18 N`."""
    return N * F_OUT * (8 + 6 * F_IN) + 2 * F_OUT * (NNZ_LOW + NNZ_HIGH) + 18 * N


def shared_operations() -> sp.Expr:
    """Count the operations of a layer that computes `H_HP x` as `x − H_LP x`.

    Such a layer multiplies `H_LP` by both `X W_L` and `X W_H`, and then subtracts `N F_l` times.
    The graph must have no isolated nodes, otherwise `H_HP = I − H_LP` does not hold.
    """
    return sum(operations().values()) - 2 * F_OUT * NNZ_HIGH + 2 * F_OUT * NNZ_LOW + N * F_OUT


def evaluate(
    x: Matrix, low: Matrix, high: Matrix, weights: dict, temperature: float = 3.0
) -> tuple[Matrix, Counter]:
    """Evaluate one ACM layer (option 1) in plain Python and count every operation.

    Args:
        x: Features, `[N, F_in]`.
        low, high: Filters, `[N, N]`; multiplications by zero entries are not counted.
        weights: `"W"` and `"W_tilde"` hold three matrices each, in the order low, high, identity;
            `"W_mix"` holds a matrix, `[3, 3]`.
        temperature: `T`, by which the layer divides the scores before the softmax.

    Returns:
        `H^l`, `[N, F_out]`, and the counts under the keys of `operations` and `functions`.
    """
    count: Counter = Counter()

    def multiply(step: str, a: Matrix, b: Matrix, sparse: bool = False) -> Matrix:
        out = [[0.0] * len(b[0]) for _ in a]
        for i, row in enumerate(a):
            for factor, entries in zip(row, b):
                if factor or not sparse:
                    out[i] = [total + factor * entry for total, entry in zip(out[i], entries)]
                    count[step] += 2 * len(entries)
        return out

    def apply(step: str, function: Callable[[float], float], a: Matrix) -> Matrix:
        count[step] += sum(map(len, a))
        return [[function(entry) for entry in row] for row in a]

    channels = []
    for matrix, weight in zip((low, high, None), weights["W"]):
        h = multiply("transform", x, weight)
        h = h if matrix is None else multiply("filter", matrix, h, sparse=True)
        channels.append(apply("relu", lambda entry: max(entry, 0.0), h))
    logits = [multiply("logits", h, weight) for h, weight in zip(channels, weights["W_tilde"])]
    scores = [[logit[i][0] for logit in logits] for i in range(len(x))]
    scores = apply("sigmoid", lambda entry: 1 / (1 + exp(-entry)), scores)
    scores = multiply("mix", scores, weights["W_mix"])
    scores = apply("temperature", lambda entry: entry / temperature, scores)
    out = []
    for i, row in enumerate(scores):
        powers = [exp(score) for score in row]
        alpha = [power / sum(powers) for power in powers]
        count["softmax"] += len(row) + (len(row) - 1) + len(row)
        columns = list(zip(*(h[i] for h in channels)))
        out.append([sum(weight * h for weight, h in zip(alpha, column)) for column in columns])
        count["combine"] += len(columns) * (len(alpha) + (len(alpha) - 1))
    return out, count
