"""Which nodes train, validate and test."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from acm.data.files import locate, raw_files
from acm.data.names import check_whole, dataset
from acm.data.pickles import load_arrays
from acm.errors import UsageError


class Split(NamedTuple):
    """Three boolean masks over the nodes, each [N]."""

    train: Tensor
    val: Tensor
    test: Tensor


def random_split(y: Tensor, seed: int, train: float = 0.6, val: float = 0.2) -> Split:
    """Draw a split by GPRGNN's rule: the "60/20/20 random" of the paper's Table 3.

    From each of the C classes `round(train * N / C)` nodes, or all it has, go to training; of the
    rest, shuffled, `round(val * N)` to validation and what remains to test. So a class of no more
    nodes than that is never tested, and the shares are `train` and `val` on balanced data only.

    Args:
        y: labels [N], 0 to C - 1.
        seed: what the split depends on, and nothing else.
        train: share of training nodes aimed at.
        val: share of validation nodes.

    Raises:
        UsageError: the labels or shares make no sense, or a part would be empty.
    """
    try:
        y = torch.as_tensor(y).cpu().numpy()
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise UsageError("random_split takes labels [N], whole numbers from 0") from error
    if y.ndim != 1 or not len(y) or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise UsageError("random_split takes labels [N], whole numbers from 0")
    if not (train > 0 and val > 0 and train + val < 1):
        raise UsageError(f"shares train={train}, val={val}: both above 0, their sum below 1")
    check_whole("seed", seed, 0)
    rng = np.random.default_rng(seed)
    num_classes = int(y.max()) + 1
    quota = round(train * len(y) / num_classes)
    classes = [rng.permutation(np.flatnonzero(y == c)) for c in np.unique(y)]
    rest = rng.permutation(np.concatenate([nodes[quota:] for nodes in classes]))
    cut = round(val * len(y))
    parts = (np.concatenate([nodes[:quota] for nodes in classes]), rest[:cut], rest[cut:])
    for part, nodes in zip(Split._fields, parts, strict=True):
        if not len(nodes):
            raise UsageError(
                f"no node is left for {part}: {len(y):,} nodes of {num_classes:,} classes are too"
                " few for this"
            )
    return Split(*(_mask(nodes, len(y)) for nodes in parts))


def _mask(nodes: np.ndarray, size: int) -> Tensor:
    mask = torch.zeros(size, dtype=torch.bool)
    mask[torch.from_numpy(nodes)] = True
    return mask


def num_fixed_splits(name: str) -> int:
    """How many fixed splits come with a data set: ten, five (deezer-europe) or none (synthetic)."""
    return {"deezer": 5, "synthetic": 0}.get(dataset(name).kind, 10)


def fixed_split(name: str, index: int) -> Split:
    """One of the fixed splits that come with a data set.

    The paper's nine have Geom-GCN's ten, about 48/32/20; deezer-europe five, 50/25/25; the later
    graphs ten of their own.

    Args:
        name: one of `acm.data.DATASETS`.
        index: which of them, from 0.

    Raises:
        UsageError: there is no such split, or its file cannot be had.
    """
    count = num_fixed_splits(name)
    if count == 0:
        raise UsageError(f"{name} has no fixed splits: use random_split")
    if isinstance(index, bool) or not isinstance(index, Integral) or not 0 <= index < count:
        raise UsageError(f"{name} has no fixed split {index!r}: it has 0 to {count - 1}")
    files = {file.role: file for file in raw_files(name)}
    kind = dataset(name).kind
    if kind == "deezer":
        path = locate(files["splits"])
        parts = load_arrays(path.read_bytes(), path.name)[index]
        nodes = [np.asarray(parts[key], dtype=np.int64) for key in ("train", "valid", "test")]
        return Split(*(_mask(part, sum(map(len, nodes))) for part in nodes))
    file = files["graph" if kind == "npz" else f"split_{index}"]
    with np.load(locate(file), allow_pickle=False) as archive:
        if kind == "npz":
            masks = [archive[f"{part}_masks"][index] for part in Split._fields]
        else:
            masks = [archive[f"{part}_mask"] for part in Split._fields]
    return Split(*(torch.from_numpy(mask.astype(bool)) for mask in masks))
