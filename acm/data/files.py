"""Find, download and check the raw files of the data sets.

Environment variables:
    ACM_DATA_MIRROR: A folder or http(s) address that replaces the public base address.
    ACM_DATA_CACHE: The folder of downloaded files.
    ACM_DATA_TIMEOUT: Seconds without data (20 by default), after which a download fails.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from acm.data.names import DATASETS, REGISTRY, RawFile, raw_files
from acm.errors import UsageError

PUBLIC_BASE, MINIMUM_RATE = "https://raw.githubusercontent.com", 1024  # bytes per second


class FileStatus(NamedTuple):
    """The state of a raw file: "ok", "missing" or "damaged", with what is on disk."""

    file: RawFile
    state: str
    found_size: int | None = None
    found_sha256: str | None = None
    location: Path | None = None


def cache_folder() -> Path:
    """Return the cache folder: `ACM_DATA_CACHE`, or a folder in the user's cache."""
    if folder := os.environ.get("ACM_DATA_CACHE"):
        return _expand_home("ACM_DATA_CACHE", folder)
    import pooch

    return Path(pooch.os_cache("acm"))


def cached(file: RawFile) -> Path:
    """Return the path of a raw file in the cache, downloaded or not."""
    return cache_folder() / "raw" / file.path


def mirror_folder() -> Path | None:
    """Return the folder in `ACM_DATA_MIRROR`; None if it is an http(s) address or not set."""
    mirror = os.environ.get("ACM_DATA_MIRROR", "")
    scheme, separator, _ = mirror.partition("://")
    if not mirror or (separator and scheme.lower() in ("http", "https")):
        return None
    if separator:  # the address may hold a password, so the message does not quote it
        raise UsageError(f"ACM_DATA_MIRROR takes a folder or an http(s) address, not {scheme}://")
    folder = _expand_home("ACM_DATA_MIRROR", mirror)
    if not folder.is_dir():
        raise UsageError(f"ACM_DATA_MIRROR is {mirror!r}: there is no such folder")
    return folder


def _expand_home(variable: str, folder: str) -> Path:
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:  # `~somebody` without a home
        raise UsageError(f"{variable} is {folder!r}: {error}") from error


def _address(file: RawFile) -> tuple[str, tuple[bytes, bytes] | None]:
    """Return the URL of a raw file and the mirror's (user, password), which the URL lacks."""
    url = file.url or f"{PUBLIC_BASE}/{file.path}"
    if mirror := os.environ.get("ACM_DATA_MIRROR"):
        url = f"{mirror.rstrip('/')}/{file.path}"
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if it is not a number
    except ValueError:  # its text may quote a password
        raise UsageError("ACM_DATA_MIRROR is not a valid http(s) address") from None
    login, at, host = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    credentials = (unquote_to_bytes(user), unquote_to_bytes(password)) if at else None
    return parts._replace(netloc=host).geturl(), credentials


def _timeout() -> float:
    text = os.environ.get("ACM_DATA_TIMEOUT") or "20"
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(
            f"ACM_DATA_TIMEOUT is {text!r}: a number of seconds above 0, at most 86400"
        )
    return seconds


def _inspect(file: RawFile, location: Path) -> FileStatus:
    """Compare the file at a path with the registry."""
    try:
        if not location.exists():
            return FileStatus(file, "missing")
        if not location.is_file():  # reading a FIFO would never end
            raise UsageError(f"{location} is not a regular file")
        with location.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        state = "ok" if sha256 == file.sha256 else "damaged"
        return FileStatus(file, state, location.stat().st_size, sha256, location)
    except OSError as error:
        raise UsageError(f"{location} cannot be read: {error.strerror}") from error


def _status(file: RawFile) -> FileStatus:
    """Check the cached copy; unless it is right, check the copy of a folder mirror."""
    status = _inspect(file, cached(file))
    if status.state == "ok" or (folder := mirror_folder()) is None:
        return status
    return _inspect(file, folder / file.path)


def _fault(status: FileStatus) -> str:
    """Say how a damaged file differs from the registry."""
    file, location, sha256 = status.file, status.location, status.found_sha256
    assert location is not None and sha256 is not None  # a damaged file is on disk
    with location.open("rb") as stream:
        head = stream.read(512).lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "it is a web page, not the data"
    if status.found_size != file.size:
        return f"it has {status.found_size} bytes instead of {file.size}"
    return f"its sha256 is {sha256[:12]}… instead of {file.sha256[:12]}…"


class _Download:
    """Output file of one download that draws a bar and refuses a too long or too slow answer."""

    def __init__(self, file: RawFile, url: str, stream: BinaryIO, seconds: float) -> None:
        from tqdm import tqdm

        self.file, self.url, self.stream, self.seconds = file, url, stream, seconds
        self.flush = stream.flush
        self.size, self.recent, self.start = 0, 0, time.monotonic()
        quiet = not sys.stderr.isatty() or bool(os.environ.get("TQDM_DISABLE"))
        self.bar = tqdm(total=file.size, desc=f"{file.dataset} {file.role}", disable=quiet,
                        unit="B", unit_scale=True, leave=False)  # fmt: skip

    def write(self, chunk: bytes) -> None:
        self.stream.write(chunk)
        self.bar.update(len(chunk))
        self.size, self.recent = self.size + len(chunk), self.recent + len(chunk)
        if self.size > self.file.size:
            raise UsageError(
                f"{self.url} is not the file expected: it has more than {self.file.size} bytes"
            )
        elapsed = time.monotonic() - self.start
        if elapsed >= self.seconds:
            if self.recent < MINIMUM_RATE * elapsed and self.size < self.file.size:
                raise UsageError(
                    f"{self.url} sent {self.recent} bytes in {elapsed:.1f} s, which is too slow:"
                    " try again, or raise ACM_DATA_TIMEOUT"
                )
            self.recent, self.start = 0, time.monotonic()


def _download(file: RawFile) -> Path:
    """Download one raw file into the cache with pooch, which keeps only the right file."""
    import pooch
    from filelock import FileLock
    from requests import RequestException

    (url, login), target, seconds = _address(file), cached(file), _timeout()
    pooch.get_logger().setLevel("WARNING")  # the bar is enough

    def download(url: str, output: str, _: object) -> None:
        os.remove(output)  # pooch made it with mode 0600; a new file follows the user's umask
        with open(output, "xb") as stream:
            watched = _Download(file, url, stream, seconds)
            try:
                pooch.HTTPDownloader(timeout=seconds, auth=login)(url, watched, None)
            finally:
                watched.bar.close()
        status = _inspect(file, Path(output))
        if status.state != "ok":  # pooch would name the checksum only
            raise UsageError(f"{url} is not the file expected: {_fault(status)}")

    source = pooch.create(
        path=target.parent,
        base_url="",
        registry={target.name: f"sha256:{file.sha256}"},
        urls={target.name: url},
        retry_if_failed=1,
    )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / ".lock"):
            for leftover in target.parent.glob("tmp*"):  # pooch's file of a killed download
                leftover.unlink()
            source.fetch(target.name, downloader=download)
    except RequestException as error:
        raise UsageError(f"{file.dataset}: {_network_fault(url, error, seconds)}") from error
    except OSError as error:
        raise UsageError(
            f"{file.dataset}: cannot store {target.name} in {target.parent}"
            f" ({error.strerror or error}): set ACM_DATA_CACHE to a folder that can be written"
        ) from error
    return target


def _network_fault(url: str, error: Exception, seconds: float) -> str:
    """Say in one line why a request failed and what the user can do."""
    from requests.exceptions import ChunkedEncodingError

    if (response := getattr(error, "response", None)) is not None:
        fault = f"answered {response.status_code} {response.reason}"
    elif "timed out" in str(error):  # requests has no single class for all timeouts
        fault = f"sent no data for {seconds:g} s (ACM_DATA_TIMEOUT)"
    elif isinstance(error, ChunkedEncodingError):
        fault = "broke off before the end of the file"
    else:
        fault = f"cannot be reached ({type(error).__name__})"
    return f"{url} {fault}: a network or a mirror (ACM_DATA_MIRROR) is needed"


def locate(file: RawFile) -> Path:
    """Return the path of a raw file with the right checksum; download the file if necessary.

    Raises:
        UsageError: The file cannot be read or downloaded, or has another checksum.
    """
    status = _status(file)
    if status.state == "ok":
        assert status.location is not None  # a file with the right checksum is on disk
        return status.location
    if (folder := mirror_folder()) is None:
        return _download(file)
    if status.state == "missing":
        raise UsageError(f"{file.dataset}: ACM_DATA_MIRROR has no file {folder / file.path}")
    raise UsageError(f"{status.location} is not the file expected: {_fault(status)}")


def _files_of(names: Iterable[str] | str | None) -> list[RawFile]:
    names = [names] if isinstance(names, str) else list(DATASETS if names is None else names)
    return [file for files in map(raw_files, names) for file in files]


def fetch(names: Iterable[str] | str | None = None) -> list[Path]:
    """Download the raw files of data sets (default: all) unless the right files are on disk.

    Returns:
        The paths of the files. A file of a folder mirror stays where it is.

    Raises:
        UsageError: A name is unknown, or a file cannot be read or downloaded.
    """
    return [locate(file) for file in _files_of(names)]


def verify(names: Iterable[str] | str | None = None) -> list[FileStatus]:
    """Check every raw file of data sets (default: all) without a download."""
    return [_status(file) for file in _files_of(names)]


def available(name: str) -> bool:
    """Say whether `load(name)` needs no download, by the names and sizes of files on disk."""
    folder = mirror_folder()
    return all(
        any(path.is_file() and path.stat().st_size == file.size for path in paths)
        for file in raw_files(name, splits=False)
        for paths in [[cached(file)] + ([folder / file.path] if folder else [])]
    )


def source_problem(seconds: float = 3.0) -> str | None:
    """Return one line on why raw files cannot be had, or None if they can.

    One small file is looked for in the mirror or below the public base address. A server has
    `seconds` to answer; nothing is downloaded.
    """
    import requests

    file = min(REGISTRY, key=lambda file: (bool(file.url), file.size))
    try:
        if (folder := mirror_folder()) is not None:
            path = folder / file.path
            return None if path.is_file() else f"ACM_DATA_MIRROR has no file {path}"
        url, login = _address(file)
        response = requests.head(
            url,
            auth=login,  # type: ignore[arg-type]  # requests takes bytes, its stub only str
            timeout=seconds,
            allow_redirects=True,
        )
        response.raise_for_status()
    except requests.RequestException as error:
        return _network_fault(url, error, seconds)
    except UsageError as error:
        return str(error)
    return None
