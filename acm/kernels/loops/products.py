"""Multiply by a sparse matrix, and multiply narrow dense matrices."""

import numpy as np

from acm.kernels.loops.compiled import compiled, cut


@compiled
def _sparse_rows(crow, col, v, x, x_0, x_n, out, out_0, out_n, width, add, start, stop):
    for i in range(start, stop):
        o = out[out_0 + i * out_n :][:width]
        if not add:
            o[:] = 0
        k, end = crow[i], crow[i + 1]
        # Eight rows at once load and store each element of `o` an eighth as often. The two groups
        # of four keep the order of the sums.
        while k + 8 <= end:
            v0, v1, v2, v3 = v[k], v[k + 1], v[k + 2], v[k + 3]
            v4, v5, v6, v7 = v[k + 4], v[k + 5], v[k + 6], v[k + 7]
            x0 = x[x_0 + col[k] * x_n :][:width]
            x1 = x[x_0 + col[k + 1] * x_n :][:width]
            x2 = x[x_0 + col[k + 2] * x_n :][:width]
            x3 = x[x_0 + col[k + 3] * x_n :][:width]
            x4 = x[x_0 + col[k + 4] * x_n :][:width]
            x5 = x[x_0 + col[k + 5] * x_n :][:width]
            x6 = x[x_0 + col[k + 6] * x_n :][:width]
            x7 = x[x_0 + col[k + 7] * x_n :][:width]
            for f in range(width):
                half = o[f] + (v0 * x0[f] + v1 * x1[f] + v2 * x2[f] + v3 * x3[f])
                o[f] = half + (v4 * x4[f] + v5 * x5[f] + v6 * x6[f] + v7 * x7[f])
            k += 8
        if k + 4 <= end:
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


@compiled
def sparse_product(
    crow, col, value, x, x_b, x_n, out, out_b, out_n, rows, width, add, parts, first, last
):  # fmt: skip
    for t in range(first, last):
        b, _, start, stop = cut(t, parts, rows)
        v = value[b % value.shape[0]]
        _sparse_rows(crow, col, v, x, b * x_b, x_n, out, b * out_b, out_n, width, add, start, stop)


_VECTOR = 16  # columns are padded with zeros to whole vectors


@compiled
def _whole(width):
    return (width + _VECTOR - 1) // _VECTOR * _VECTOR


@compiled
def _dense_rows(a, b, out, start, stop):
    n, width = b.shape
    padded = _whole(width)
    wide, o = np.zeros((n, padded), b.dtype), np.empty((4, padded), b.dtype)
    for k in range(n):
        for f in range(width):
            wide[k, f] = b[k, f]
    o0, o1, o2, o3 = o[0], o[1], o[2], o[3]
    for i in range(start, stop, 4):  # four rows at once share each load of `b`
        o[:] = 0
        i1, i2, i3 = min(i + 1, stop - 1), min(i + 2, stop - 1), min(i + 3, stop - 1)
        for k in range(0, n - 1, 2):
            x, y = wide[k], wide[k + 1]
            a0, a1, a2, a3 = a[i, k], a[i1, k], a[i2, k], a[i3, k]
            b0, b1, b2, b3 = a[i, k + 1], a[i1, k + 1], a[i2, k + 1], a[i3, k + 1]
            for f in range(padded):
                o0[f] += a0 * x[f] + b0 * y[f]
                o1[f] += a1 * x[f] + b1 * y[f]
                o2[f] += a2 * x[f] + b2 * y[f]
                o3[f] += a3 * x[f] + b3 * y[f]
        if n % 2:
            x = wide[n - 1]
            a0, a1, a2, a3 = a[i, n - 1], a[i1, n - 1], a[i2, n - 1], a[i3, n - 1]
            for f in range(padded):
                o0[f] += a0 * x[f]
                o1[f] += a1 * x[f]
                o2[f] += a2 * x[f]
                o3[f] += a3 * x[f]
        for j in range(min(4, stop - i)):
            for f in range(width):
                out[i + j, f] = o[j, f]


@compiled
def dense_product(a, b, out, parts, first, last):
    rows = out.shape[1]
    for t in range(first, last):
        k, _, start, stop = cut(t, parts, rows)
        _dense_rows(a[k % a.shape[0]], b[k], out[k], start, stop)


@compiled
def _transposed_rows(a, b, out, start, stop):
    columns, width = out.shape
    padded = _whole(width)
    total, rest = np.zeros((columns, padded), b.dtype), np.zeros((4, padded), b.dtype)
    x0, x1, x2, x3 = rest[0], rest[1], rest[2], rest[3]
    for i in range(start, stop, 4):
        many = min(4, stop - i)
        for j in range(many):
            for f in range(width):
                rest[j, f] = b[i + j, f]
        rest[many:] = 0
        i1, i2, i3 = min(i + 1, stop - 1), min(i + 2, stop - 1), min(i + 3, stop - 1)
        for k in range(columns):
            o = total[k]
            a0, a1, a2, a3 = a[i, k], a[i1, k], a[i2, k], a[i3, k]
            for f in range(padded):
                o[f] += a0 * x0[f] + a1 * x1[f] + a2 * x2[f] + a3 * x3[f]
    for k in range(columns):
        for f in range(width):
            out[k, f] = total[k, f]


@compiled
def transposed_product(a, b, out, parts, first, last):
    """Write `out` as `[B, parts, …]`: one sum for each part of the rows."""
    rows = b.shape[1]
    for t in range(first, last):
        k, part, start, stop = cut(t, parts, rows)
        _transposed_rows(a[k % a.shape[0]], b[k], out[k, part], start, stop)
