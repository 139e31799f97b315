"""Splits: the fixed ones against their files, the random ones against GPRGNN's rule."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from acm.data.files import locate
from acm.data.graphs import load
from acm.data.names import DATASETS, raw_files
from acm.data.splits import Split, fixed_split, num_fixed_splits, random_split
from acm.errors import UsageError


def assert_partition(split: Split, covers: int) -> None:
    total = sum(mask.long() for mask in split)
    assert int(total.max()) == 1
    assert int(total.sum()) == covers
    assert all(mask.dtype == torch.bool and mask.any() for mask in split)


GEOM = "cornell wisconsin texas film chameleon squirrel cora citeseer pubmed".split()
LATER = "cornell_corrected chameleon_filtered squirrel_filtered minesweeper tolokers".split()


@pytest.mark.data
@pytest.mark.parametrize("name", GEOM)
def test_geom_splits_equal_their_files(name: str) -> None:
    files = {file.role: file for file in raw_files(name)}
    nodes = load(name).num_nodes
    tests = []
    for index in range(10):
        split = fixed_split(name, index)
        # Two of CiteSeer's leave out more than a third of its nodes, Cora's all leave out 223.
        covers = {("citeseer", 4): 2120, ("citeseer", 5): 2120}.get((name, index), nodes)
        covers = 2485 if name == "cora" else covers
        assert f"{name}_split_0.6_0.2_{index}.npz" in files[f"split_{index}"].path
        with np.load(locate(files[f"split_{index}"])) as archive:
            for part, mask in split._asdict().items():
                assert mask.shape == (nodes,)
                assert np.array_equal(mask.numpy(), archive[f"{part}_mask"] == 1)
        assert_partition(split, covers)
        shares = [int(mask.sum()) / covers for mask in split]
        assert shares == pytest.approx([0.48, 0.32, 0.20], abs=0.01)
        tests.append(split.test)
    assert len({tuple(test.tolist()) for test in tests}) == 10


@pytest.mark.data
def test_cora_splits_cover_92_percent() -> None:
    assert round(100 * 2485 / load("cora").num_nodes, 1) == 91.8


@pytest.mark.data
def test_deezer_splits_equal_their_file() -> None:
    (file,) = [file for file in raw_files("deezer-europe") if file.role == "splits"]
    theirs = np.load(locate(file), allow_pickle=True)  # the checksum vouches for it
    assert len(theirs) == num_fixed_splits("deezer-europe") == 5
    for index in range(5):
        split = fixed_split("deezer-europe", index)
        for key, mask in zip(("train", "valid", "test"), split, strict=True):
            assert set(mask.nonzero().flatten().tolist()) == set(theirs[index][key])
        assert [int(mask.sum()) for mask in split] == [14140, 7070, 7071]
        assert_partition(split, 28281)


@pytest.mark.data
@pytest.mark.parametrize("name", LATER)
def test_splits_of_the_later_graphs(name: str) -> None:
    (file,) = raw_files(name)
    with np.load(locate(file)) as archive:
        for index in range(10):
            split = fixed_split(name, index)
            for part, mask in split._asdict().items():
                assert np.array_equal(mask.numpy(), archive[f"{part}_masks"][index])
            assert_partition(split, len(archive["node_labels"]))


@pytest.mark.parametrize("name", DATASETS)
def test_there_is_no_further_split(name: str) -> None:
    count = num_fixed_splits(name)
    with pytest.raises(UsageError, match=f"0 to {count - 1}" if count else "use random_split"):
        fixed_split(name, count)


@pytest.mark.parametrize("index", [-1, 1.0, True, "0"])
def test_the_number_of_a_split_is_whole(index: object) -> None:
    with pytest.raises(UsageError, match="index="):
        fixed_split("texas", index)


def gprgnn(y: torch.Tensor, train_rate: float, val_rate: float) -> list[torch.Tensor]:
    """The rule written as the loop that it is described by, with a generator of its own."""
    per_class = int(round(train_rate * len(y) / (int(y.max()) + 1)))
    train, rest = [], []
    for c in range(int(y.max()) + 1):
        nodes = (y == c).nonzero().flatten()
        nodes = nodes[torch.randperm(len(nodes))]
        train += nodes[:per_class].tolist()
        rest += nodes[per_class:].tolist()
    rest = torch.tensor(rest)[torch.randperm(len(rest))]
    cut = int(round(val_rate * len(y)))
    return [torch.tensor(train), rest[:cut], rest[cut:]]


# quota per class, training and test in per cent, classes never tested
RULE = {
    "texas": (22, 46.4, 33.3, 2),
    "cornell": (22, 46.4, 33.3, 2),
    "wisconsin": (30, 48.2, 31.9, 2),
    "film": (912, 59.2, 20.8, 1),
    "cora": (232, 57.5, 22.5, 2),
    "citeseer": (333, 58.0, 22.0, 1),
    "chameleon": (273, 60.0, 20.0, 0),
    "squirrel": (624, 60.0, 20.0, 0),
    "pubmed": (3943, 60.0, 20.0, 0),
    "cornell_corrected": (22, 54.1, 25.7, 2),
}


@pytest.mark.data
@pytest.mark.parametrize("name", RULE)
def test_what_the_rule_gives_on_the_graphs(name: str) -> None:
    quota, train, test, never = RULE[name]
    y = load(name).y
    split = random_split(y, seed=0)
    assert_partition(split, len(y))
    classes = torch.bincount(y)
    trained = torch.bincount(y[split.train])
    assert trained.tolist() == classes.clamp(max=quota).tolist()
    assert int((classes <= quota).sum()) == never
    assert int((torch.bincount(y[split.test], minlength=len(classes)) == 0).sum()) == never
    shares = [100 * float(mask.double().mean()) for mask in (split.train, split.test)]
    assert shares == pytest.approx([train, test], abs=0.08)
    theirs = gprgnn(y, 0.6, 0.2)
    assert [int(mask.sum()) for mask in split] == [len(nodes) for nodes in theirs]
    assert torch.equal(trained, torch.bincount(y[theirs[0]]))


labels = st.lists(st.integers(0, 4), min_size=20, max_size=120).map(torch.tensor)


@given(labels, st.integers(0, 2**32), st.sampled_from([(0.6, 0.2), (0.48, 0.32), (0.1, 0.5)]))
def test_random_split(y: torch.Tensor, seed: int, shares: tuple[float, float]) -> None:
    try:
        split = random_split(y, seed, *shares)
    except UsageError as error:
        if len(y.unique()) <= y.max():
            assert "have nodes: number the classes without gaps" in str(error)
            return
        theirs = gprgnn(y, *shares)
        assert "no node is left" in str(error)
        assert min(map(len, theirs)) == 0
        return
    assert_partition(split, len(y))
    theirs = gprgnn(y, *shares)
    assert [int(mask.sum()) for mask in split] == [len(nodes) for nodes in theirs]
    assert torch.equal(torch.bincount(y[split.train]), torch.bincount(y[theirs[0]]))
    torch.manual_seed(seed % 7), np.random.seed(seed % 5)  # what others draw makes no difference
    assert all(torch.equal(a, b) for a, b in zip(split, random_split(y, seed, *shares)))
    assert all(torch.equal(a, b) for a, b in zip(split, random_split(y.numpy(), seed, *shares)))


def test_seeds_give_different_splits_and_no_node_is_favored() -> None:
    y = torch.arange(50) % 5
    splits = [random_split(y, seed) for seed in range(400)]
    assert len({tuple(split.test.tolist()) for split in splits}) == 400
    for part, share in zip(Split._fields, (0.6, 0.2, 0.2), strict=True):
        frequency = torch.stack([getattr(split, part) for split in splits]).double().mean(0)
        deviation = (share * (1 - share) / 400) ** 0.5
        assert (frequency - share).abs().max() < 5 * deviation


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (dict(y=torch.zeros(0, dtype=torch.int64), seed=0), "labels"),
        (dict(y=torch.zeros(20), seed=0), "labels"),
        (dict(y=torch.tensor([0, -1] * 10), seed=0), "labels"),
        (dict(y=torch.zeros(5, 5, dtype=torch.int64), seed=0), "labels"),
        (dict(y=torch.arange(20) % 2, seed=-1), "seed=-1"),
        (dict(y=torch.arange(20) % 2, seed=0.5), "seed=0.5"),
        (dict(y=torch.arange(20) % 2, seed=0, train=0.8), "shares"),
        (dict(y=torch.arange(20) % 2, seed=0, val=0.0), "shares"),
        (dict(y=torch.arange(20) % 2, seed=0, train=float("nan")), "shares"),
        (dict(y=torch.arange(3), seed=0), "no node is left for val"),
        (dict(y=torch.tensor([0, 10**9] * 10), seed=0), "only 2 of the classes 0 to"),
    ],
)
def test_what_random_split_refuses(arguments, says) -> None:
    with pytest.raises(UsageError, match=says):
        random_split(**arguments)
