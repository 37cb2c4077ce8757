"""Imports the modules named as arguments and prints, as JSON, what that did.

Run as a script in a process of its own. `loaded` are the top-level packages in memory afterwards; `effects`
the environment reads, opened files, connections and started processes that the package's own code asked for.
What other packages do while they are imported is theirs.
"""

import importlib
import json
import os
import sys
from collections.abc import Iterator, MutableMapping
from types import FrameType

effects: list[str] = []
STANDARD_LIBRARY = os.path.dirname(os.__file__)
WATCHED = ("open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "sqlite3.connect")


def asked_by_lamina(frame: FrameType | None) -> bool:
    """Whether the nearest caller outside the standard library is a file of the package."""
    while frame is not None:
        file = frame.f_code.co_filename
        if "importlib" in file:
            return False
        if "site-packages" in file or not (file.startswith((STANDARD_LIBRARY, "<")) or file == __file__):
            return f"{os.sep}lamina{os.sep}" in file and "site-packages" not in file
        frame = frame.f_back
    return False


class WatchedEnvironment(MutableMapping[str, str]):
    """The environment, noting every read."""

    def __init__(self, real: MutableMapping[str, str]) -> None:
        self._real = real

    def __getitem__(self, name: str) -> str:
        if asked_by_lamina(sys._getframe(1)):
            effects.append(f"environment {name}")
        return self._real[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._real[name] = value

    def __delitem__(self, name: str) -> None:
        del self._real[name]

    def __iter__(self) -> Iterator[str]:
        if asked_by_lamina(sys._getframe(1)):
            effects.append("environment")
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if event in WATCHED and asked_by_lamina(sys._getframe(1)):
        effects.append(f"{event} {arguments[0]}")


if __name__ == "__main__":
    setattr(os, "environ", WatchedEnvironment(os.environ))  # noqa: B010 -- replaced on purpose
    sys.addaudithook(watch)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    print(json.dumps({"loaded": sorted({name.partition(".")[0] for name in sys.modules}), "effects": effects}))
