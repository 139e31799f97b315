"""Evaluate formulas with dense matrices, in NumPy and float64."""

import numpy as np


def relu(a):
    return np.maximum(a, 0)


def adjacency(edge_index, n):
    """Return `A`, whose rows are targets; repeated edges add up."""
    a = np.zeros((n, n))
    for source, target in edge_index.t().tolist():
        a[target, source] += 1
    return a


def filters(edge_index, n):
    """Return the three filters of section 4.2, with the random-walk normalization."""
    a = adjacency(edge_index, n) + np.eye(n)
    low = a / a.sum(1, keepdims=True)
    return {"low": low, "high": np.eye(n) - low, "identity": np.eye(n)}


def mixed(h, w_tilde, w_mix, weighed=None, temperature=3):
    """Compute steps 2 and 3 of section 4.3; step 2 uses `weighed` if given, else `h`."""
    weighed = h if weighed is None else weighed
    logits = np.stack([s @ w for s, w in zip(weighed, w_tilde)], 1)
    logits = 1 / (1 + np.exp(-logits))
    alpha = np.exp(logits @ w_mix / temperature)
    alpha /= alpha.sum(1, keepdims=True)
    return sum(alpha[:, [k]] * part for k, part in enumerate(h))


def parameters(module):
    return {name: p.detach().double().numpy() for name, p in module.named_parameters()}
