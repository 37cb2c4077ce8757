"""What requests about the graph hold, and what their answers look like."""

from datetime import datetime

from pydantic import BaseModel, Field

from lamina.api.shapes import NOBODY, Body, IdentifiersBody
from lamina.graph.types import Direction, Predicate


class SourceToName(Body):
    """Where a triple comes from; the same source can have several, and they can be removed together."""

    kind: str = Field(examples=["import"])
    key: str = Field(examples=["org-chart-2026"])


class TripleToAdd(Body):
    """Something that is true."""

    subject: str = Field(examples=["billing service"])
    predicate: Predicate = Field(examples=["depends_on"])
    object: str = Field(examples=["PostgreSQL"])
    valid_from: datetime | None = Field(default=None, description="When it began to be true.")
    valid_until: datetime | None = Field(default=None, description="When it stopped being true.")
    source: SourceToName | None = Field(default=None, description="One of its own without.")
    layer: str | None = Field(
        default=None,
        description="Who may see it: those the identifiers name in this layer; everybody in the tenant without.",
        examples=["project"],
    )
    identifiers: IdentifiersBody = Field(default=NOBODY, examples=[{"project_id": "web"}])


class TriplesToEnd(Body):
    """Something that is no longer true."""

    subject: str = Field(examples=["billing service"])
    predicate: Predicate = Field(examples=["depends_on"])
    object: str | None = Field(default=None, description="Only with this object.", examples=["PostgreSQL"])
    until: datetime | None = Field(default=None, description="Since when; now without.")
    identifiers: IdentifiersBody = Field(default=NOBODY, examples=[{"project_id": "web"}])


class AliasBody(Body):
    """Another name of an entity."""

    name: str = Field(examples=["PostgreSQL"])
    alias: str = Field(examples=["Postgres"])


class SourceAnswer(BaseModel):
    """Where a triple comes from."""

    kind: str = Field(examples=["manual"])
    key: str
    session_key: str | None = None
    scope: str | None = Field(default=None, description="Who may see it; everybody without.")


class TripleAnswer(BaseModel):
    """A subject, a predicate and an object."""

    subject: str = Field(examples=["billing service"])
    predicate: Predicate = Field(examples=["depends_on"])
    object: str = Field(examples=["PostgreSQL"])
    weight: float = Field(description="1 where it was stated, less where names only stand together.", examples=[1.0])
    valid_from: datetime | None
    valid_until: datetime | None
    recorded_at: datetime
    source: SourceAnswer


class TriplesAnswer(BaseModel):
    """Triples, stated ones first, then the newest."""

    triples: list[TripleAnswer]


class EntityAnswer(BaseModel):
    """Somebody or something."""

    name: str = Field(description="The spelling that occurs most.", examples=["PostgreSQL"])
    spellings: list[str] = Field(examples=[["PostgreSQL", "postgresql"]])
    aliases: list[str] = Field(examples=[["Postgres"]])
    triples: int = Field(examples=[3])
    mentions: int = Field(examples=[5])


class FoundEntityAnswer(BaseModel):
    """The entity, or null where nothing within reach names it."""

    entity: EntityAnswer | None


class NeighbourAnswer(BaseModel):
    """An entity one step away."""

    name: str
    direction: Direction
    triple: TripleAnswer


class NeighboursAnswer(BaseModel):
    """The entities one step away, over the best triple each."""

    neighbours: list[NeighbourAnswer]


class VisitAnswer(BaseModel):
    """A step of a walk."""

    name: str
    depth: int = Field(description="Steps from the start.", examples=[1])
    came_from: str
    direction: Direction
    triple: TripleAnswer


class WalkAnswer(BaseModel):
    """Where a walk led, nearest first."""

    start: str
    visits: list[VisitAnswer]
    complete: bool = Field(description="False where a bound cut it short.")


class PathAnswer(BaseModel):
    """One of the shortest ways, or null where there is none."""

    path: list[VisitAnswer] | None


class EndedAnswer(BaseModel):
    """How many triples were still open."""

    ended: int = Field(examples=[1])


class RemovedAnswer(BaseModel):
    """How many triples there were."""

    removed: int = Field(examples=[1])


class SourceRemovedAnswer(BaseModel):
    """Whether there was anything from this source."""

    removed: bool


class AliasRemovedAnswer(BaseModel):
    """Whether it was an alias."""

    removed: bool
