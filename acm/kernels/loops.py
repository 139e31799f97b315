"""The loops themselves; `acm.kernels` says what each computes.

The rows of every trial are cut into parts, by their number alone; a call computes the parts
`first` to `last − 1` of all trials' parts, so several threads can share them. Each part adds up
for itself: sums come out alike on any number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

# Sums may be regrouped (else no loop that adds up could use the vector unit); what is not a number
# stays so, for the trainer asks.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


def _compiled(function):
    options = dict(nogil=True, fastmath=_FAST, error_model="numpy")
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder can be written to keep the machine code in
        return numba.njit(**options)(function)


@_compiled
def _sparse_rows(crow, col, v, x, x_0, x_n, out, out_0, out_n, width, add, start, stop):
    for i in range(start, stop):
        o = out[out_0 + i * out_n :][:width]
        if not add:
            o[:] = 0
        k, end = crow[i], crow[i + 1]
        # Four rows at once: each element of `o` is loaded and stored a quarter as often.
        while k + 4 <= end:
            v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
            x0 = x[x_0 + col[k] * x_n :][:width]
            x1 = x[x_0 + col[k + 1] * x_n :][:width]
            x2 = x[x_0 + col[k + 2] * x_n :][:width]
            x3 = x[x_0 + col[k + 3] * x_n :][:width]
            for f in range(width):
                o[f] += v0 * x0[f] + v1 * x1[f] + v2 * x2[f] + v3 * x3[f]
            k += 4
        while k < end:
            v0 = v[k]
            x0 = x[x_0 + col[k] * x_n :][:width]
            for f in range(width):
                o[f] += v0 * x0[f]
            k += 1


@_compiled
def sparse_product(
    crow, col, value, x, x_b, x_n, out, out_b, out_n, rows, width, add, parts, first, last
):  # fmt: skip
    for t in range(first, last):
        b, part = t // parts, t % parts
        start, stop = rows * part // parts, rows * (part + 1) // parts
        v = value[b % value.shape[0]]
        _sparse_rows(crow, col, v, x, b * x_b, x_n, out, b * out_b, out_n, width, add, start, stop)


@_compiled
def _squares(counter, key):
    """Widynski's counter-based generator `squares32`: 32 random bits."""
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


@_compiled
def _dropped(x, p, key, counter, out):
    bound = np.uint64(np.round(p * 4294967296.0))
    keep, zero = x.dtype.type(1.0 / (1.0 - p)), x.dtype.type(0)
    for i in range(x.size):
        out[i] = x[i] * keep if _squares(counter + np.uint64(i), key) >= bound else zero


@_compiled
def dropout(x, p, key, counter, out, parts, first, last):
    size = out.shape[1]
    for t in range(first, last):
        b, part = t // parts, t % parts
        start, stop = size * part // parts, size * (part + 1) // parts
        c = np.uint64(counter[b]) + np.uint64(start)
        _dropped(x[b % x.shape[0]][start:stop], p[b], np.uint64(key[b]), c, out[b][start:stop])


# Arrays are indexed as they are, not through slices: a slice in a loop over nodes costs as much as
# the arithmetic of a narrow layer.


@_compiled
def _channels(h, smooth, kinds, floor, i, value):
    """`H_k` of node `i` for every channel: what is filtered, or what is left, or neither."""
    s = 0
    for k in range(h.shape[1]):
        if kinds[k] == 2:
            for f in range(h.shape[2]):
                value[k, f] = h[i, k, f]
        elif kinds[k] == 1:
            for f in range(h.shape[2]):
                value[k, f] = h[i, k, f] - smooth[i, s, f]
            s += 1
        else:
            for f in range(h.shape[2]):
                value[k, f] = smooth[i, s, f]
            s += 1
        for f in range(h.shape[2]):  # not `max`, which would make a number of NaN
            value[k, f] = floor if value[k, f] < floor else value[k, f]


@_compiled
def _mix(
    h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale, out, alpha, sigma, start, stop
):
    _, channels, width = h.shape
    number = h.dtype.type
    zero, one, inverse, factor = number(0), number(1), number(1.0 / temperature), number(scale)
    floor = zero if relu else number(-np.inf)
    value = np.empty((channels, width), h.dtype)
    for i in range(start, stop):
        _channels(h, smooth, kinds, floor, i, value)
        for k in range(channels):
            total = zero
            for f in range(width):
                total += value[k, f] * w_tilde[k, f]
            sigma[i, k] = one / (one + np.exp(-total))
        top = number(-np.inf)
        for k in range(channels):
            total = zero
            for j in range(channels):
                total += sigma[i, j] * w_mix[j, k]
            alpha[i, k] = total * inverse
            top = max(top, alpha[i, k])
        total = zero
        for k in range(channels):
            alpha[i, k] = np.exp(alpha[i, k] - top)
            total += alpha[i, k]
        for f in range(width):
            out[i, f] = zero
        for k in range(channels):
            alpha[i, k] /= total
            weight = factor * alpha[i, k]
            for f in range(width):
                out[i, f] += weight * value[k, f]


@_compiled
def mix(
    h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale, out, alpha, sigma,
    parts, first, last,
):  # fmt: skip
    nodes = h.shape[1]
    for t in range(first, last):
        b, part = t // parts, t % parts
        start, stop = nodes * part // parts, nodes * (part + 1) // parts
        _mix(
            h[b], smooth[b], w_tilde[b], w_mix[b], kinds, relu, temperature, scale,
            out[b], alpha[b], sigma[b], start, stop,
        )  # fmt: skip


@_compiled
def _mix_backward(
    grad, h, smooth, w_tilde, w_mix, alpha, sigma, kinds, relu, temperature, scale,
    grad_h, grad_smooth, grad_tilde, grad_mix, start, stop,
):  # fmt: skip
    _, channels, width = h.shape
    number = h.dtype.type
    zero, one, inverse, factor = number(0), number(1), number(1.0 / temperature), number(scale)
    floor = zero if relu else number(-np.inf)
    value = np.empty((channels, width), h.dtype)
    d_alpha = np.empty(channels, h.dtype)
    for i in range(start, stop):
        _channels(h, smooth, kinds, floor, i, value)
        mean = zero
        for k in range(channels):
            total = zero
            for f in range(width):
                total += grad[i, f] * value[k, f]
            d_alpha[k] = factor * total
            mean += d_alpha[k] * alpha[i, k]
        for k in range(channels):
            d_alpha[k] = alpha[i, k] * (d_alpha[k] - mean) * inverse  # now in the logit
        s = 0
        for k in range(channels):
            total = zero
            for j in range(channels):
                total += w_mix[k, j] * d_alpha[j]
                grad_mix[k, j] += sigma[i, k] * d_alpha[j]
            slope = total * sigma[i, k] * (one - sigma[i, k])
            weight = factor * alpha[i, k]
            for f in range(width):
                grad_tilde[k, f] += slope * value[k, f]
                d = weight * grad[i, f] + slope * w_tilde[k, f]
                # Where the ReLU cut the value off it is 0, and its slope is too.
                value[k, f] = d if value[k, f] > floor else zero
            if kinds[k] == 2:
                for f in range(width):
                    grad_h[i, k, f] = value[k, f]
            elif kinds[k] == 1:
                for f in range(width):
                    grad_h[i, k, f] = value[k, f]
                    grad_smooth[i, s, f] = -value[k, f]
                s += 1
            else:
                for f in range(width):
                    grad_h[i, k, f] = zero
                    grad_smooth[i, s, f] = value[k, f]
                s += 1


@_compiled
def mix_backward(
    grad, h, smooth, w_tilde, w_mix, alpha, sigma, kinds, relu, temperature, scale,
    grad_h, grad_smooth, grad_tilde, grad_mix, parts, first, last,
):  # fmt: skip
    """`grad_tilde` and `grad_mix` are `[B, parts, …]`: sums over a part of the nodes each."""
    nodes = h.shape[1]
    for t in range(first, last):
        b, part = t // parts, t % parts
        start, stop = nodes * part // parts, nodes * (part + 1) // parts
        _mix_backward(
            grad[b], h[b], smooth[b], w_tilde[b], w_mix[b], alpha[b], sigma[b], kinds, relu,
            temperature, scale, grad_h[b], grad_smooth[b], grad_tilde[b, part], grad_mix[b, part],
            start, stop,
        )  # fmt: skip


@_compiled
def _adam(w, g, m, v, step, shrink, l2, rest1, beta2, rest2, root, eps):
    for i in range(w.size):
        d = g[i] + l2 * w[i]
        m[i] += rest1 * (d - m[i])
        v[i] = beta2 * v[i] + rest2 * d * d
        w[i] = shrink * w[i] - step * m[i] / (np.sqrt(v[i]) * root + eps)


@_compiled
def adam(w, g, m, v, rate, shrink, l2, betas, correction, eps, parts, first, last):
    size, number = w.shape[1], w.dtype.type
    root = number(1 / np.sqrt(correction[1]))
    for t in range(first, last):
        b, part = t // parts, t % parts
        cut = slice(size * part // parts, size * (part + 1) // parts)
        _adam(
            w[b][cut], g[b][cut], m[b][cut], v[b][cut], number(rate[b] / correction[0]),
            number(shrink[b]), number(l2[b]), number(1 - betas[0]), number(betas[1]),
            number(1 - betas[1]), root, number(eps),
        )  # fmt: skip
