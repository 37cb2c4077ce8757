"""What requests for context hold, and what their answers look like."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from lamina.api.shapes import NOBODY, Body, IdentifiersBody

_LAYERS = "The layers of context to search: {}."
_STORED = "user_knowledge, skill_patterns, external_knowledge and agent_learnings without"
_TURN = "those of a model's turn without"


class _Asked(Body):
    identifiers: IdentifiersBody = Field(default=NOBODY, description="Who is asking.", examples=[{"user_id": "ann"}])
    session_key: str | None = Field(default=None, description="The conversation it is for.", examples=["telegram:42:7"])


class ContextToRetrieve(_Asked):
    """What is known for a query."""

    query: str = Field(examples=["How do we deploy?"])
    layers: list[str] | None = Field(
        default=None, description=_LAYERS.format(_STORED), examples=[["user_knowledge", "agent_learnings"]]
    )
    max_per_layer: int | None = Field(default=None, description="Items of each layer at most.")


class PromptToAssemble(_Asked):
    """The prompt a model should see."""

    base: str = Field(
        default="", description="The prompt of the application.", examples=["You are a helpful assistant."]
    )
    query: str = Field(description="What the user said.", examples=["How do we deploy?"])
    layers: list[str] | None = Field(default=None, description=_LAYERS.format(_TURN))
    budget_tokens: int | None = Field(default=None, description="Tokens of what is added; 0 is unlimited.")
    memory_budget_tokens: int | None = Field(default=None, description="Tokens of notes; 0 is unlimited.")
    max_per_layer: int | None = Field(default=None, description="Items of each layer at most.")


class TurnToAssemble(Body):
    """Everything a model is sent for its turn in a conversation."""

    session_key: str = Field(examples=["telegram:42:7"])
    base: str = Field(
        default="", description="The prompt of the application.", examples=["You are a helpful assistant."]
    )
    query: str | None = Field(default=None, description="The user's latest message without.")
    identifiers: IdentifiersBody = Field(default=NOBODY, description="Who is asking.", examples=[{"user_id": "ann"}])
    budget_tokens: int | None = Field(default=None, description="Tokens of what is added; 0 is unlimited.")
    memory_budget_tokens: int | None = Field(default=None, description="Tokens of notes; 0 is unlimited.")
    message_budget_tokens: int | None = Field(default=None, description="Tokens of messages; 0 is unlimited.")


class ItemAnswer(BaseModel):
    """Something that may enter a prompt."""

    layer: str = Field(examples=["user_knowledge"])
    key: str = Field(examples=["deploy"])
    content: str = Field(examples=["Deploys run on Fridays at noon."])
    score: float = Field(examples=[0.74])
    signals: dict[str, float] = Field(description="The score by signal.")
    origin: str = Field(description="Who it comes from.", examples=["user"])
    trust: str = Field(examples=["high"])
    category: str | None
    location: str | None
    session_key: str | None
    at: datetime | None
    suspicious: list[str] = Field(description="Why it reads like instructions, if it does.")


class FailureAnswer(BaseModel):
    """A layer that gave nothing, or not everything."""

    layer: str
    reason: str = Field(examples=["timed out"])
    error: str


class ContextAnswer(BaseModel):
    """What was found, by layer, best first."""

    items: dict[str, list[ItemAnswer]]
    keywords: list[str] = Field(examples=[["deploy"]])
    failures: list[FailureAnswer]
    total_count: int = Field(examples=[1])


class ReceiptLine(BaseModel):
    """One item that was found; `cut_by` says why it is not in the prompt."""

    layer: str
    key: str
    score: float
    signals: dict[str, float]
    tokens: int
    origin: str
    trust: str
    suspicious: list[str]
    cut_by: str | None


class ReceiptSectionAnswer(BaseModel):
    """One section of the prompt."""

    layer: str
    name: str = Field(examples=["User Knowledge"])
    tokens: int
    allowed: int
    items: int


class ReceiptAnswer(BaseModel):
    """What a prompt was made of. It names items and never repeats their text."""

    id: str
    at: datetime
    session_key: str | None
    user_id: str | None = Field(description="The user the prompt was for.")
    query: str
    keywords: list[str]
    budget_tokens: int
    base_tokens: int
    added_tokens: int
    total_tokens: int
    unchanged_tokens: int = Field(description="Tokens that are the same as in the turn before.")
    memory_budget_tokens: int
    memory_tokens: int = Field(description="Tokens of notes.")
    unchanged_memory_tokens: int
    sections: list[ReceiptSectionAnswer]
    injected: list[ReceiptLine]
    cut: list[ReceiptLine]
    failures: list[FailureAnswer]
    elapsed_ms: float
    error: str | None


class ReceiptsAnswer(BaseModel):
    """Receipts, the newest first."""

    receipts: list[ReceiptAnswer]


class PromptAnswer(BaseModel):
    """The prompt, what is in it, and how it came about."""

    text: str = Field(examples=["You are a helpful assistant.\n\n## User Knowledge\n- deploy: Fridays at noon"])
    items: list[ItemAnswer] = Field(description="What was added, in the order of the prompt.")
    receipt: ReceiptAnswer


class TurnAnswer(BaseModel):
    """What to send to a model."""

    messages: list[dict[str, Any]] = Field(
        description="The system prompt and the conversation, in the format of OpenAI's chat completions.",
        examples=[[{"role": "system", "content": "You are…"}, {"role": "user", "content": "How do we deploy?"}]],
    )
    tokens: int = Field(examples=[91])
    receipt: ReceiptAnswer
