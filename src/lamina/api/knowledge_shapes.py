"""What requests about knowledge and references hold, and what their answers look like."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from lamina.api.shapes import Body, Limit
from lamina.knowledge.types import Category, Origin, ReferenceType

_CONTENT = "Never deploy on a Friday."
_LOCATION = "https://wiki.example.com/deploys"


class KnowledgeToSave(Body):
    """What shall be known."""

    content: str = Field(examples=[_CONTENT])
    category: Category = Field(examples=["rule"])
    tags: list[str] | None = Field(default=None, description="In the place of those there are.", examples=[["deploy"]])
    source: str | None = Field(default=None, description="Where it comes from.", examples=["team meeting"])
    origin: Origin = Field(default=Origin.AGENT, description="Who said it, which decides how far prompts trust it.")


class KnowledgeToFind(Body):
    """A search in what is known."""

    query: str = Field(examples=["When may we deploy?"])
    category: Category | None = Field(default=None, description="Only entries of this category.")
    limit: Limit = Field(default=None, examples=[5])
    threshold: float | None = Field(default=None, description="The least score, from 0 to 1.")


class StoredKnowledge(BaseModel):
    """The latest version of what is known under a key."""

    key: str = Field(examples=["deploy-rule"])
    category: Category = Field(examples=["rule"])
    content: str = Field(examples=[_CONTENT])
    tags: list[str] = Field(examples=[["deploy"]])
    source: str | None = Field(examples=["team meeting"])
    origin: Origin = Field(examples=["agent"])
    version: int = Field(examples=[1])
    relevance: float = Field(description="Starts at 1, rises with use.", examples=[1.0])
    use_count: int = Field(examples=[0])
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None


class SavedKnowledge(BaseModel):
    """What a save did."""

    entry: StoredKnowledge
    outcome: Literal["created", "changed", "annotated", "unchanged"]
    redacted: bool = Field(description="Whether a secret was hidden.", examples=[False])


class FoundEntry(StoredKnowledge):
    """An entry that a search found."""

    score: float = Field(description="From 0 to 1.", examples=[0.71])
    explain: dict[str, float] = Field(description="The parts that add up to the score.")


class FoundKnowledge(BaseModel):
    """What a search found, best first."""

    results: list[FoundEntry]


class KnowledgePage(BaseModel):
    """One page of what is known, newest key first."""

    entries: list[StoredKnowledge]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")
    total_count: int = Field(examples=[1])


class VersionOfKnowledge(BaseModel):
    """One version of an entry."""

    version: int = Field(examples=[1])
    category: Category = Field(examples=["rule"])
    content: str = Field(examples=[_CONTENT])
    tags: list[str] = Field(examples=[["deploy"]])
    source: str | None = Field(examples=["team meeting"])
    origin: Origin = Field(examples=["agent"])
    saved_at: datetime


class KnowledgeHistory(BaseModel):
    """Every version of an entry, newest first."""

    versions: list[VersionOfKnowledge]


class ReferenceToSave(Body):
    """Something outside that is worth knowing about."""

    type: ReferenceType = Field(examples=["wiki"])
    location: str = Field(description="Where it is.", examples=[_LOCATION])
    summary: str = Field(description="What is there.", examples=["How we deploy, and who decides."])
    metadata: dict[str, Any] | None = Field(default=None, examples=[{"owner": "platform"}])
    origin: Origin = Field(default=Origin.AGENT, description="Who said it.")


class ReferenceToFind(Body):
    """A search among references."""

    query: str = Field(examples=["Where is written how we deploy?"])
    type: ReferenceType | None = Field(default=None, description="Only references of this type.")
    limit: Limit = Field(default=None, examples=[5])
    threshold: float | None = Field(default=None, description="The least score, from 0 to 1.")


class StoredReference(BaseModel):
    """Something outside, by name."""

    name: str = Field(examples=["deploy-guide"])
    type: ReferenceType = Field(examples=["wiki"])
    location: str = Field(examples=[_LOCATION])
    summary: str = Field(examples=["How we deploy, and who decides."])
    metadata: dict[str, Any] = Field(examples=[{"owner": "platform"}])
    origin: Origin = Field(examples=["agent"])
    created_at: datetime
    updated_at: datetime


class FoundReference(StoredReference):
    """A reference that a search found."""

    score: float = Field(description="From 0 to 1.", examples=[0.64])
    explain: dict[str, float] = Field(description="The parts that add up to the score.")


class FoundReferences(BaseModel):
    """What a search found, best first."""

    results: list[FoundReference]


class ReferencePage(BaseModel):
    """One page of references, newest name first."""

    references: list[StoredReference]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")
    total_count: int = Field(examples=[1])
