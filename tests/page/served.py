"""The service as people meet it: a process of its own, and a browser before it."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.request import Request, urlopen

from playwright.sync_api import BrowserContext, ConsoleMessage, Page

import lamina
from lamina.app import App

T = TypeVar("T")

_START = "from lamina.cli import main; main()"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass(frozen=True, slots=True)
class Served:
    """A service that listens, and the store behind it."""

    url: str
    store: Path

    def post(self, path: str, body: object, *, key: str | None = None) -> Any:
        """What the service answers to a JSON document."""
        return self.ask("POST", path, body, key=key)

    def ask(self, method: str, path: str, body: object = None, *, key: str | None = None) -> Any:
        """The same for any method."""
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        request = Request(self.url + path, json.dumps(body).encode(), headers, method=method)
        with urlopen(request, timeout=30) as answer:
            return json.load(answer)


def within(store: Path, work: Callable[[App], Awaitable[T]]) -> T:
    """Do something with a store: in a thread of its own, because Playwright's loop runs in this one."""

    async def run() -> T:
        async with lamina.open(str(store)) as app:
            return await work(app)

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, run()).result(60)


@contextmanager
def serving(store: Path, *flags: str) -> Iterator[Served]:
    """`lamina serve` on a store, on a free port, until the block ends."""
    command = [sys.executable, "-c", _START, "serve", "--store", str(store), "--port", "0", "--json", *flags]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    errors = store.with_suffix(".log")
    with (
        errors.open("w") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=store.parent, env=environment
        ) as process,
    ):
        try:
            assert process.stdout is not None
            told = "".join(iter(process.stdout.readline, "}\n"))
            assert told, errors.read_text()
            yield Served(url=json.loads(told + "}")["url"], store=store)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def chromium() -> str:
    """Where the browser is; see requirements/chromium.sh."""
    own = Path(sys.executable).with_name("chromium")
    return str(own) if own.exists() else shutil.which("chromium") or "/usr/bin/chromium"


class Watched:
    """A page of a browser that is held to its promises: nothing leaves the origin, and no script fails."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.page: Page = context.new_page()
        self._url = url
        self.foreign: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.on("websocket", lambda socket: self._asked(socket.url.replace("ws", "http", 1)))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self._said)

    def check(self) -> None:
        """Raise AssertionError where a promise was broken since the last time."""
        broken = [*self.foreign, *self.complaints]
        self.foreign.clear()
        self.complaints.clear()
        assert broken == []

    def end(self) -> None:
        """Close the page, and check it."""
        self.page.close()
        self.check()

    def _asked(self, url: str) -> None:
        if not url.startswith((f"{self._url}/", "data:")):
            self.foreign.append(url)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "401" not in message.text:  # a refused login is an error to a browser
            self.complaints.append(message.text)
