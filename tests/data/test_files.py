"""Raw files: the registry, mirrors, downloads, and their faults."""

from __future__ import annotations

import base64
import hashlib
import os
import resource
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

from acm.cli import main
from acm.data.files import available, cached, fetch, locate, source_problem, verify
from acm.data.names import DATASETS, REGISTRY, RawFile, raw_files
from acm.errors import UsageError

ROOT = str(Path(__file__).parents[2])
CONTENT = bytes(range(256)) * 400
FILE = RawFile(
    "texas", "edges", "owner/repo/c0ffee/a.txt", 102_400, hashlib.sha256(CONTENT).hexdigest(), ""
)


def leftovers(folder: Path) -> list[Path]:
    """All files below the folder except lock files, which some releases of filelock keep."""
    return [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]


def test_registry_has_every_file_once() -> None:
    assert len({file.path for file in REGISTRY}) == len(REGISTRY)
    assert {file.dataset for file in REGISTRY} == set(DATASETS) - {"synthetic"}
    fixed = [file for file in REGISTRY if file.role.startswith("split_")]
    assert len(fixed) == 90
    assert all(len(file.sha256) == 64 and file.size > 0 for file in REGISTRY)
    # <owner>/<repo>/<40 hex digits>/…, except one file that is not on GitHub
    odd = [file for file in REGISTRY if len(file.path.split("/")[2]) != 40]
    assert [file.url for file in odd] == ["https://snap.stanford.edu/data/deezer_europe.zip"]
    assert [file for file in REGISTRY if file.url] == odd


def test_a_good_download_is_kept_and_not_repeated(cache, serve) -> None:
    server = serve(lambda path: CONTENT if path == FILE.path else b"")
    for _ in range(2):
        assert locate(FILE).read_bytes() == CONTENT
    assert server.requests == [FILE.path]
    assert leftovers(cache) == [cached(FILE)]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("truncated", "failed (ChunkedEncodingError)"),
        ("short", "does not match the known hash"),
        ("flipped", "does not match the known hash"),
        ("html", "does not match the known hash"),
        ("404", "failed (404 Not Found)"),
        ("500", "failed (500 Internal Server Error)"),
        ("stalled", "failed (ConnectionError)"),
        ("silent", "failed (ReadTimeout)"),
        ("reset", "failed (C"),
        ("drip", "failed (Timeout)"),
        ("endless", "has more than 102400 bytes"),
    ],
)
def test_each_fault_is_one_error_and_the_next_try_works(
    fault, says, cache, serve, monkeypatch
) -> None:
    monkeypatch.setattr("acm.data.files.TIMEOUT", 0.3)
    server = serve(lambda path: CONTENT)
    server.fault = fault
    with pytest.raises(UsageError) as error:
        locate(FILE)
    assert says in str(error.value)
    assert f"{server.url}/{FILE.path}" in str(error.value)
    assert "\n" not in str(error.value)
    assert len(server.requests) == 2  # one retry
    assert leftovers(cache) == []
    # The server sends an endless answer until the buffers between it and the reader are full.
    assert server.sent < 500 * len(CONTENT)
    server.fault = None
    monkeypatch.setattr("acm.data.files.TIMEOUT", 20)
    assert locate(FILE).read_bytes() == CONTENT


def test_a_compressed_answer_is_the_file(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    server.fault = "zipped"
    assert locate(FILE).read_bytes() == CONTENT


def test_capitals_in_an_address(cache, serve, monkeypatch) -> None:
    server = serve(lambda path: CONTENT)
    monkeypatch.setenv("ACM_DATA_MIRROR", server.url.replace("http", "HTTP"))
    assert locate(FILE).read_bytes() == CONTENT


def test_no_server_at_all(cache, serve, monkeypatch) -> None:
    server = serve(lambda path: CONTENT)
    monkeypatch.setenv("ACM_DATA_MIRROR", "http://127.0.0.1:9")  # the discard port: nobody listens
    with pytest.raises(UsageError, match="failed .ConnectionError"):
        locate(FILE)
    assert "failed (ConnectionError)" in source_problem()
    monkeypatch.setenv("ACM_DATA_MIRROR", server.url)
    server.fault = "404"
    assert "failed (404" in source_problem()


def test_a_damaged_file_in_the_cache_is_fetched_anew(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    locate(FILE).write_bytes(CONTENT[:-1])
    assert locate(FILE).read_bytes() == CONTENT
    assert len(server.requests) == 2


def test_a_damaged_file_in_the_cache_survives_no_failed_try(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    locate(FILE).write_bytes(CONTENT[:-1])
    server.fault = "flipped"
    for _ in range(2):
        with pytest.raises(UsageError, match="known hash"):
            locate(FILE)


def test_a_cache_that_cannot_be_written(tmp_path, serve, monkeypatch) -> None:
    (tmp_path / "file").write_text("in the way")
    serve(lambda path: CONTENT)
    monkeypatch.setenv("ACM_DATA_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UsageError, match="set ACM_DATA_CACHE to another folder"):
        locate(FILE)
    monkeypatch.setenv("ACM_DATA_CACHE", str(tmp_path / "cache"))
    assert locate(FILE).read_bytes() == CONTENT


def test_a_full_disk(cache, serve) -> None:
    serve(lambda path: CONTENT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENT) // 2, hard))
    try:
        with pytest.raises(UsageError, match="cannot store .*a.txt"):
            locate(FILE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert leftovers(cache) == []
    assert locate(FILE).read_bytes() == CONTENT


def test_a_folder_is_read_where_it_lies(cache, tmp_path, monkeypatch) -> None:
    path = tmp_path / "mirror" / FILE.path
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(UsageError, match="a.txt in ACM_DATA_MIRROR is missing"):
        locate(FILE)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(UsageError, match="a.txt in ACM_DATA_MIRROR is damaged"):
        locate(FILE)
    path.write_bytes(CONTENT)
    assert locate(FILE) == path
    assert not cache.exists()


def test_a_mirror_that_is_none(cache, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path / "nowhere"))
    for use in (lambda: locate(FILE), lambda: available("texas"), lambda: verify("texas")):
        with pytest.raises(UsageError, match="an existing folder or"):
            use()
    assert "an existing folder or" in source_problem()
    monkeypatch.setenv("ACM_DATA_MIRROR", "ftp://example.org/data")
    with pytest.raises(UsageError, match=r"an existing folder or an http\(s\) address"):
        locate(FILE)
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path))
    assert "in ACM_DATA_MIRROR is missing" in source_problem()


def test_verify_and_available_download_nothing(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    assert {status.state for status in verify()} == {"missing"}
    assert len(verify()) == len(REGISTRY)
    assert not any(available(name) for name in DATASETS if name != "synthetic")
    assert available("synthetic")
    assert server.requests == []


@pytest.mark.data
def test_a_damaged_cached_file_does_not_hide_the_mirror_s(cache, tmp_path, monkeypatch) -> None:
    (file, *_) = raw_files("texas")
    mirror = Path(os.environ["ACM_DATA_MIRROR"])
    cached(file).parent.mkdir(parents=True)
    cached(file).write_bytes(b"damaged")
    (status, *_) = verify("texas")
    assert (status.state, status.location) == ("ok", mirror / file.path)
    assert locate(file) == mirror / file.path


def test_a_damaged_cached_file_is_not_said_of_the_mirror(cache, tmp_path, monkeypatch) -> None:
    (tmp_path / "mirror").mkdir()
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path / "mirror"))
    cached(FILE).parent.mkdir(parents=True)
    cached(FILE).write_bytes(b"damaged")
    with pytest.raises(UsageError, match="a.txt in ACM_DATA_MIRROR is missing"):
        locate(FILE)


def test_a_killed_download_leaves_nothing_after_the_next_one(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    server.fault = "stalled"
    code = f"from acm.data.files import RawFile, locate; locate({FILE!r})"
    environment = {**os.environ, "PYTHONPATH": ROOT}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    while not any(path.stat().st_size for path in leftovers(cache)):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert len(leftovers(cache)) == 1
    server.fault = None
    locate(FILE)
    assert leftovers(cache) == [cached(FILE)]


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_a_cached_file_has_the_permissions_of_the_umask(umask, cache, serve) -> None:
    serve(lambda path: CONTENT)
    before = os.umask(umask)
    try:
        assert locate(FILE).stat().st_mode & 0o777 == 0o666 & ~umask
    finally:
        os.umask(before)


def test_a_password_in_the_address_is_sent_and_never_printed(cache, serve, monkeypatch) -> None:
    server = serve(lambda path: CONTENT)
    user, url = "user:s%40cret", server.url.replace("http://", "http://{}@")
    monkeypatch.setenv("ACM_DATA_MIRROR", url.format(user))
    for server.fault in ("404", "html", "truncated", "endless"):
        with pytest.raises(UsageError) as error:
            locate(FILE)
        text = "".join(traceback.format_exception(error.value))
        assert server.url in text and "cret" not in text
    server.fault = None
    locate(FILE)
    assert server.logins == {"Basic " + base64.b64encode(b"user:s@cret").decode()}
    for address in ("ftp://user:secret@example.org", "http://user:sec/ret@example.org"):
        monkeypatch.setenv("ACM_DATA_MIRROR", address)
        assert "sec" not in source_problem()


def test_advice_of_verify(cache, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("ACM_DATA_MIRROR", "http://127.0.0.1:9")
    assert main(["data", "verify", "tolokers"]) == 1
    assert "`acm data fetch` downloads" in capsys.readouterr().out
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path))
    assert main(["data", "verify", "tolokers"]) == 1
    out = capsys.readouterr().out
    assert "acm data fetch" not in out and "correct the files in ACM_DATA_MIRROR" in out


@pytest.mark.parametrize("use", [fetch, verify, available, raw_files])
def test_unknown_names(use) -> None:
    with pytest.raises(UsageError, match="did you mean chameleon"):
        use("chamaeleon")


@pytest.mark.data
def test_every_graph_downloads_over_http(cache, serve, monkeypatch) -> None:
    sources = {file.path: locate(file) for file in REGISTRY}
    server = serve(lambda path: sources[path].read_bytes())
    assert not available("tolokers")
    assert len(fetch()) == len(REGISTRY) == len(server.requests)
    assert {status.state for status in verify()} == {"ok"}
    assert all(available(name) for name in DATASETS)
    assert len(leftovers(cache)) == len(REGISTRY)
    damaged = cached(raw_files("texas")[0])
    damaged.write_bytes(b"x" * 10)
    bad = [status for status in verify() if status.state != "ok"]
    assert [(status.state, status.location) for status in bad] == [("damaged", damaged)]


@pytest.mark.data
def test_two_processes_at_once_over_http(cache, serve) -> None:
    sources = {file.path: locate(file) for file in raw_files("film")}
    serve(lambda path: sources[path].read_bytes())
    code = "import acm.data as d; g = d.load('film'); print(g.num_edges, int(g.x.values().sum()))"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": ROOT},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    assert [process.communicate() for process in processes] == [("53411 40977\n", "")] * 2
    assert len(leftovers(cache)) == 2
