"""`lamina serve` as a process of its own, to be loaded, and killed."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_START = "from lamina.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that listens."""

    url: str
    process: "subprocess.Popen[str]"

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def resident_mb(self) -> float:
        """The memory it has."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def server(store: str, *, settings: dict[str, str] | None = None) -> Iterator[Server]:
    """A server on a store and a free port, without limits on how often it is asked; stopped at the end."""
    own = {"LAMINA_SERVER__RATE_PER_S": "0", "LAMINA_SERVER__PAGE": "false", "LAMINA_SERVER__MCP": "false"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LAMINA_")}
    command = [sys.executable, "-c", _START, "serve", "--store", store, "--port", "0", "--json"]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**kept, **own, **(settings or {})}
        ) as process,
    ):
        try:
            assert process.stdout is not None
            told = ""
            while not told.endswith("}\n"):
                line = process.stdout.readline()
                if not line:
                    log.seek(0)
                    raise RuntimeError(f"the server did not start: {log.read()}")
                told += line
            yield Server(url=json.loads(told)["url"], process=process)
        finally:
            process.terminate()
            process.wait(30)
