"""Find, download and check the raw files of the data sets.

`ACM_DATA_MIRROR` is a folder or an http(s) address that replaces the public addresses.
`ACM_DATA_CACHE` is the folder for downloads. Functions raise `UsageError` for an unknown name and
for a failed download. `fetch` also raises `UsageError` if a file in a mirror folder is damaged.
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
TIMEOUT, MINIMUM_RATE = 20, 1024  # longest wait in seconds, slowest download in bytes/s


class FileStatus(NamedTuple):
    """The state of a raw file on disk, and the path of the copy that was checked last."""

    file: RawFile
    state: str  # "ok", "missing" or "damaged"
    location: Path


def cache_folder() -> Path:
    """Return the folder for downloads; its default is in the cache folder of the user."""
    if folder := os.environ.get("ACM_DATA_CACHE"):
        return Path(os.path.expanduser(folder))
    import pooch

    return Path(pooch.os_cache("acm"))


def cached(file: RawFile) -> Path:
    """Return the path that a raw file has in the cache after its download."""
    return cache_folder() / "raw" / file.path


def mirror_folder() -> Path | None:
    """Return the mirror folder; None if `ACM_DATA_MIRROR` is an http(s) address or not set."""
    mirror = os.environ.get("ACM_DATA_MIRROR", "")
    if not mirror or mirror.lower().startswith(("http://", "https://")):
        return None
    folder = Path(os.path.expanduser(mirror))
    if not folder.is_dir():  # the message omits the value, which may contain a password
        raise UsageError("ACM_DATA_MIRROR must be an existing folder or an http(s) address")
    return folder


def _paths(file: RawFile) -> list[Path]:
    folder = mirror_folder()
    return [cached(file)] + ([folder / file.path] if folder else [])


def _status(file: RawFile) -> FileStatus:
    """Check the cached copy; if it is missing or damaged, check the copy in a mirror folder."""
    for path in _paths(file):
        state = "missing"
        if path.is_file():
            with path.open("rb") as content:  # the GPU machine has no pooch
                checksum = hashlib.file_digest(content, "sha256").hexdigest()
            state = "ok" if checksum == file.sha256 else "damaged"
        if state == "ok":
            break
    return FileStatus(file, state, path)


def _address(file: RawFile) -> tuple[str, str]:
    """Return the URL of a raw file, and the URL without a password for messages."""
    url = file.url or f"{PUBLIC_BASE}/{file.path}"
    if mirror := os.environ.get("ACM_DATA_MIRROR"):
        url = f"{mirror.rstrip('/')}/{file.path}"
    scheme, _, address = url.partition("://")
    return url, f"{scheme}://{address.rpartition('@')[2]}"


def _download(file: RawFile) -> Path:
    """Download one raw file into the cache; pooch discards a file with a wrong checksum."""
    import pooch
    import requests
    from filelock import FileLock

    (url, safe_url), target = _address(file), cached(file)

    def download(_url: str, output: str, _pooch: object) -> None:
        os.remove(output)  # pooch created this file with mode 0600; a new file gets the usual mode
        size, start = 0, time.monotonic()
        response = requests.get(url, stream=True, timeout=(TIMEOUT / 4, TIMEOUT))
        with response, open(output, "xb") as stream:
            response.raise_for_status()
            for chunk in response.iter_content(1024):
                size += stream.write(chunk)
                if size > file.size:
                    raise ValueError(f"the file has more than {file.size} bytes")
                if size < MINIMUM_RATE * (time.monotonic() - start - TIMEOUT):
                    raise requests.Timeout

    pooch.get_logger().setLevel("WARNING")
    registry, urls = {target.name: f"sha256:{file.sha256}"}, {target.name: safe_url}
    source = pooch.create(target.parent, "", registry=registry, urls=urls, retry_if_failed=1)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.parent / ".lock"):
            for leftover in target.parent.glob("tmp*"):  # unfinished downloads of pooch
                leftover.unlink()
            return Path(source.fetch(target.name, downloader=download))
    except requests.RequestException as error:
        response, reason = error.response, type(error).__name__
        if response is not None:
            reason = f"{response.status_code} {response.reason}"
        fault = f"download of {safe_url} failed ({reason}): check the network or ACM_DATA_MIRROR"
    except ValueError as error:
        fault = f"{safe_url} is not the expected file: {error}"
    except OSError as error:
        fault = f"cannot store {target}: set ACM_DATA_CACHE to another folder ({error})"
    # The original error is hidden, since its text may contain the mirror's password.
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
    """Download missing or damaged raw files of data sets (default: all); return all paths.

    A file in a mirror folder is used from there; it is not copied into the cache.
    """
    return [locate(file) for file in _files_of(names)]


def verify(names: Iterable[str] | str | None = None) -> list[FileStatus]:
    """Return the state of every raw file of data sets (default: all) without a download."""
    return [_status(file) for file in _files_of(names)]


def available(name: str) -> bool:
    """Return whether `load(name)` works without a download; check only file names and sizes."""
    return all(
        any(path.is_file() and path.stat().st_size == file.size for path in _paths(file))
        for file in raw_files(name, splits=False)
    )


def source_problem() -> str | None:
    """Try to download one small file; return the error message, or None if the file is there."""
    try:
        locate(REGISTRY[0])
    except UsageError as error:
        return str(error)
    return None
