"""Raw files: where each lies, how it is had, and whether it is the right one.

`ACM_DATA_MIRROR` (a folder or an http(s) address) replaces the public base address,
`ACM_DATA_CACHE` the cache folder, `ACM_DATA_TIMEOUT` the seconds without any data, or with less
than a kilobyte each, after which a server counts as stalled.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from acm.data.names import DATASETS, dataset, read_table
from acm.errors import UsageError

PUBLIC_BASE = "https://raw.githubusercontent.com"
LEAST_RATE = 1024  # bytes a second; the slowest of modems had more
PARSER_VERSION = 1  # raised with every change of what a parser returns: old parsed graphs are left


class RawFile(NamedTuple):
    """One line of the registry: a raw file, its address and what it has to be."""

    dataset: str
    role: str
    path: str
    size: int
    sha256: str
    url: str


class FileStatus(NamedTuple):
    """What `verify` found of one raw file: state is "ok", "missing" or "damaged"."""

    file: RawFile
    state: str
    found_size: int | None
    found_sha256: str | None
    location: Path | None


REGISTRY: tuple[RawFile, ...] = tuple(
    RawFile(**{**row, "size": int(row["size"])}) for row in read_table("registry.csv")
)


def raw_files(name: str, splits: bool = True) -> list[RawFile]:
    """The raw files of one data set; without those that hold splits alone if `splits` is false."""
    dataset(name)
    return [
        file
        for file in REGISTRY
        if file.dataset == name and (splits or not file.role.startswith("split"))
    ]


def cache_folder() -> Path:
    """The folder of downloads and parsed graphs: `ACM_DATA_CACHE`, or the user's cache folder."""
    if folder := os.environ.get("ACM_DATA_CACHE"):
        return _expanded("ACM_DATA_CACHE", folder)
    import pooch

    return Path(pooch.os_cache("acm"))


def _expanded(variable: str, folder: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:  # `~somebody` without a home
        raise UsageError(f"{variable} is {folder!r}: {error}") from error


def mirror_folder() -> Path | None:
    """The folder that `ACM_DATA_MIRROR` names, or None where it is an address or not set."""
    mirror = os.environ.get("ACM_DATA_MIRROR", "")
    if not mirror or mirror.lower().startswith(("http://", "https://")):
        return None
    if "://" in mirror:
        raise UsageError(f"ACM_DATA_MIRROR is {mirror!r}: it takes a folder or an http(s) address")
    folder = _expanded("ACM_DATA_MIRROR", mirror)
    if not folder.is_dir():
        raise UsageError(f"ACM_DATA_MIRROR is {mirror!r}: there is no such folder")
    return folder


def address(file: RawFile) -> str:
    """The address a raw file is downloaded from."""
    if mirror := os.environ.get("ACM_DATA_MIRROR"):
        return f"{mirror.rstrip('/')}/{file.path}"
    return file.url or f"{PUBLIC_BASE}/{file.path}"


def timeout() -> float:
    """Seconds without any data after which a server counts as stalled."""
    text = os.environ.get("ACM_DATA_TIMEOUT") or "20"
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(
            f"ACM_DATA_TIMEOUT is {text!r}: it takes a number of seconds above 0, a day at most"
        )
    return seconds


def cached(file: RawFile) -> Path:
    """Where a raw file lies once it is downloaded."""
    return cache_folder() / "raw" / file.path


def parsed(name: str) -> Path:
    """Where a data set lies once it is parsed: other raw files or another parser, another name."""
    key = [PARSER_VERSION] + [file.sha256 for file in raw_files(name, splits=False)]
    digest = hashlib.sha256(repr(key).encode()).hexdigest()
    return cache_folder() / "parsed" / f"{name}-{digest[:16]}.npz"


def _inspect(file: RawFile, location: Path) -> FileStatus:
    """Read a file and say whether it is the one the registry describes."""
    try:
        if not location.is_file():
            return FileStatus(file, "missing", None, None, None)
        with location.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        size = location.stat().st_size
    except OSError as error:
        raise UsageError(f"{location} cannot be read: {error.strerror}") from error
    return FileStatus(file, "ok" if found == file.sha256 else "damaged", size, found, location)


def _fault(status: FileStatus) -> str:
    """What is wrong with a damaged file, in words."""
    file, location = status.file, status.location
    with location.open("rb") as stream:
        head = stream.read(512).lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "it is a web page, not the data"
    if status.found_size > file.size:  # a download is not read further than that
        return f"it has more than {file.size} bytes"
    if status.found_size < file.size:
        return f"it has {status.found_size} bytes instead of {file.size}"
    return f"its sha256 is {status.found_sha256[:12]}… instead of {file.sha256[:12]}…"


def _download(file: RawFile) -> Path:
    """Download one raw file into the cache; nothing is kept that is not the file asked for."""
    import pooch
    import requests
    from tqdm import tqdm
    from urllib3.exceptions import HTTPError

    url, target, seconds = address(file), cached(file), timeout()
    pooch.get_logger().setLevel("WARNING")  # the bar says it, and without this machine's paths

    def downloader(url: str, output: str, _: object) -> None:
        with open(output, "wb") as place:
            for chunk in _chunks(url, file.size, seconds):
                place.write(chunk)
                if bar is not False:
                    bar.update(len(chunk))
        status = _inspect(file, Path(output))
        if status.state != "ok":  # before pooch's own check: to say what came instead
            raise UsageError(f"{url} is not the file expected: {_fault(status)}")

    bar = False
    if sys.stderr.isatty():  # TQDM_DISABLE silences it there, too
        label = f"{file.dataset} {file.role}"
        bar = tqdm(total=file.size, desc=label, unit="B", unit_scale=True, leave=False)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)  # pooch's own way races between processes
        pooch.retrieve(
            url,
            known_hash=f"sha256:{file.sha256}",
            fname=target.name,
            path=target.parent,
            downloader=downloader,
        )
    except UsageError:
        raise
    except (requests.RequestException, HTTPError) as error:
        raise UsageError(f"{file.dataset}: {url} {_network_fault(error, seconds)}") from error
    except OSError as error:
        raise UsageError(
            f"{file.dataset}: cannot store {target.name} in {target.parent} ({error}): "
            "set ACM_DATA_CACHE to a folder that can be written"
        ) from error
    finally:
        if bar is not False:  # a bar without a total has no truth value
            bar.close()
    return target


def _chunks(url: str, size: int, seconds: float) -> Iterator[bytes]:
    """What a server sends, as it comes, but no more than one chunk beyond `size` bytes.

    Each `seconds` have to bring a kilobyte a second, or it counts as stalled: a drip keeps any
    timeout of silence from ending.
    """
    import requests

    with requests.get(url, stream=True, timeout=seconds) as answer:
        answer.raise_for_status()
        # Up to so many bytes, but at once what there is (urllib3 1 waits for all of them).
        read = getattr(answer.raw, "read1", answer.raw.read)
        received, before, start = 0, 0, time.monotonic()
        while received <= size and (chunk := read(2**16, decode_content=True)):
            received += len(chunk)
            yield chunk
            if time.monotonic() - start >= seconds:
                if received - before < LEAST_RATE * seconds and received < size:
                    raise UsageError(
                        f"{url} sent {received - before} bytes in {seconds:g} s, which is too slow:"
                        " try again, or raise ACM_DATA_TIMEOUT"
                    )
                before, start = received, time.monotonic()


def _network_fault(error: Exception, seconds: float) -> str:
    """What a failed request says about the server, in words."""
    from requests.exceptions import ChunkedEncodingError
    from urllib3.exceptions import ProtocolError

    if (response := getattr(error, "response", None)) is not None:
        return f"answered {response.status_code} {response.reason}"
    if "timed out" in str(error):
        return f"sent no data for {seconds:g} s: try again, or raise ACM_DATA_TIMEOUT"
    if isinstance(error, ChunkedEncodingError | ProtocolError):
        return "broke off before the end of the file: try again"
    return f"cannot be reached ({type(error).__name__}): is there a network, or a mirror?"


def locate(file: RawFile) -> Path:
    """The path of a raw file that is the right one: cached, from a folder mirror, or downloaded.

    Raises:
        UsageError: the file cannot be had, or is not the one that the registry describes.
    """
    if _inspect(file, cached(file)).state == "ok":
        return cached(file)
    folder = mirror_folder()
    if folder is None:
        return _download(file)
    status = _inspect(file, folder / file.path)
    if status.state == "missing":
        raise UsageError(f"{file.dataset}: ACM_DATA_MIRROR has no file {folder / file.path}")
    if status.state == "damaged":
        raise UsageError(f"{status.location} is not the file expected: {_fault(status)}")
    return status.location


def _chosen(names: Iterable[str] | str | None) -> list[str]:
    names = [names] if isinstance(names, str) else list(DATASETS if names is None else names)
    for name in names:
        dataset(name)
    return names


def fetch(names: Iterable[str] | str | None = None) -> list[Path]:
    """Have every raw file of these data sets (all, by default) at hand; returns their paths.

    Files of a folder mirror are checked where they lie, all others are downloaded into the cache.

    Raises:
        UsageError: a name is unknown, or a file cannot be had.
    """
    return [locate(file) for name in _chosen(names) for file in raw_files(name)]


def verify(names: Iterable[str] | str | None = None) -> list[FileStatus]:
    """Check every raw file of these data sets (all, by default), downloading nothing.

    Returns:
        One `FileStatus` a file: "ok", "missing" or "damaged", with the size and checksum found
        beside those expected (`status.file.size`, `status.file.sha256`).
    """
    found = []
    for name in _chosen(names):
        for file in raw_files(name):
            status, folder = _inspect(file, cached(file)), mirror_folder()
            if status.state == "missing" and folder is not None:
                status = _inspect(file, folder / file.path)
            found.append(status)
    return found


def available(name: str) -> bool:
    """Whether `load(name)` needs no download: a look at names and sizes, never at the network."""
    folder = mirror_folder()
    return parsed(name).is_file() or all(
        any(path.is_file() and path.stat().st_size == file.size for path in places)
        for file in raw_files(name, splits=False)
        for places in [[cached(file)] + ([folder / file.path] if folder else [])]
    )


def source_problem(seconds: float = 3.0) -> str | None:
    """Why raw data cannot be had from the mirror or the public base, in one line; None if it can.

    Asks the server for the headers of one small file and waits no longer than `seconds`.
    """
    import requests

    file = min(REGISTRY, key=lambda file: (bool(file.url), file.size))
    try:
        if (folder := mirror_folder()) is not None:
            if (folder / file.path).is_file():
                return None
            return f"ACM_DATA_MIRROR has no file {folder / file.path}"
        requests.head(address(file), timeout=seconds, allow_redirects=True).raise_for_status()
    except UsageError as error:
        return str(error)
    except requests.RequestException as error:
        return f"{address(file)} {_network_fault(error, seconds)}"
    return None
