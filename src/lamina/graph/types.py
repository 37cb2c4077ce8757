"""The nouns of the graph: triples, where they come from, who may see them, and what a walk through them finds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Predicate(StrEnum):
    """Every relation there is. The set is closed: a free choice of words would never join."""

    RELATED_TO = "related_to"
    """They stand in one sentence; nothing more is known."""
    IS = "is"
    SAME_AS = "same_as"
    SIMILAR_TO = "similar_to"
    HAS = "has"
    OWNS = "owns"
    PART_OF = "part_of"
    CONTAINS = "contains"
    DEPENDS_ON = "depends_on"
    USES = "uses"
    REPLACES = "replaces"
    CREATED = "created"
    WORKS_AT = "works_at"
    WORKS_ON = "works_on"
    WORKS_WITH = "works_with"
    MANAGES = "manages"
    KNOWS = "knows"
    LIVES_IN = "lives_in"
    LOCATED_IN = "located_in"
    PREFERS = "prefers"
    DISLIKES = "dislikes"
    CAUSED_BY = "caused_by"
    RESOLVED_BY = "resolved_by"
    FOLLOWS = "follows"
    IN_SESSION = "in_session"
    LEARNED_FROM = "learned_from"
    REFLECTS_ON = "reflects_on"


STATED = 1.0
"""The weight of a triple that somebody stated."""
SEEN_TOGETHER = 0.3
"""The weight of a triple that only stands for two names in one sentence."""


class Direction(StrEnum):
    """Which way a triple is followed."""

    OUT = "out"
    """From subject to object."""
    IN = "in"
    """From object to subject."""
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a triple comes from: `kind` and `key` name a text in its room, or something a caller chose."""

    kind: str
    key: str
    session_key: str | None = None
    """The session it was said in, where that is known."""
    scope: str = ""
    """Who may see it: a scope's name, or empty for everybody in the tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triple:
    """A subject, a predicate and an object, as they were written."""

    subject: str
    predicate: Predicate
    object: str
    source: Source
    recorded_at: datetime
    valid_from: datetime | None = None
    """When it began to be true; None where nobody said so."""
    valid_until: datetime | None = None
    """When it stopped being true."""
    weight: float = STATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What a caller may see or change: what belongs to the whole tenant, to these scopes, and to this session.

    A session's own texts are seen within that session only; everything else stays visible while one is active.
    """

    scopes: frozenset[str] = frozenset()
    session_key: str | None = None
    shared: bool = True
    """Whether what belongs to the whole tenant is within reach; not for somebody who may only change their own."""

    @classmethod
    def of(cls, scopes: Iterable[str] = (), session_key: str | None = None, *, shared: bool = True) -> "Reach":
        """A reach from any collection of scopes."""
        return cls(scopes=frozenset(scopes), session_key=session_key, shared=shared)

    @property
    def visible(self) -> list[str]:
        """The scopes a query names, in a fixed order."""
        session = () if self.session_key is None else (session_scope(self.session_key),)
        everybody = ("",) if self.shared else ()
        return sorted({*everybody, *self.scopes, *session})


EVERYBODY = Reach()
"""What is visible to everybody in the tenant."""


def session_scope(session_key: str) -> str:
    """The scope of what belongs to one session and nobody else."""
    return f"session_key:{session_key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An entity beside another, and the triple that joins them."""

    name: str
    """The entity as it was written."""
    direction: Direction
    """`out` when the triple leads to it, `in` when it leads away from it."""
    triple: Triple


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """An entity that a walk came to: over which triple, from where, after how many steps."""

    name: str
    depth: int
    came_from: str
    direction: Direction
    triple: Triple


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """Where a walk led, nearest first. `complete` is False when a bound cut it short."""

    start: str
    visits: tuple[Visit, ...]
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """An entity as a caller sees it: its spellings and aliases, and how often it occurs within reach."""

    name: str
    """The spelling that occurs most."""
    spellings: tuple[str, ...]
    aliases: tuple[str, ...]
    triples: int
    mentions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedTriple:
    """A triple that an expansion came to; `via` is the entity it started from."""

    triple: Triple
    via: str
    steps: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedText:
    """A stored text that names an entity of an expansion."""

    source: Source
    text: str
    via: str
    steps: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """What the graph adds to some hits: triples and texts, best first, within a budget."""

    entities: tuple[str, ...] = ()
    """Where the walk began."""
    triples: tuple[RelatedTriple, ...] = ()
    texts: tuple[RelatedText, ...] = ()
    tokens: int = 0
    left_out: int = 0
    """Triples and texts that were found but did not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTriple:
    """A triple read from a text, before it is stored."""

    subject: str
    predicate: Predicate
    object: str
    weight: float = STATED
    valid_from: datetime | None = None
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What was read from one text: the entities it names and how they are related."""

    names: tuple[str, ...] = ()
    triples: tuple[FoundTriple, ...] = field(default=())
    read_by: str | None = None
    """The extractor that stood in for the one that was asked; the text is read again later."""
