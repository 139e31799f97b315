"""Raw files: the registry, mirrors, downloads and everything that goes wrong with them."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from acm.data.files import (
    REGISTRY,
    RawFile,
    available,
    cached,
    fetch,
    locate,
    raw_files,
    source_problem,
    verify,
)
from acm.data.names import DATASETS
from acm.errors import UsageError

ROOT = str(Path(__file__).parents[2])
CONTENT = bytes(range(256)) * 400
FILE = RawFile(
    "texas", "edges", "owner/repo/c0ffee/a.txt", 102_400, hashlib.sha256(CONTENT).hexdigest(), ""
)


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_registry_has_every_file_once() -> None:
    assert len({file.path for file in REGISTRY}) == len(REGISTRY)
    assert {file.dataset for file in REGISTRY} == set(DATASETS) - {"synthetic"}
    fixed = [file for file in REGISTRY if file.role.startswith("split_")]
    assert len(fixed) == 90
    assert all(len(file.sha256) == 64 and file.size > 0 for file in REGISTRY)
    # <owner>/<repo>/<40 hex digits>/…, but for the one file whose home is elsewhere
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
        ("truncated", "broke off before the end"),
        ("short", "51200 bytes instead of 102400"),
        ("flipped", "sha256 is"),
        ("html", "a web page, not the data"),
        ("404", "answered 404 Not Found"),
        ("500", "answered 500 Internal Server Error"),
        ("stalled", "sent no data for 0.3 s"),
        ("silent", "sent no data for 0.3 s"),
        ("reset", "broke off before the end"),
        ("drip", "bytes in 0.3 s, which is too slow"),
        ("endless", "it has more than 102400 bytes"),
    ],
)
def test_each_fault_is_one_error_and_the_next_try_works(
    fault, says, cache, serve, monkeypatch
) -> None:
    monkeypatch.setenv("ACM_DATA_TIMEOUT", "0.3")
    server = serve(lambda path: CONTENT)
    server.fault = fault
    with pytest.raises(UsageError) as error:
        locate(FILE)
    assert says in str(error.value)
    assert f"{server.url}/{FILE.path}" in str(error.value)
    assert "\n" not in str(error.value)
    assert leftovers(cache) == []
    server.fault = None
    monkeypatch.setenv("ACM_DATA_TIMEOUT", "20")
    assert locate(FILE).read_bytes() == CONTENT


def test_an_endless_answer_is_not_read_to_its_end(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    server.fault = "endless"
    with pytest.raises(UsageError, match="more than 102400 bytes"):
        locate(FILE)
    # What was sent before the reader left, less what lies in the buffers between the two.
    assert server.sent < 500 * len(CONTENT)


def test_a_compressed_answer_is_the_file(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    server.fault = "zipped"
    assert locate(FILE).read_bytes() == CONTENT


@pytest.mark.parametrize("value", ["", "30"])
def test_capitals_in_an_address_and_an_empty_timeout(value, cache, serve, monkeypatch) -> None:
    server = serve(lambda path: CONTENT)
    monkeypatch.setenv("ACM_DATA_MIRROR", server.url.replace("http", "HTTP"))
    monkeypatch.setenv("ACM_DATA_TIMEOUT", value)
    assert locate(FILE).read_bytes() == CONTENT
    assert source_problem() is None


@pytest.mark.parametrize("variable", ["ACM_DATA_MIRROR", "ACM_DATA_CACHE"])
def test_a_home_that_nobody_has(variable, cache, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path))
    monkeypatch.setenv(variable, "~no-such-user/data")
    with pytest.raises(UsageError, match=f"{variable} is '~no-such-user/data'"):
        locate(FILE)


def test_no_server_at_all(cache, serve, monkeypatch) -> None:
    server = serve(lambda path: CONTENT)
    monkeypatch.setenv("ACM_DATA_MIRROR", "http://127.0.0.1:9")  # the discard port: nobody listens
    with pytest.raises(UsageError, match="cannot be reached"):
        locate(FILE)
    assert "cannot be reached" in source_problem()
    monkeypatch.setenv("ACM_DATA_MIRROR", server.url)
    assert source_problem() is None
    server.fault = "404"
    assert "answered 404" in source_problem()


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
        with pytest.raises(UsageError, match="sha256 is"):
            locate(FILE)


def test_a_cache_that_cannot_be_written(tmp_path, serve, monkeypatch) -> None:
    (tmp_path / "file").write_text("in the way")
    serve(lambda path: CONTENT)
    monkeypatch.setenv("ACM_DATA_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UsageError, match="set ACM_DATA_CACHE to a folder that can be written"):
        locate(FILE)
    monkeypatch.setenv("ACM_DATA_CACHE", str(tmp_path / "cache"))
    assert locate(FILE).read_bytes() == CONTENT


def test_a_full_disk(cache, serve) -> None:
    serve(lambda path: CONTENT)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENT) // 2, hard))
    try:
        with pytest.raises(UsageError, match="cannot store a.txt"):
            locate(FILE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert leftovers(cache) == []
    assert locate(FILE).read_bytes() == CONTENT


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "1e300", "soon", " "])
def test_timeout_is_checked(value, cache, serve, monkeypatch) -> None:
    serve(lambda path: CONTENT)
    monkeypatch.setenv("ACM_DATA_TIMEOUT", value)
    with pytest.raises(UsageError, match="a number of seconds above 0"):
        locate(FILE)


def test_a_folder_is_read_where_it_lies(cache, tmp_path, monkeypatch) -> None:
    place = tmp_path / "mirror" / FILE.path
    place.parent.mkdir(parents=True)
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(UsageError, match="has no file .*a.txt"):
        locate(FILE)
    place.write_bytes(HTML_PAGE)
    with pytest.raises(UsageError, match="a web page, not the data"):
        locate(FILE)
    place.write_bytes(CONTENT[:-1])
    with pytest.raises(UsageError, match="102399 bytes instead of 102400"):
        locate(FILE)
    place.write_bytes(CONTENT)
    assert locate(FILE) == place
    assert not cache.exists()


HTML_PAGE = b"\n<html>not found</html>"


def test_a_mirror_that_is_none(cache, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path / "nowhere"))
    for use in (lambda: locate(FILE), lambda: available("texas"), lambda: verify("texas")):
        with pytest.raises(UsageError, match="there is no such folder"):
            use()
    assert "there is no such folder" in source_problem()
    monkeypatch.setenv("ACM_DATA_MIRROR", "ftp://example.org/data")
    with pytest.raises(UsageError, match=r"takes a folder or an http\(s\) address"):
        locate(FILE)
    monkeypatch.setenv("ACM_DATA_MIRROR", str(tmp_path))
    assert "has no file" in source_problem()


def test_verify_and_available_download_nothing(cache, serve) -> None:
    server = serve(lambda path: CONTENT)
    assert {status.state for status in verify()} == {"missing"}
    assert len(verify()) == len(REGISTRY)
    assert not any(available(name) for name in DATASETS if name != "synthetic")
    assert available("synthetic")
    assert server.requests == []


@pytest.mark.parametrize("use", [fetch, verify, available, raw_files])
def test_unknown_names(use) -> None:
    with pytest.raises(UsageError, match="did you mean chameleon"):
        use("chamaeleon")


def stderr_of_a_download(terminal: bool, **env: str) -> bytes:
    """What `locate(FILE)` writes to standard error in a process of its own."""
    reader, writer = os.openpty() if terminal else os.pipe()
    if terminal:
        termios.tcsetwinsize(writer, (24, 80))
    code = f"from acm.data.files import RawFile, locate; locate({FILE!r})"
    env = {**os.environ, "PYTHONPATH": ROOT, **env}
    subprocess.run([sys.executable, "-c", code], env=env, stderr=writer, check=True)
    os.write(writer, b".")  # so that there is something to read
    text = os.read(reader, 100_000)
    os.close(writer), os.close(reader)
    return text


def test_a_terminal_gets_a_bar_and_a_pipe_none(cache, serve, monkeypatch) -> None:
    serve(lambda path: CONTENT)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert stderr_of_a_download(terminal=False) == b"."
    cached(FILE).unlink()
    assert b"texas edges" in stderr_of_a_download(terminal=True)
    cached(FILE).unlink()
    assert stderr_of_a_download(terminal=True, TQDM_DISABLE="1") == b"."


@pytest.mark.data
def test_every_graph_downloads_over_http(cache, serve, monkeypatch) -> None:
    sources = {file.path: locate(file) for file in REGISTRY}
    server = serve(lambda path: sources[path].read_bytes())
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert not available("tolokers")
    assert len(fetch()) == len(REGISTRY) == len(server.requests)
    assert {status.state for status in verify()} == {"ok"}
    assert all(available(name) for name in DATASETS)
    assert len(leftovers(cache)) == len(REGISTRY)
    victim = cached(raw_files("texas")[0])
    victim.write_bytes(b"x" * 10)
    bad = [status for status in verify() if status.state != "ok"]
    assert [(s.state, s.found_size, s.location) for s in bad] == [("damaged", 10, victim)]
    assert bad[0].found_sha256 == hashlib.sha256(b"x" * 10).hexdigest() != bad[0].file.sha256


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
    assert len(leftovers(cache)) == 3  # two raw files, one parsed graph, nothing else
