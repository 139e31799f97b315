"""Row normalization against its definition, row by row."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from acm.data.graphs import row_normalize
from acm.errors import UsageError

features = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0, 3.5]),
)


@given(features)
def test_row_normalize(x: np.ndarray) -> None:
    expected = np.array([row / s if (s := sum(abs(v) for v in row)) else row for row in x])
    before = x.copy()
    result = row_normalize(torch.from_numpy(x))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)
    sparse = row_normalize(torch.from_numpy(x).to_sparse_csr())
    assert sparse.layout == torch.sparse_csr
    np.testing.assert_allclose(sparse.to_dense().numpy(), expected, rtol=1e-6)
    assert np.array_equal(x, before)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_row_normalize_refuses_what_is_no_number(bad: float) -> None:
    x = torch.tensor([[1.0, bad], [0.0, 1.0]])
    for features in (x, x.to_sparse_csr()):
        with pytest.raises(UsageError, match="NaN or infinite"):
            row_normalize(features)
    with pytest.raises(UsageError, match=r"dense or CSR matrix \[N, F\]"):
        row_normalize(torch.ones(3))
