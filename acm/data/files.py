"""Find, download and check the raw files of the data sets.

Functions raise `UsageError` for an unknown name, and for a file that cannot be had or is wrong.

Environment variables:
    ACM_DATA_MIRROR: A folder or http(s) address that replaces the public base address.
    ACM_DATA_CACHE: The folder of downloaded files.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from acm.data.names import DATASETS, REGISTRY, RawFile, raw_files
from acm.errors import UsageError

PUBLIC_BASE = "https://raw.githubusercontent.com"
TIMEOUT, MINIMUM_RATE = 20, 1024  # seconds without data, and bytes per second


class FileStatus(NamedTuple):
    """The state of a raw file: "ok", "missing" or "damaged", with what is on disk."""

    file: RawFile
    state: str
    location: Path
    found_size: int | None = None
    found_sha256: str | None = None


def cache_folder() -> Path:
    """Return the cache folder: `ACM_DATA_CACHE`, or a folder in the user's cache."""
    import pooch

    return Path(os.path.expanduser(os.environ.get("ACM_DATA_CACHE") or pooch.os_cache("acm")))


def cached(file: RawFile) -> Path:
    """Return the path of a raw file in the cache, downloaded or not."""
    return cache_folder() / "raw" / file.path


def mirror_folder() -> Path | None:
    """Return the folder in `ACM_DATA_MIRROR`; None if it is an http(s) address or not set."""
    mirror = os.environ.get("ACM_DATA_MIRROR", "")
    if not mirror or mirror.lower().startswith(("http://", "https://")):
        return None
    folder = Path(os.path.expanduser(mirror))
    if not folder.is_dir():  # the text may hold a password, so the message does not quote it
        raise UsageError("ACM_DATA_MIRROR is neither an http(s) address nor a folder that exists")
    return folder


def _paths(file: RawFile) -> list[Path]:
    folder = mirror_folder()
    return [cached(file)] + ([folder / file.path] if folder else [])


def _status(file: RawFile) -> FileStatus:
    """Check the cached copy; unless it is right, check the copy of a folder mirror."""
    for path in _paths(file):
        status = FileStatus(file, "missing", path)
        if path.is_file():
            with path.open("rb") as stream:
                sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
            state = "ok" if sha256 == file.sha256 else "damaged"
            status = FileStatus(file, state, path, path.stat().st_size, sha256)
        if status.state == "ok":
            break
    return status


def _address(file: RawFile) -> tuple[str, str]:
    """Return the URL of a raw file, and the URL without the mirror's login for messages."""
    url = file.url or f"{PUBLIC_BASE}/{file.path}"
    if mirror := os.environ.get("ACM_DATA_MIRROR"):
        url = f"{mirror.rstrip('/')}/{file.path}"
    scheme, _, address = url.partition("://")
    return url, f"{scheme}://{address.rpartition('@')[2]}"


def _download(file: RawFile) -> Path:
    """Download one raw file into the cache with pooch, which keeps only the right file."""
    import pooch
    import requests
    from filelock import FileLock

    (url, shown), target = _address(file), cached(file)

    def download(_url: str, output: str, _pooch: object) -> None:
        os.remove(output)  # pooch made it with mode 0600; a new file follows the user's umask
        size, start = 0, time.monotonic()
        answer = requests.get(url, stream=True, timeout=(TIMEOUT / 4, TIMEOUT))
        with answer, open(output, "xb") as stream:
            answer.raise_for_status()
            for chunk in answer.iter_content(1024):
                size += stream.write(chunk)
                if size > file.size:
                    raise ValueError(f"it has more than {file.size} bytes")
                if size < MINIMUM_RATE * (time.monotonic() - start - TIMEOUT):
                    raise requests.Timeout

    pooch.get_logger().setLevel("WARNING")
    registry, urls = {target.name: f"sha256:{file.sha256}"}, {target.name: shown}
    source = pooch.create(target.parent, "", registry=registry, urls=urls, retry_if_failed=1)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / ".lock"):
            for leftover in target.parent.glob("tmp*"):  # pooch's file of a killed download
                leftover.unlink()
            return Path(source.fetch(target.name, downloader=download))
    except requests.RequestException as error:
        answer = error.response
        reason = type(error).__name__ if answer is None else f"{answer.status_code} {answer.reason}"
        fault = f"{shown} failed ({reason}): a network or a mirror (ACM_DATA_MIRROR) is needed"
    except ValueError as error:
        fault = f"{shown} is not the file expected: {error}"
    except OSError as error:
        fault = f"cannot store {target}: set ACM_DATA_CACHE to another folder ({error})"
    # The error has no cause, since the cause's text may hold the mirror's password.
    raise UsageError(f"{file.dataset}: {fault}") from None


def locate(file: RawFile) -> Path:
    """Return the path of a raw file with the right checksum; download the file if necessary."""
    status = _status(file)
    if status.state == "ok":
        return status.location
    if mirror_folder() is None:
        return _download(file)
    raise UsageError(f"{file.dataset}: {status.location} in ACM_DATA_MIRROR is {status.state}")


def _files_of(names: Iterable[str] | str | None) -> list[RawFile]:
    names = [names] if isinstance(names, str) else DATASETS if names is None else names
    return [file for name in names for file in raw_files(name)]


def fetch(names: Iterable[str] | str | None = None) -> list[Path]:
    """Download the raw files of data sets (default: all) unless the right files are on disk.

    The paths of the files are returned. A file of a folder mirror stays where it is.
    """
    return [locate(file) for file in _files_of(names)]


def verify(names: Iterable[str] | str | None = None) -> list[FileStatus]:
    """Check every raw file of data sets (default: all) without a download."""
    return [_status(file) for file in _files_of(names)]


def available(name: str) -> bool:
    """Say whether `load(name)` needs no download, by the names and sizes of files on disk."""
    return all(
        any(path.is_file() and path.stat().st_size == file.size for path in _paths(file))
        for file in raw_files(name, splits=False)
    )


def source_problem() -> str | None:
    """Return one line on why raw files cannot be had, or None; download one small file to see."""
    try:
        locate(REGISTRY[0])
    except UsageError as error:
        return str(error)
    return None
