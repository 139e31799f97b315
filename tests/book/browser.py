"""A headless Chromium, spoken to in its own split_scheme: what a page asks for, says and shows."""

from __future__ import annotations

import asyncio
import base64
import functools
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tornado.websocket import websocket_connect

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars"
    " --disable-background-networking --disable-component-update --disable-sync"
    " --disable-dev-shm-usage --remote-debugging-port=0 --remote-allow-origins=*"
).split()


def chromium() -> str | None:
    """The browser's command, where there is one."""
    return next(filter(None, map(shutil.which, ["chromium", "chromium-browser"])), None)


@dataclass
class Seen:
    """What came of opening one page."""

    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    facts: dict = field(default_factory=dict)
    picture: bytes = b""


class Browser:
    """A context: the browser and a server for one folder."""

    def __init__(self, folder: Path) -> None:
        handler = functools.partial(_Quiet, directory=str(folder))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Browser:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.profile = tempfile.mkdtemp(prefix="acm-chromium-")
        self.process = subprocess.Popen(
            [chromium(), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        file = Path(self.profile, "DevToolsActivePort")
        deadline = time.monotonic() + 60
        while not (file.is_file() and file.read_text().count("\n")):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError("Chromium did not start")
            time.sleep(0.05)
        self.port = file.read_text().splitlines()[0]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, page: str, width: int, scheme: str, facts: str = "({})") -> Seen:
        """Open a page so wide and in "light" or "dark"; `facts`: JavaScript, evaluated there."""
        return asyncio.run(self._open(f"{self.base}/{page}", width, scheme, facts))

    async def _open(self, url: str, width: int, scheme: str, facts: str) -> Seen:
        ask = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new", method="PUT")
        target = json.load(urllib.request.urlopen(ask, timeout=30))
        socket = await websocket_connect(target["webSocketDebuggerUrl"], max_message_size=1 << 28)
        seen, number = Seen(), 0

        async def call(method: str, **parameters: object) -> dict:
            nonlocal number
            number += 1
            await socket.write_message(
                json.dumps({"id": number, "method": method, "params": parameters})
            )
            while True:
                message = json.loads(await asyncio.wait_for(socket.read_message(), 60))
                if message.get("id") == number:
                    return message.get("result", {})
                _note(seen, message)

        for domain in ("Network", "Page", "Runtime", "Log"):
            await call(f"{domain}.enable")
        screen = {"width": width, "deviceScaleFactor": 1, "mobile": width < 600}
        await call("Emulation.setDeviceMetricsOverride", height=900, **screen)
        preference = {"name": "prefers-color-scheme", "value": scheme}
        await call("Emulation.setEmulatedMedia", features=[preference])
        await call("Page.navigate", url=url)
        ready = (
            "document.readyState === 'complete' && location.href !== 'about:blank'"
            " && (!window.MathJax || !MathJax.startup || MathJax.startup.promise.then(() => true))"
        )
        for _ in range(200):
            answer = await call("Runtime.evaluate", expression=ready, awaitPromise=True)
            if answer.get("result", {}).get("value"):
                break
            await asyncio.sleep(0.1)
        answer = await call("Runtime.evaluate", expression=facts, returnByValue=True)
        seen.facts = answer["result"].get("value", {})
        # A screen as high as the page: beyond the viewport Chromium draws long pages displaced.
        size = (await call("Page.getLayoutMetrics"))["cssContentSize"]
        await call("Emulation.setDeviceMetricsOverride", height=int(size["height"]), **screen)
        picture = await call("Page.captureScreenshot")
        seen.picture = base64.b64decode(picture["data"])
        socket.close()
        urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/close/{target['id']}").close()
        return seen


def _note(seen: Seen, message: dict) -> None:
    method, given = message.get("method", ""), message.get("params", {})
    if method == "Network.requestWillBeSent":
        seen.requests.append(given["request"]["url"])
    elif method == "Network.loadingFailed" and not given.get("canceled"):
        seen.failures.append(given["errorText"])
    elif method == "Network.responseReceived" and given["response"]["status"] >= 400:
        seen.failures.append(f"{given['response']['status']} {given['response']['url']}")
    elif method == "Runtime.exceptionThrown":
        seen.complaints.append(given["exceptionDetails"].get("text", "exception"))
    elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning", "assert"):
        seen.complaints.append(" ".join(str(a.get("value", a)) for a in given["args"]))
    elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
        seen.complaints.append(given["entry"]["text"])


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def main(html: str, page: str, target: str = ".") -> None:
    """Pictures of a page in the folder `target`, to look at: narrow and wide, light and dark."""
    Path(target).mkdir(parents=True, exist_ok=True)
    with Browser(Path(html)) as browser:
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                name = f"{Path(page).stem}-{width}-{scheme}.png"
                Path(target, name).write_bytes(browser.open(page, width, scheme).picture)
                print(Path(target, name))


if __name__ == "__main__":
    # python -m tests.book.browser _build/html book/intro.html pictures
    main(*sys.argv[1:])
