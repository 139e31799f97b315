"""Random and fixed splits of the nodes into training, validation and test nodes.

Every function raises `UsageError` for an unknown name or an argument that is out of range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch_geometric.utils import index_to_mask

from acm.data.files import locate
from acm.data.names import dataset, raw_files
from acm.data.raw import load_arrays
from acm.errors import UsageError, check_whole


class Split(NamedTuple):
    """Three boolean masks over the nodes, [N] each."""

    train: Tensor
    val: Tensor
    test: Tensor


def random_split(y: Tensor, seed: int, train: float = 0.6, val: float = 0.2) -> Split:
    """Draw a split by GPRGNN's rule, the "60/20/20 random" splits of the paper's Table 3.

    `round(train * N / C)` nodes of each class train, or all nodes of a smaller class. Of the
    other nodes, `round(val * N)` validate and the remaining ones test. Therefore small classes have
    no test nodes, and the shares are exact only if the classes have equal sizes.

    Args:
        y: Labels [N], from 0 to C - 1.
        seed: Seed of the split's own generator.
        train, val: Intended shares of training and validation nodes. No part may be empty.
    """
    labels = torch.as_tensor(y).cpu().numpy()
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or not len(labels) or labels.min() < 0:
        raise UsageError("random_split takes labels [N], whole numbers from 0")
    if not (train > 0 and val > 0 and train + val < 1):
        raise UsageError(f"shares train={train}, val={val}: both above 0, their sum below 1")
    check_whole("seed", seed, 0)
    generator = np.random.default_rng(seed)
    num_classes = int(labels.max()) + 1
    if len(present := np.unique(labels)) < num_classes:
        raise UsageError(
            f"only {len(present)} of the classes 0 to {num_classes - 1} have nodes: number the"
            " classes without gaps, for example by torch.unique(y, return_inverse=True)[1]"
        )
    quota = round(train * len(labels) / num_classes)
    classes = [generator.permutation(np.flatnonzero(labels == c)) for c in present]
    others = generator.permutation(np.concatenate([nodes[quota:] for nodes in classes]))
    cut = round(val * len(labels))
    parts = (np.concatenate([nodes[:quota] for nodes in classes]), others[:cut], others[cut:])
    for part, nodes in zip(Split._fields, parts):
        if not len(nodes):
            size = f"{len(labels):,} nodes of {num_classes:,} classes"
            raise UsageError(f"no node is left for {part}: {size} are too few for these shares")
    return Split(*(index_to_mask(torch.from_numpy(nodes), len(labels)) for nodes in parts))


def num_fixed_splits(name: str) -> int:
    """Return the number of fixed splits of a data set: 10, 5 (deezer-europe) or 0 (synthetic)."""
    return {"deezer": 5, "synthetic": 0}.get(dataset(name).kind, 10)


def fixed_split(name: str, index: int) -> Split:
    """Load one of the fixed splits that come with a data set.

    Nine of the paper's graphs have Geom-GCN's ten splits, about 48/32/20. Deezer-europe has five,
    50/25/25. The later graphs have ten each. `index` is the number of the split, from 0.
    """
    kind, count = dataset(name).kind, num_fixed_splits(name)
    if count == 0:
        raise UsageError(f"{name} has no fixed splits: use random_split")
    check_whole("index", index, 0)
    if index >= count:
        raise UsageError(f"{name} has no fixed split {index}: it has 0 to {count - 1}")
    files = {file.role: file for file in raw_files(name)}
    if kind == "deezer":
        path = locate(files["splits"])
        nodes = load_arrays(path.read_bytes(), path.name)[index]
        parts = [torch.tensor(nodes[key]) for key in ("train", "valid", "test")]
        return Split(*(index_to_mask(part, sum(map(len, parts))) for part in parts))
    with np.load(locate(files["graph" if kind == "npz" else f"split_{index}"])) as archive:
        if kind == "npz":
            masks = [archive[f"{part}_masks"][index] for part in Split._fields]
        else:
            masks = [archive[f"{part}_mask"] for part in Split._fields]
    return Split(*(torch.from_numpy(mask.astype(bool)) for mask in masks))
