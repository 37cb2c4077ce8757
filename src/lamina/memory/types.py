"""The nouns of memory: layers, identifiers, entries, results. Not for verbs: those are in `service`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import TypedDict, overload

from lamina.errors import InvalidLayerError, MissingIdentifierError
from lamina.kernel.checks import JsonValue as JsonValue

Metadata = Mapping[str, JsonValue]


class MemoryLayer(StrEnum):
    """The seven scopes a memory can belong to, strongest precedence first."""

    AGENT = "agent"
    USER = "user"
    SESSION = "session"
    PROJECT = "project"
    TEAM = "team"
    ORG = "org"
    COMPANY = "company"

    @property
    def precedence(self) -> int:
        """1 for agent, which wins, to 7 for company."""
        return _PRECEDENCE[self]

    @property
    def required(self) -> tuple[str, ...]:
        """The identifiers that address one scope of this layer."""
        return _REQUIRED[self]

    @classmethod
    def parse(cls, value: "MemoryLayer | str", *, operation: str | None = None) -> "MemoryLayer":
        """The layer named `value`; raises InvalidLayerError that lists the layers there are."""
        try:
            return cls(value)
        except ValueError:
            names = [layer.value for layer in cls]
            raise InvalidLayerError(
                f"There is no memory layer {value!r}; choose one of {', '.join(names)}.",
                operation=operation,
                details={"layer": str(value), "layers": names},
            ) from None


_PRECEDENCE = {layer: rank for rank, layer in enumerate(MemoryLayer, start=1)}
_REQUIRED: dict[MemoryLayer, tuple[str, ...]] = {
    MemoryLayer.AGENT: ("agent_id", "user_id"),
    MemoryLayer.USER: ("user_id",),
    MemoryLayer.SESSION: ("user_id", "session_id"),
    MemoryLayer.PROJECT: ("project_id",),
    MemoryLayer.TEAM: ("team_id",),
    MemoryLayer.ORG: ("org_id",),
    MemoryLayer.COMPANY: ("company_id",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identifiers:
    """Who is asking, or whom a memory belongs to."""

    agent_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    project_id: str | None = None
    team_id: str | None = None
    org_id: str | None = None
    company_id: str | None = None

    def to_dict(self) -> dict[str, str]:
        """The identifiers that are set."""
        return {name: value for name in IDENTIFIER_NAMES if (value := getattr(self, name)) is not None}

    def for_layer(self, layer: MemoryLayer, *, operation: str | None = None) -> "Identifiers":
        """Only those that address `layer`; raises MissingIdentifierError that names what is missing."""
        given = self.to_dict()
        missing = [name for name in layer.required if name not in given]
        if missing:
            raise MissingIdentifierError(
                f"The {layer} layer needs {' and '.join(missing)}.",
                operation=operation,
                details={"layer": layer.value, "missing": missing, "required": list(layer.required)},
            )
        return Identifiers(**{name: given[name] for name in layer.required})


class IdentifierArguments(TypedDict, total=False):
    """The identifiers every verb takes by name."""

    agent_id: str | None
    user_id: str | None
    session_id: str | None
    project_id: str | None
    team_id: str | None
    org_id: str | None
    company_id: str | None


IDENTIFIER_NAMES: tuple[str, ...] = tuple(entry.name for entry in fields(Identifiers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a memory comes from. Ranking uses conversation, sequence, author and time when they are given."""

    kind: str = "manual"
    """`conversation`, `tool_result`, `knowledge_sync`, `manual` or `import`."""
    conversation: str | None = None
    sequence: int | None = None
    author: str | None = None
    said_at: datetime | None = None
    reference: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One addressable partition of a tenant's memories: a layer and exactly the identifiers it needs."""

    tenant: str
    layer: MemoryLayer
    identifiers: Identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """One memory."""

    id: str
    content: str
    layer: MemoryLayer
    identifiers: Identifiers
    metadata: Metadata = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    source: Source | None = None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be added with others. `id` and `created_at` are for imports; leave them out otherwise."""

    content: str
    layer: MemoryLayer | str = MemoryLayer.USER
    identifiers: Identifiers = field(default_factory=Identifiers)
    metadata: Metadata = field(default_factory=dict)
    tags: Sequence[str] = ()
    source: Source | None = None
    expires_at: datetime | None = None
    id: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddResult:
    """What `add` did. `embedding_generated`: the entry has a vector. `cache_hit`: the embedder was spared."""

    memory: MemoryEntry
    embedding_generated: bool
    cache_hit: bool

    @property
    def id(self) -> str:
        return self.memory.id


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateResult:
    """What `update` did. `embedding_regenerated` is false when the content did not change."""

    memory: MemoryEntry
    embedding_regenerated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteResult:
    """Deleting is idempotent: `success` also for an entry that was not there."""

    success: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDeleteResult:
    """`deleted` entries are gone; `failed` ids could not be deleted, for the reason in `errors`."""

    deleted: int
    failed: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A memory found. `score` is a calibrated relevance in [0, 1]; `explain` its parts by signal, when asked for."""

    memory: MemoryEntry
    score: float
    explain: Mapping[str, float] | None = None

    @property
    def id(self) -> str:
        return self.memory.id

    @property
    def content(self) -> str:
        return self.memory.content

    @property
    def layer(self) -> MemoryLayer:
        return self.memory.layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A hit left out of the results because a stronger one says the same."""

    id: str
    layer: MemoryLayer
    score: float
    kept_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWarning:
    """A layer that failed while the others answered."""

    layer: MemoryLayer
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults(Sequence[SearchHit]):
    """The hits, by precedence then score. A sequence: `results[0]`, `len(results)`, `for hit in results`.

    `total_count` counts every hit above the threshold, before the limit cut any.
    """

    hits: tuple[SearchHit, ...] = ()
    total_count: int = 0
    searched_layers: tuple[MemoryLayer, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    warnings: tuple[LayerWarning, ...] = ()

    @overload
    def __getitem__(self, index: int) -> SearchHit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SearchHit]: ...
    def __getitem__(self, index: int | slice) -> SearchHit | Sequence[SearchHit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing, newest first. `next_cursor` is None on the last page."""

    memories: tuple[MemoryEntry, ...]
    next_cursor: str | None
    total_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One state of an entry in its history, oldest first."""

    version: int
    content: str
    metadata: Metadata
    tags: tuple[str, ...]
    expires_at: datetime | None
    changed_at: datetime
