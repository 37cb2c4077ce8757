"""Lamina, the memory and context layer for LLM agents.

    import lamina

    async with lamina.open("lamina.db") as app:
        await app.memory.add("Prefers dark mode", layer="user", user_id="u1")
        hits = await app.memory.search("which theme?", user_id="u1")

`lamina.sync.open` is the same without `await`. Importing this package reads nothing and imports next to nothing:
names are loaded when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.app import App, open
    from lamina.config import Settings
    from lamina.errors import LaminaError
    from lamina.memory.types import Identifiers, MemoryEntry, MemoryLayer, NewMemory, SearchResults, Source

__version__ = "0.1.0"

__all__ = [
    "App",
    "Identifiers",
    "LaminaError",
    "MemoryEntry",
    "MemoryLayer",
    "NewMemory",
    "SearchResults",
    "Settings",
    "Source",
    "__version__",
    "open",
]

_HOMES = {
    "App": "lamina.app",
    "Identifiers": "lamina.memory.types",
    "LaminaError": "lamina.errors",
    "MemoryEntry": "lamina.memory.types",
    "MemoryLayer": "lamina.memory.types",
    "NewMemory": "lamina.memory.types",
    "SearchResults": "lamina.memory.types",
    "Settings": "lamina.config",
    "Source": "lamina.memory.types",
    "open": "lamina.app",
}


def __getattr__(name: str) -> Any:
    if name == "sync":
        return importlib.import_module("lamina.sync")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'lamina' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "sync"])
