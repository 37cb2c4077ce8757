"""The blocking twin, for scripts and notebooks: the same verbs, no `await`.

One event loop runs in a thread of its own for as long as the app is open; every call is handed to it. The verbs are
the async ones, wrapped: their signatures, types and docstrings are the same by construction.
"""

from lamina.sync.app import SyncApp, open
from lamina.sync.memory import SyncHierarchy, SyncMemory

__all__ = ["SyncApp", "SyncHierarchy", "SyncMemory", "open"]
