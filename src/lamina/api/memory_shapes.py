"""What requests about memories hold, and what their answers look like."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from pydantic import BaseModel, Field

from lamina.api.shapes import NOBODY, Body, IdentifiersBody, Limit, Metadata
from lamina.memory.types import MemoryLayer, NewMemory, Source
from lamina.memory.validate import check_identifiers


class SourceBody(Body):
    """Where a memory comes from."""

    kind: str = "manual"
    conversation: str | None = None
    sequence: int | None = None
    author: str | None = None
    said_at: datetime | None = None
    reference: str | None = None

    def to_source(self) -> Source:
        """The same for the verbs."""
        return Source(**self.__dict__)


class MemoryToAdd(Body):
    """A memory to be stored."""

    content: str = Field(description="What to remember.", examples=["Prefers dark mode"])
    layer: str = Field(
        default="user", description="agent, user, session, project, team, org or company.", examples=["user"]
    )
    identifiers: IdentifiersBody = Field(
        default=NOBODY, description="Whose memory it is.", examples=[{"user_id": "ann"}]
    )
    metadata: Metadata = Field(default={}, examples=[{"topic": "editor"}])
    tags: list[str] = Field(default=[], examples=[["ui"]])
    source: SourceBody | None = None
    expires_at: datetime | None = Field(default=None, description="When it is forgotten; never without.")

    def arguments(self) -> "MemoryArguments":
        """What it says apart from whose it is, for the verbs."""
        return {
            "content": self.content,
            "layer": self.layer,
            "metadata": self.metadata,
            "tags": self.tags,
            "source": None if self.source is None else self.source.to_source(),
            "expires_at": self.expires_at,
        }

    def to_memory(self, id: str | None, identifiers: Mapping[str, str]) -> NewMemory:
        """The same as one of several."""
        return NewMemory(id=id, identifiers=check_identifiers(**identifiers), **self.arguments())


class MemoryArguments(TypedDict):
    """What a verb takes of a new memory."""

    content: str
    layer: str
    metadata: dict[str, Any]
    tags: list[str]
    source: Source | None
    expires_at: datetime | None


class MemoriesToAdd(Body):
    """Memories to be stored together."""

    memories: list[MemoryToAdd] = Field(min_length=1, max_length=1000)


class MemoryChange(Body):
    """What shall be different about a memory."""

    content: str | None = Field(default=None, examples=["Prefers light mode since May"])
    metadata: dict[str, Any] | None = Field(default=None, description="Merged into what is there.")
    tags: list[str] | None = Field(default=None, description="In the place of those there are.")
    expires_at: datetime | None = Field(default=None, description="null takes the moment away, absent leaves it.")
    identifiers: IdentifiersBody = Field(default=NOBODY, description="Who changes it.", examples=[{"user_id": "ann"}])


class MemoryToFind(Body):
    """A search."""

    query: str = Field(examples=["Which theme does she like?"])
    identifiers: IdentifiersBody = Field(default=NOBODY, description="Who is asking.", examples=[{"user_id": "ann"}])
    layers: list[str] | None = Field(default=None, description="Only these layers.", examples=[["user"]])
    limit: Limit = Field(default=None, examples=[5])
    threshold: float | None = Field(default=None, description="The least score, from 0 to 1.")
    tags: list[str] | None = Field(default=None, description="Only memories with any of these tags.")
    where: dict[str, Any] | None = Field(
        default=None, description="A filter on metadata.", examples=[{"topic": {"in": ["editor", "desktop"]}}]
    )
    explain: bool = Field(default=False, description="Whether each hit shows its score by signal.")


class StoredMemory(BaseModel):
    """A memory as it is stored."""

    id: str = Field(examples=["01a1e027-1d08-7722-8df3-f39714a0d2fe"])
    content: str = Field(examples=["Prefers dark mode"])
    layer: MemoryLayer = Field(examples=["user"])
    identifiers: dict[str, str] = Field(examples=[{"user_id": "ann"}])
    metadata: dict[str, Any] = Field(examples=[{"topic": "editor"}])
    tags: list[str] = Field(examples=[["ui"]])
    source: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    version: int = Field(examples=[1])


class AddedMemory(BaseModel):
    """What adding did."""

    memory: StoredMemory
    embedding_generated: bool = Field(description="Whether it has a vector.", examples=[True])
    cache_hit: bool = Field(description="Whether the embedder was spared.", examples=[False])


class AddedMemories(BaseModel):
    """What adding several did, in their order."""

    memories: list[AddedMemory]


class ChangedMemory(BaseModel):
    """What a change did."""

    memory: StoredMemory
    embedding_regenerated: bool = Field(description="False where the content stayed.", examples=[True])


class MemoryPage(BaseModel):
    """One page of a layer's memories, newest first."""

    memories: list[StoredMemory]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")
    total_count: int = Field(examples=[1])


class MemoryState(BaseModel):
    """One state of a memory."""

    version: int = Field(examples=[1])
    content: str = Field(examples=["Prefers dark mode"])
    metadata: dict[str, Any]
    tags: list[str]
    expires_at: datetime | None
    changed_at: datetime


class MemoryHistory(BaseModel):
    """Every state of a memory, oldest first."""

    revisions: list[MemoryState]


class FoundMemory(StoredMemory):
    """A memory that a search found."""

    score: float = Field(description="Relevance, from 0 to 1.", examples=[0.83])
    explain: dict[str, float] | None = Field(default=None, description="The score by signal, where asked for.")


class LeftOut(BaseModel):
    """A hit that says the same as a stronger one."""

    id: str
    layer: MemoryLayer
    score: float
    kept_id: str


class LayerProblem(BaseModel):
    """A layer that failed while others answered."""

    layer: MemoryLayer
    code: str
    message: str


class FoundMemories(BaseModel):
    """What a search found."""

    results: list[FoundMemory]
    total_count: int = Field(description="Every hit above the threshold, before the limit.", examples=[1])
    searched_layers: list[MemoryLayer] = Field(examples=[["user"]])
    duplicates: list[LeftOut]
    warnings: list[LayerProblem]
