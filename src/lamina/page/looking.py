"""Whose memories somebody looks at, and through which filter; as long as the page is open, and in its address."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Self
from urllib.parse import urlencode

from lamina.memory.types import IDENTIFIER_NAMES, Identifiers, MemoryLayer

_PLACES: Final = ("project_id", "team_id", "org_id", "company_id")
"""Each belongs to the next one, so whoever names one leaves the others to the hierarchy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """A search or a listing of memories that has not been made yet."""

    identifiers: Identifiers = field(default_factory=Identifiers)
    layer: MemoryLayer | None = None
    """None for every layer within reach."""
    query: str = ""
    tags: tuple[str, ...] = ()
    weak: bool = False
    """Whether hits are shown that no agent would get."""
    choosing: bool = False
    """Whether somebody or some place is being chosen, beside those chosen already."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        """What an address asks for; a layer there is not counts as none."""
        named = {name: query[name] for name in IDENTIFIER_NAMES if query.get(name)}
        layer = query.get("layer")
        return cls(
            identifiers=Identifiers(**named),
            layer=MemoryLayer(layer) if layer in set(MemoryLayer) else None,
            query=query.get("q", ""),
            tags=tuple(filter(None, query.get("tags", "").split("\n"))),
            weak=query.get("weak") == "1",
        )

    @property
    def address(self) -> str:
        """Where the same is to be seen again."""
        named = {
            **self.identifiers.to_dict(),
            "layer": self.layer.value if self.layer else "",
            "q": self.query,
            "tags": "\n".join(self.tags),
            "weak": "1" if self.weak else "",
        }
        given = urlencode({name: value for name, value in named.items() if value})
        return f"/memories?{given}" if given else "/memories"

    def as_well(self, layer: MemoryLayer, identifiers: Identifiers) -> Self:
        """The same with somebody chosen: a person beside a place, a place instead of another."""
        chosen, kept = identifiers.to_dict(), self.identifiers.to_dict()
        if "user_id" in chosen and chosen["user_id"] != kept.get("user_id"):
            kept = {name: value for name, value in kept.items() if name not in ("agent_id", "session_id")}
        if any(name in chosen for name in _PLACES):
            kept = {name: value for name, value in kept.items() if name not in _PLACES}
        return replace(
            self,
            identifiers=Identifiers(**{**kept, **chosen}),
            layer=layer,
            query="" if self.choosing else self.query,
            choosing=False,
        )

    def within(self, layer: MemoryLayer | None) -> Self:
        """The same of one layer, or of all within reach."""
        return replace(self, layer=layer, choosing=False)

    def choose(self) -> Self:
        """The same with somebody to be chosen as well."""
        return replace(self, query="", choosing=True)

    def without(self, name: str) -> Self:
        """The same without an identifier, and without a layer, which may have needed it."""
        kept = {one: value for one, value in self.identifiers.to_dict().items() if one != name}
        if name == "user_id":
            kept = {one: value for one, value in kept.items() if one in _PLACES}
        return replace(self, identifiers=Identifiers(**kept), layer=None)
