"""A server of raw files with chosen faults, and an empty cache."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import socket
import struct
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HTML = b"<!DOCTYPE html>\n<html><body>Please sign in to the hotel network.</body></html>"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ACM_DATA_CACHE", str(folder))
    return folder


class MirrorServer(http.server.ThreadingHTTPServer):
    """Serve `content(path)`; `fault` spoils every answer until it is set to None."""

    daemon_threads = True
    fault: str | None = None
    sent = 0  # bytes of endless answers

    def __init__(self, content: Callable[[str], bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = content
        self.released = threading.Event()  # ends a stalled answer
        self.requests: list[str] = []
        self.logins: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/mirror"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: MirrorServer

    def do_GET(self) -> None:
        fault, path = self.server.fault, self.path.removeprefix("/mirror/")
        self.server.requests.append(path)
        self.server.logins.add(self.headers["Authorization"])
        if fault in ("404", "500"):
            return self.send_error(int(fault))
        if fault == "silent":
            self.server.released.wait(30)
            return None
        body = self.server.content(path)
        half = len(body) // 2
        if fault == "flipped":
            body = body[:half] + bytes([body[half] ^ 1]) + body[half + 1 :]
        elif fault == "short":
            body = body[:half]
        elif fault == "html":
            body = HTML
        self.send_response(200)
        if fault == "endless":
            self.end_headers()
            return self._send(body * 10)
        if fault == "zipped":
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if fault == "drip":
            return self._send(body[:100], pause=0.15)
        if fault in ("truncated", "stalled", "reset"):
            self.wfile.write(body[:half])
            self.wfile.flush()
            if fault == "stalled":
                self.server.released.wait(30)
            if fault == "reset":  # closing without lingering sends RST
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.connection.close()
            return None
        self.wfile.write(body)
        return None

    do_HEAD = do_GET

    def _send(self, body: bytes, pause: float = 0) -> None:
        """Send the body again and again until the reader closes the connection."""
        with contextlib.suppress(OSError):
            while not self.server.released.wait(pause):
                self.wfile.write(body)
                self.server.sent += len(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., MirrorServer]]:
    """Start a server and make it the mirror; pooch does not wait before it tries again."""
    monkeypatch.setattr("pooch.core.time", types.SimpleNamespace(sleep=lambda _: None))
    servers: list[MirrorServer] = []

    def start(content: Callable[[str], bytes]) -> MirrorServer:
        server = MirrorServer(content)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        monkeypatch.setenv("ACM_DATA_MIRROR", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        return server

    yield start
    for server in servers:
        server.released.set()
        server.shutdown()
        server.server_close()
