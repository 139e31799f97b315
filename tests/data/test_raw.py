"""The unpickler reads arrays and refuses everything else."""

from __future__ import annotations

import copyreg
import io
import pickle
import pickletools
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from acm.data.files import locate
from acm.data.names import raw_files
from acm.data.raw import PARSERS, load_arrays
from acm.errors import UsageError


class Call:
    """Pickles as a call of `function` on `arguments`."""

    def __init__(self, function, *arguments) -> None:
        self.made = (function, arguments)

    def __reduce__(self):
        return self.made


class Array:
    """Pickles as an array with this state."""

    def __init__(self, state: tuple) -> None:
        self.state = state

    def __reduce__(self):
        function, arguments, _ = np.zeros(1).__reduce__()
        return function, arguments, self.state


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file that hostile payloads try to make and that must never exist."""
    return tmp_path / "executed"


def test_arrays_come_through() -> None:
    matrix = sp.random(20, 30, 0.1, "csr", dtype=np.float32, random_state=0)
    graph = defaultdict(list, {0: [1, 2], 1: [0]})
    for protocol in (3, 4):
        value = [
            np.arange(6.0).reshape(2, 3),
            graph,
            {"train": np.array([1, 2])},
            "text",
            1.5,
            None,
        ]
        back = load_arrays(pickle.dumps(value, protocol), "it")
        assert np.array_equal(back[0], value[0]) and back[1] == graph and back[3:] == value[3:]
        assert np.array_equal(back[2]["train"], [1, 2])
        sparse = load_arrays(pickle.dumps(matrix, protocol), "it")
        assert (sparse != matrix).nnz == 0


def test_object_arrays_come_through() -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([{"train": [1, 2]}, {"train": [3]}], dtype=object), allow_pickle=True)
    back = load_arrays(stream.getvalue(), "it")
    assert [part["train"] for part in back] == [[1, 2], [3]]


PYTHON_2 = (  # protocol 2, as Python 2 wrote it: bytes are text, classes have their old homes
    b"\x80\x02ccollections\ndefaultdict\nq\x01c__builtin__\nlist\nq\x02\x85q\x03Rq\x04"
    b"(K\x00]q\x05(K\x01K\x02eK\x01]q\x06K\x00au."
)


def test_pickles_of_python_2_come_through() -> None:
    assert load_arrays(PYTHON_2, "it") == {0: [1, 2], 1: [0]}


def hostile(canary: Path) -> dict[str, bytes]:
    touch = f"open({str(canary)!r}, 'w').close()"
    import os
    import subprocess

    calls = {
        "os.system": Call(os.system, f"touch {canary}"),
        "subprocess": Call(subprocess.check_output, ["touch", str(canary)]),
        "eval": Call(eval, touch),
        "exec": Call(exec, touch),
        "getattr": Call(getattr, os, "system"),
        "open": Call(open, str(canary), "w"),
        "import": Call(__import__, "antigravity"),
        "numpy.load": Call(np.load, str(canary), None, True),
        "numpy.memmap": Call(np.memmap, str(canary), "u1", "w+", 0, (8,)),
        "numpy.fromfile": Call(np.fromfile, str(canary)),
        "numpy.savetxt": Call(np.savetxt, str(canary), [1.0]),
        "numpy.lib": Call(np.lib.format.open_memmap, str(canary), "w+", "u1", (8,)),
        "scipy other": Call(sp.load_npz, str(canary)),
        "Counter": Counter("aab"),
        "OrderedDict": OrderedDict(a=1),
        "nested": {"train": [np.arange(3), Call(os.system, f"touch {canary}")]},
    }
    payloads = {}
    for name, value in calls.items():
        for protocol in (0, 2, 4):  # GLOBAL as text, GLOBAL, STACK_GLOBAL
            try:
                payloads[f"{name}, protocol {protocol}"] = pickle.dumps(value, protocol)
            except (pickle.PicklingError, AttributeError, TypeError):
                assert name == "getattr"  # a module cannot be pickled
    touching = f"touch {canary}".encode()
    old = b"cos\nsystem\n(S'" + touching + b"'\ntR."
    payloads |= {
        "os of Python 2": b"\x80\x02" + old,
        "INST": b"(S'" + touching + b"'\nios\nsystem\n.",
        "OBJ": b"(cos\nsystem\nS'" + touching + b"'\no.",
        "__builtin__.eval": b"c__builtin__\neval\n(S'"
        + touch.encode().replace(b"'", b'"')
        + b"'\ntR.",
        "dotted": b"\x80\x04\x8c\x05numpy\x8c\x14ndarray.__subclasses__\x93.",
        "dotted module": b"\x80\x04\x8c\x08numpy.os\x8c\x06system\x93.",
        "list of a class": b"\x80\x04\x8c\x08builtins\x8c\x06object\x93.",
        "persistent": b"\x80\x02X\x01\x00\x00\x00aQ.",
        "allowed, but wrong": b"cnumpy\ndtype\n(S'nonsense'\ntR.",
        "object array from a buffer": (
            b"cnumpy\nndarray\n((I1\ntS'O'\nC\x08AAAAAAAAtR."  # a made-up pointer
        ),
    }
    outside = sp.csr_matrix(np.eye(3))
    outside.indices[1] = 1_000_000  # reading it would leave the memory of the matrix
    array = np.arange(3, dtype=object)
    state = list(array.__reduce__()[2])
    payloads |= {
        "indices out of range": pickle.dumps(outside, 4),
        "structured": pickle.dumps(np.zeros(2, dtype=[("a", "O"), ("b", "i4")]), 4),
        "text": pickle.dumps(np.array(["a", "b"]), 4),
        "objects that are not there": pickle.dumps(Array((1, (9,), *state[2:])), 4),
        "objects that are bytes": pickle.dumps(Array((*state[:4], b"A" * 24)), 4),
        "negative": pickle.dumps(Array((1, (-1, -3), *state[2:])), 4),
        "no array after all": b"cnumpy.core.multiarray\n_reconstruct\n(tRNb.",
    }
    stream = io.BytesIO()
    np.save(stream, np.array([Call(os.system, f"touch {canary}")], dtype=object), allow_pickle=True)
    return payloads | {"in an array of objects": stream.getvalue()}


def test_hostile_payloads_are_refused(canary: Path) -> None:
    payloads = hostile(canary)
    assert len(payloads) > 50
    for name, payload in payloads.items():
        with pytest.raises(UsageError, match="it.pkl is not a pickle of arrays alone: .+") as error:
            load_arrays(payload, "it.pkl")
        assert "\n" not in str(error.value), name
        assert not canary.exists(), name


def test_the_payloads_are_hostile(canary: Path) -> None:
    payload = hostile(canary)["nested, protocol 4"]
    pickle.loads(payload)  # what the ordinary unpickler does with it
    assert canary.exists()


def test_extension_codes_are_refused_even_when_they_were_seen(canary: Path) -> None:
    import os

    copyreg.add_extension("os", "system", 240) if os.system.__module__ == "os" else None
    copyreg.add_extension(os.system.__module__, "system", 241)
    try:
        payload = pickle.dumps(Call(os.system, f"touch {canary}"), 2)
        assert "EXT1" in [operation.name for operation, _, _ in pickletools.genops(payload)]
        pickle.loads(payload)  # the ordinary unpickler keeps what a code stands for
        canary.unlink()
        with pytest.raises(UsageError, match="it names extension 241"):
            load_arrays(payload, "it")
        assert not canary.exists()
    finally:
        copyreg.remove_extension(os.system.__module__, "system", 241)


@given(st.data())
def test_damaged_pickles_are_refused_or_read(data: st.DataObject) -> None:
    whole = pickle.dumps([np.arange(5), {"a": [1.5]}], 2)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UsageError):
        load_arrays(whole[:cut], "it")
    spoilt = bytearray(whole)
    spoilt[cut] ^= 1 << data.draw(st.integers(0, 7))
    try:
        load_arrays(bytes(spoilt), "it")
    except UsageError:
        pass  # anything else is a failure


@pytest.mark.data
def test_a_hostile_planetoid_file_is_refused(tmp_path: Path, canary: Path) -> None:
    import os

    files = {file.role: locate(file) for file in raw_files("cora", splits=False)}
    files["allx"] = tmp_path / "ind.cora.allx"
    files["allx"].write_bytes(pickle.dumps(Call(os.system, f"touch {canary}"), 2))
    with pytest.raises(UsageError, match=r"ind.cora.allx is not .* it names posix.system"):
        PARSERS["planetoid"](files)
    assert not canary.exists()
