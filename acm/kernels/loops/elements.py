"""Loops over elements and nodes: dropout, cross-entropy and Adam."""

import numpy as np

from acm.kernels.loops.compiled import compiled, cut, exact


@compiled
def _squares(counter, key):
    """Return 32 random bits of Widynski's counter-based generator `squares32`."""
    low = np.uint64(32)
    x = counter * key
    y = x
    z = y + key
    x = x * x + y
    x = (x >> low) | (x << low)
    x = x * x + z
    x = (x >> low) | (x << low)
    x = x * x + y
    x = (x >> low) | (x << low)
    return (x * x + z) >> low


@compiled
def _dropped(x, p, key, counter, out):
    bound = np.uint64(np.round(p * 4294967296.0))
    keep, zero = x.dtype.type(1.0 / (1.0 - p)), x.dtype.type(0)
    for i in range(x.size):
        out[i] = x[i] * keep if _squares(counter + np.uint64(i), key) >= bound else zero


@compiled
def dropout(x, p, key, counter, out, parts, first, last):
    size = out.shape[1]
    for t in range(first, last):
        b, _, start, stop = cut(t, parts, size)
        c = np.uint64(counter[b]) + np.uint64(start)
        _dropped(x[b % x.shape[0]][start:stop], p[b], np.uint64(key[b]), c, out[b][start:stop])


@exact
def _cross_entropy(logits, y, share, best, grad, start, stop):
    number, classes = logits.dtype.type, logits.shape[1]
    loss, zero = number(0), number(0)
    for i in range(start, stop):
        top, place = logits[i, 0], 0
        for c in range(1, classes):
            if logits[i, c] > top:
                top, place = logits[i, c], c
        best[i] = place
        if share[i] == zero:
            if grad.size:
                grad[i] = zero
            continue
        total = zero
        for c in range(classes):
            total += np.exp(logits[i, c] - top)
        loss += share[i] * (np.log(total) - (logits[i, y[i]] - top))
        if grad.size:
            for c in range(classes):
                grad[i, c] = share[i] * np.exp(logits[i, c] - top) / total
            grad[i, y[i]] -= share[i]
    return loss


@exact
def cross_entropy(logits, y, share, loss, best, grad, parts, first, last):
    """Write the loss as `[B, parts]`: one sum for each part of the nodes."""
    nodes = logits.shape[1]
    for t in range(first, last):
        b, part, start, stop = cut(t, parts, nodes)
        loss[b, part] = _cross_entropy(logits[b], y[b], share[b], best[b], grad[b], start, stop)


@compiled
def _adam(w, g, m, v, step, shrink, l2, rest1, beta2, rest2, root, eps):
    for i in range(w.size):
        d = g[i] + l2 * w[i]
        m[i] += rest1 * (d - m[i])
        v[i] = beta2 * v[i] + rest2 * d * d
        w[i] = shrink * w[i] - step * m[i] / (np.sqrt(v[i]) * root + eps)


@compiled
def adam(w, g, m, v, rate, shrink, l2, betas, correction, eps, parts, first, last):
    size, number = w.shape[1], w.dtype.type
    root = number(1 / np.sqrt(correction[1]))
    for t in range(first, last):
        b, _, start, stop = cut(t, parts, size)
        own = slice(start, stop)
        _adam(
            w[b][own], g[b][own], m[b][own], v[b][own], number(rate[b] / correction[0]),
            number(shrink[b]), number(l2[b]), number(1 - betas[0]), number(betas[1]),
            number(1 - betas[1]), root, number(eps),
        )  # fmt: skip
