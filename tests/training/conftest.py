"""Define a task that is learned in a few epochs, and trials with different settings."""

import pytest
import torch

from acm.filters import SparseMatrix, low_pass
from acm.training import Setting

DROPOUT = [0.5, 0.0, 0.3, 0.8, 0.1, 0.6, 0.2]


@pytest.fixture
def task():
    """Return two noisy clusters on a ring with chords: features, filter, labels and two masks."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 2
    x = torch.randn(60, 8, generator=generator) + y[:, None] * 1.0
    edge_index = torch.stack([torch.arange(60), (torch.arange(60) + 2) % 60])
    edge_index = torch.cat([edge_index, edge_index.flip(0)], 1)
    part = torch.randperm(60, generator=generator)
    train, val = torch.zeros(2, 60, dtype=torch.bool)
    train[part[:30]], val[part[30:45]] = True, True
    return x, low_pass(edge_index, 60), y, train, val


@pytest.fixture
def words():
    """Return features of which about a third is not zero, as a `SparseMatrix` and dense."""
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(60, 12, generator=generator) * (torch.rand(60, 12, generator=generator) < 0.3)
    x[:, :4] += (torch.arange(60) % 2)[:, None] * 0.3
    return SparseMatrix.from_torch(x), x


@pytest.fixture
def trials():
    """Return seven trials with different splits, seeds and hyperparameters."""

    def setting(k):
        part = torch.randperm(60, generator=torch.Generator().manual_seed(100 + k))
        train, val = torch.zeros(2, 60, dtype=torch.bool)
        train[part[: 20 + k]], val[part[30 : 50 - k]] = True, True
        return Setting(train, val, 0.01 * (k + 1), 1e-3 * k, seed=k, dropout=DROPOUT[k])

    return [setting(k) for k in range(7)]
