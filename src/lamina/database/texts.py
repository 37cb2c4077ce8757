"""What rooms that keep texts offer to rooms that derive something from them, without knowing each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lamina.database.link import Link


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredText:
    """A text as its room has it now, and who may see it."""

    row: int
    tenant: str
    key: str
    text: str
    scope: str = ""
    """Who may see it: the room's name for a scope, or empty for everybody in the tenant."""
    expires_at: int | None = None
    """When it is over, in microseconds."""


class StoredTexts(Protocol):
    """A room's texts, all of one kind."""

    @property
    def kind(self) -> str:
        """What the room calls them: `memory`, `knowledge`."""
        ...

    def after(self, link: Link, row: int, *, limit: int, tenant: str | None = None) -> list[StoredText]:
        """Texts above a row, ascending; of every tenant unless one is named."""
        ...

    def read(self, link: Link, tenant: str, keys: Sequence[str], *, hold: bool = False) -> list[StoredText]:
        """Those of the keys that exist. `hold` keeps them until the commit, and passes over what others hold."""
        ...


RemovedListener = Callable[[Link, str, str, Sequence[str]], object]
"""Called with tenant, kind and keys inside the transaction that removes the texts; what it raises undoes it."""
