"""The nouns of knowledge: entries with their versions, external references, rows of the audit log."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal


class Category(StrEnum):
    """What an entry of knowledge is."""

    RULE = "rule"
    PREFERENCE = "preference"
    DEFINITION = "definition"
    FACT = "fact"
    PATTERN = "pattern"
    CORRECTION = "correction"


class Origin(StrEnum):
    """Who said it, which decides how far a prompt trusts it."""

    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    IMPORT = "import"


class ReferenceType(StrEnum):
    """What an external reference points to."""

    DOCUMENTATION = "documentation"
    API = "api"
    WIKI = "wiki"
    REPOSITORY = "repository"
    FILE = "file"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeEntry:
    """The latest version of what is known under a key."""

    key: str
    category: Category
    content: str
    tags: tuple[str, ...]
    source: str | None
    origin: Origin
    version: int
    relevance: float
    """Starts at 1, rises with use, falls with disuse, stays within the settings' bounds."""
    use_count: int
    created_at: datetime
    updated_at: datetime
    """When this version was saved."""
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeVersion:
    """One version of an entry, as it was saved."""

    version: int
    category: Category
    content: str
    tags: tuple[str, ...]
    source: str | None
    origin: Origin
    saved_at: datetime


Outcome = Literal["created", "changed", "annotated", "unchanged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """What a save did: a first version, a further one, new tags or source on the same version, or nothing."""

    entry: KnowledgeEntry
    outcome: Outcome
    redacted: bool = False
    """Whether a secret in the content was hidden before it was stored."""

    @property
    def created(self) -> bool:
        """Whether the key is new."""
        return self.outcome == "created"

    @property
    def changed(self) -> bool:
        """Whether the save made a version."""
        return self.outcome in ("created", "changed")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeHit:
    """An entry that was found. `score` is within [0, 1]; `explain` holds the parts that add up to it."""

    entry: KnowledgeEntry
    score: float
    explain: Mapping[str, float]

    @property
    def key(self) -> str:
        """The key of the entry."""
        return self.entry.key

    @property
    def category(self) -> Category:
        """What the entry is."""
        return self.entry.category

    @property
    def content(self) -> str:
        """The text of the entry's latest version."""
        return self.entry.content


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgePage:
    """Part of a listing; `next_cursor` is None on the last page."""

    entries: tuple[KnowledgeEntry, ...]
    next_cursor: str | None
    total_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Something outside that is worth knowing about, by name."""

    name: str
    type: ReferenceType
    location: str
    summary: str
    metadata: Mapping[str, object]
    origin: Origin
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceHit:
    """A reference that was found. `score` is within [0, 1]; `explain` holds the parts that add up to it."""

    reference: Reference
    score: float
    explain: Mapping[str, float]

    @property
    def name(self) -> str:
        """The name of the reference."""
        return self.reference.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePage:
    """Part of a listing; `next_cursor` is None on the last page."""

    references: tuple[Reference, ...]
    next_cursor: str | None
    total_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One thing that was done."""

    sequence: int
    at: datetime
    action: str
    actor: str
    target: str | None
    session_key: str | None
    details: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """Part of the audit log, newest first; `next_cursor` is None on the last page."""

    rows: tuple[AuditRow, ...]
    next_cursor: str | None
