"""Compute adaptive channel mixing, forward and backward."""

import numpy as np

from acm.kernels.loops.compiled import compiled, cut

# Arrays are indexed directly: a slice per node would cost as much as a narrow layer's arithmetic.


@compiled
def _channels(h, smooth, kinds, floor, i, value):
    """Compute `H_k` of node `i` for every channel: low-pass, high-pass or identity."""
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
        for f in range(h.shape[2]):  # `max` would lose NaN
            value[k, f] = floor if value[k, f] < floor else value[k, f]


@compiled
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


@compiled
def mix(
    h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale, out, alpha, sigma,
    parts, first, last,
):  # fmt: skip
    nodes = h.shape[1]
    for t in range(first, last):
        b, _, start, stop = cut(t, parts, nodes)
        _mix(
            h[b], smooth[b], w_tilde[b], w_mix[b], kinds, relu, temperature, scale,
            out[b], alpha[b], sigma[b], start, stop,
        )  # fmt: skip


@compiled
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
            d_alpha[k] = alpha[i, k] * (d_alpha[k] - mean) * inverse  # the gradient of the logit
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
                # Where the ReLU returns 0, its slope is 0 as well.
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


@compiled
def mix_backward(
    grad, h, smooth, w_tilde, w_mix, alpha, sigma, kinds, relu, temperature, scale,
    grad_h, grad_smooth, grad_tilde, grad_mix, parts, first, last,
):  # fmt: skip
    """Write `grad_tilde` and `grad_mix` as `[B, parts, …]`: one sum for each part of the nodes."""
    nodes = h.shape[1]
    for t in range(first, last):
        b, part, start, stop = cut(t, parts, nodes)
        _mix_backward(
            grad[b], h[b], smooth[b], w_tilde[b], w_mix[b], alpha[b], sigma[b], kinds, relu,
            temperature, scale, grad_h[b], grad_smooth[b], grad_tilde[b, part], grad_mix[b, part],
            start, stop,
        )  # fmt: skip
