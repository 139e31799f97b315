"""Define the loops of `acm.kernels`, which Numba compiles.

A call computes the work items `first` to `last − 1`, so several threads can share the work. A work
item is one part of one trial. Each part has a separate sum, so sums do not depend on the number of
threads. All loops are in one file, because Numba recompiles a loop only if its file changes.
"""

import numba
import numpy as np


def exact(function, fast=frozenset()):
    """Compile a function that keeps the order of its sums and releases Python's global lock."""
    options = dict(nogil=True, fastmath=set(fast), error_model="numpy")
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no writable folder for its cache
        return numba.njit(**options)(function)


def compiled(function):
    """Compile a function whose sums may be reordered for vector instructions; NaN stays NaN."""
    return exact(function, {"reassoc", "contract", "nsz", "arcp"})


@compiled
def _cut(t, parts, rows):
    """Return (trial, part, first row, last row) of work item `t`."""
    part = t % parts
    return t // parts, part, rows * part // parts, rows * (part + 1) // parts


@compiled
def sparse_product(crow, col, value, x, out, width, add, parts, first, last):
    for t in range(first, last):
        b, _, start, stop = _cut(t, parts, out.shape[1])
        v, rows, total = value[b % len(value)], x[b % len(x)], out[b]
        for i in range(start, stop):
            o = total[i, :width]
            if not add:
                o[:] = 0
            k, end = crow[i], crow[i + 1]
            # Four rows at a time need a quarter of the loads and stores of `o`.
            while k + 4 <= end:
                v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
                x0, x1 = rows[col[k], :width], rows[col[k + 1], :width]
                x2, x3 = rows[col[k + 2], :width], rows[col[k + 3], :width]
                for f in range(width):
                    o[f] += v0 * x0[f] + v1 * x1[f] + v2 * x2[f] + v3 * x3[f]
                k += 4
            while k < end:
                v0, x0 = v[k], rows[col[k], :width]
                for f in range(width):
                    o[f] += v0 * x0[f]
                k += 1


@compiled
def dense_product(a, b, out, parts, first, last):
    _, n, width = b.shape
    padded = (width + 15) // 16 * 16  # rounded up to whole vectors
    wide, o = np.zeros((n, padded), b.dtype), np.empty((4, padded), b.dtype)
    o0, o1, o2, o3 = o[0], o[1], o[2], o[3]
    for t in range(first, last):
        trial, _, start, stop = _cut(t, parts, out.shape[1])
        x = a[trial % len(a)]
        wide[:, :width] = b[trial]
        for i in range(start, stop, 4):  # four rows share each load of `b`
            o[:] = 0
            i1, i2, i3 = min(i + 1, stop - 1), min(i + 2, stop - 1), min(i + 3, stop - 1)
            for k in range(0, n - 1, 2):
                w0, w1 = wide[k], wide[k + 1]
                x0, x1, x2, x3 = x[i, k], x[i1, k], x[i2, k], x[i3, k]
                y0, y1, y2, y3 = x[i, k + 1], x[i1, k + 1], x[i2, k + 1], x[i3, k + 1]
                for f in range(padded):
                    o0[f] += x0 * w0[f] + y0 * w1[f]
                    o1[f] += x1 * w0[f] + y1 * w1[f]
                    o2[f] += x2 * w0[f] + y2 * w1[f]
                    o3[f] += x3 * w0[f] + y3 * w1[f]
            if n % 2:
                w0 = wide[n - 1]
                x0, x1, x2, x3 = x[i, n - 1], x[i1, n - 1], x[i2, n - 1], x[i3, n - 1]
                for f in range(padded):
                    o0[f] += x0 * w0[f]
                    o1[f] += x1 * w0[f]
                    o2[f] += x2 * w0[f]
                    o3[f] += x3 * w0[f]
            for j in range(min(4, stop - i)):
                for f in range(width):
                    out[trial, i + j, f] = o[j, f]


@compiled
def transposed_product(a, b, out, parts, first, last):
    """Write one sum per part of the rows into `out`, `[B, parts, K, F]`."""
    (_, rows, width), columns = b.shape, a.shape[2]
    padded = (width + 15) // 16 * 16  # rounded up to whole vectors
    total, y = np.empty((columns, padded), b.dtype), np.zeros((4, padded), b.dtype)
    y0, y1, y2, y3 = y[0], y[1], y[2], y[3]
    for t in range(first, last):
        trial, part, start, stop = _cut(t, parts, rows)
        x = a[trial % len(a)]
        total[:] = 0
        for i in range(start, stop, 4):
            many = min(4, stop - i)
            y[:many, :width] = b[trial, i : i + many]
            y[many:] = 0
            i1, i2, i3 = min(i + 1, stop - 1), min(i + 2, stop - 1), min(i + 3, stop - 1)
            for k in range(columns):
                o = total[k]
                x0, x1, x2, x3 = x[i, k], x[i1, k], x[i2, k], x[i3, k]
                for f in range(padded):
                    o[f] += x0 * y0[f] + x1 * y1[f] + x2 * y2[f] + x3 * y3[f]
        out[trial, part] = total[:, :width]


@compiled
def _channels(h, smooth, kinds, floor, b, i, value):
    """Write `H_k` of node `i` into `value[k]`; kind 0 is low-pass, 1 high-pass, 2 identity."""
    for k in range(h.shape[2]):
        kind = kinds[k]
        for f in range(h.shape[3]):
            if kind == 2:
                v = h[b, i, k, f]
            elif kind == 1:
                v = h[b, i, k, f] - smooth[b, i, k, f]
            else:
                v = smooth[b, i, k, f]
            value[k, f] = floor if v < floor else v  # `max` would replace NaN


# Arrays are indexed by node, because a slice per node would double the time of a narrow layer.
@compiled
def mix(
    h, smooth, w_tilde, w_mix, kinds, relu, temperature, scale, out, alpha, sigma,
    parts, first, last,
):  # fmt: skip
    (_, nodes, channels, width), number = h.shape, h.dtype.type
    zero, one, inverse, factor = number(0), number(1), number(1.0 / temperature), number(scale)
    floor, value = zero if relu else number(-np.inf), np.empty((channels, width), h.dtype)
    for t in range(first, last):
        b, _, start, stop = _cut(t, parts, nodes)
        for i in range(start, stop):
            _channels(h, smooth, kinds, floor, b, i, value)
            for k in range(channels):
                total = zero
                for f in range(width):
                    total += value[k, f] * w_tilde[b, k, f]
                sigma[b, i, k] = one / (one + np.exp(-total))
            top = number(-np.inf)
            for k in range(channels):
                total = zero
                for j in range(channels):
                    total += sigma[b, i, j] * w_mix[b, j, k]
                alpha[b, i, k] = total * inverse
                top = max(top, alpha[b, i, k])
            total = zero
            for k in range(channels):
                alpha[b, i, k] = np.exp(alpha[b, i, k] - top)
                total += alpha[b, i, k]
            for f in range(width):
                out[b, i, f] = zero
            for k in range(channels):
                alpha[b, i, k] /= total
                weight = factor * alpha[b, i, k]
                for f in range(width):
                    out[b, i, f] += weight * value[k, f]


@compiled
def mix_backward(
    grad, h, smooth, w_tilde, w_mix, alpha, sigma, kinds, relu, temperature, scale,
    grad_h, grad_smooth, grad_tilde, grad_mix, parts, first, last,
):  # fmt: skip
    """Write all gradients; `grad_tilde` and `grad_mix`, `[B, parts, …]`, have one sum per part."""
    (_, nodes, channels, width), number = h.shape, h.dtype.type
    zero, one, inverse, factor = number(0), number(1), number(1.0 / temperature), number(scale)
    floor, value = zero if relu else number(-np.inf), np.empty((channels, width), h.dtype)
    d_alpha = np.empty(channels, h.dtype)
    for t in range(first, last):
        b, part, start, stop = _cut(t, parts, nodes)
        for i in range(start, stop):
            _channels(h, smooth, kinds, floor, b, i, value)
            mean = zero
            for k in range(channels):
                total = zero
                for f in range(width):
                    total += grad[b, i, f] * value[k, f]
                d_alpha[k] = factor * total
                mean += d_alpha[k] * alpha[b, i, k]
            for k in range(channels):  # the gradient with respect to the softmax's argument
                d_alpha[k] = alpha[b, i, k] * (d_alpha[k] - mean) * inverse
            for k in range(channels):
                total, kind = zero, kinds[k]
                for j in range(channels):
                    total += w_mix[b, k, j] * d_alpha[j]
                    grad_mix[b, part, k, j] += sigma[b, i, k] * d_alpha[j]
                slope = total * sigma[b, i, k] * (one - sigma[b, i, k])
                weight = factor * alpha[b, i, k]
                for f in range(width):
                    grad_tilde[b, part, k, f] += slope * value[k, f]
                    d = weight * grad[b, i, f] + slope * w_tilde[b, k, f]
                    # The slope of the ReLU is 0 at 0.
                    value[k, f] = d if value[k, f] > floor else zero
                for f in range(width):
                    grad_h[b, i, k, f] = zero if kind == 0 else value[k, f]
                    if kind < 2:
                        grad_smooth[b, i, k, f] = -value[k, f] if kind == 1 else value[k, f]


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
def dropout(x, p, key, counter, out, parts, first, last):
    zero = x.dtype.type(0)
    for t in range(first, last):
        b, _, start, stop = _cut(t, parts, out.shape[1])
        source, target = x[b % len(x), start:stop], out[b, start:stop]
        bound, keep = np.uint64(np.round(p[b] * 4294967296.0)), x.dtype.type(1.0 / (1.0 - p[b]))
        k, c = np.uint64(key[b]), np.uint64(counter[b]) + np.uint64(start)
        for i in range(source.size):
            target[i] = source[i] * keep if _squares(c + np.uint64(i), k) >= bound else zero


@exact
def cross_entropy(logits, y, share, loss, best, grad, parts, first, last):
    """Write one sum of losses per part of the nodes into `loss`, `[B, parts]`."""
    (_, nodes, classes), zero = logits.shape, logits.dtype.type(0)
    for t in range(first, last):
        b, part, start, stop = _cut(t, parts, nodes)
        loss[b, part] = zero
        for i in range(start, stop):
            top, label = logits[b, i, 0], 0
            for c in range(1, classes):
                if logits[b, i, c] > top:
                    top, label = logits[b, i, c], c
            best[b, i], weight = label, share[b, i]
            if weight == zero:
                if grad.size:
                    grad[b, i] = zero
                continue
            total = zero
            for c in range(classes):
                total += np.exp(logits[b, i, c] - top)
            loss[b, part] += weight * (np.log(total) - (logits[b, i, y[b, i]] - top))
            if grad.size:
                for c in range(classes):
                    grad[b, i, c] = weight * np.exp(logits[b, i, c] - top) / total
                grad[b, i, y[b, i]] -= weight


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
        b, _, start, stop = _cut(t, parts, size)
        rows = slice(start, stop)
        _adam(
            w[b][rows], g[b][rows], m[b][rows], v[b][rows], number(rate[b] / correction[0]),
            number(shrink[b]), number(l2[b]), number(1 - betas[0]), number(betas[1]),
            number(1 - betas[1]), root, number(eps),
        )  # fmt: skip
