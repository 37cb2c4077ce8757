"""What requests about conversations hold, and what their answers look like."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from lamina.api.shapes import Body, Limit
from lamina.session.types import Attachment, MessageKind, NewMessage, Part, Role, ToolCall, ToolResult


class ToolCallBody(Body):
    """The model asked for a tool."""

    type: Literal["call"]
    id: str = Field(examples=["call_1"])
    name: str = Field(examples=["list_invoices"])
    arguments: str = Field(default="{}", description="The JSON text as it came.", examples=['{"month": "2026-03"}'])

    def to_part(self) -> Part:
        """The same for the verbs."""
        return ToolCall(id=self.id, name=self.name, arguments=self.arguments)


class ToolResultBody(Body):
    """What a tool gave back."""

    type: Literal["result"]
    call_id: str = Field(description="The id of the call.", examples=["call_1"])
    content: str = Field(examples=["3 invoices"])
    name: str = ""
    is_error: bool = False

    def to_part(self) -> Part:
        """The same for the verbs."""
        return ToolResult(call_id=self.call_id, content=self.content, name=self.name, is_error=self.is_error)


class AttachmentBody(Body):
    """What is known of an image or a file; its bytes are not kept."""

    type: Literal["attachment"]
    media_type: str = Field(examples=["image/png"])
    name: str = ""
    size_bytes: int | None = None

    def to_part(self) -> Part:
        """The same for the verbs."""
        return Attachment(media_type=self.media_type, name=self.name, size_bytes=self.size_bytes)


PartBody = Annotated[ToolCallBody | ToolResultBody | AttachmentBody, Field(discriminator="type")]


class MessageToAppend(Body):
    """Something that was said."""

    role: Role = Field(examples=["user"])
    content: str = Field(default="", examples=["I parked on the second floor."])
    parts: list[PartBody] = Field(default=[], description="Tool calls, tool results and attachments.")
    author: str | None = Field(default=None, description="Who said it, by name.", examples=["Ann"])
    at: datetime | None = Field(default=None, description="When it was said; now without.")
    id: str | None = Field(
        default=None, description="An id of your own: the same id is stored once.", examples=["update-1041"]
    )

    def to_message(self) -> NewMessage:
        """The same for the verbs."""
        return NewMessage(
            role=self.role,
            content=self.content,
            parts=tuple(part.to_part() for part in self.parts),
            author=self.author,
            at=self.at,
            id=self.id,
        )


class MessagesToAppend(Body):
    """What was said, in its order; all of it is stored, or nothing."""

    messages: list[MessageToAppend] = Field(min_length=1)
    user_id: str | None = Field(default=None, description="Whose conversation it is.", examples=["ann"])


class MessagesToRecall(Body):
    """What to find again: by words, by place, by the note made of it, or by several of these."""

    query: str | None = Field(default=None, examples=["Where did I park?"])
    session_key: str | None = Field(default=None, description="The session to look into.", examples=["telegram:42:7"])
    user_id: str | None = Field(default=None, description="Without a session: all sessions of this user.")
    first: int | None = Field(default=None, description="From this message on.")
    last: int | None = Field(default=None, description="Up to this message.")
    note: str | None = Field(default=None, description="What this note, or entry of one, rests on.")
    archived: bool = Field(default=False, description="With a query: only what is archived.")
    limit: Limit = Field(default=None, examples=[5])
    threshold: float | None = Field(default=None, description="The least score, from 0 to 1.")


class SessionAnswer(BaseModel):
    """A conversation as a whole."""

    key: str = Field(examples=["telegram:42:7"])
    channel: str = Field(examples=["telegram"])
    user_id: str | None = Field(examples=["ann"])
    created_at: datetime
    updated_at: datetime
    last_sequence: int = Field(description="The number of the newest message.", examples=[2])
    message_count: int = Field(description="Messages that are not archived.", examples=[2])
    archived_count: int = Field(examples=[0])
    total_tokens: int = Field(description="Tokens of everything ever said in it.", examples=[19])


class SessionsAnswer(BaseModel):
    """One page of conversations, the newest first."""

    sessions: list[SessionAnswer]
    next_cursor: str | None = Field(description="Where the next page begins; null on the last one.")
    total_count: int = Field(examples=[1])


class MessageAnswer(BaseModel):
    """A message as it is stored."""

    session_key: str = Field(examples=["telegram:42:7"])
    sequence: int = Field(description="Its number in the session, from 1.", examples=[1])
    kind: MessageKind = Field(description="`summary` stands for what was archived.", examples=["message"])
    id: str = Field(examples=["update-1041"])
    role: Role = Field(examples=["user"])
    author: str | None = Field(examples=["Ann"])
    content: str = Field(examples=["I parked on the second floor."])
    parts: list[PartBody]
    tokens: int = Field(examples=[9])
    at: datetime
    archived_at: datetime | None


class AppendedAnswer(BaseModel):
    """The messages as they are stored, in the order of the request."""

    messages: list[MessageAnswer]


class MessagesAnswer(BaseModel):
    """Messages, oldest first, and how far the conversation goes."""

    messages: list[MessageAnswer]
    last_sequence: int = Field(description="The number of the newest message there is.", examples=[1])
    archived_through: int = Field(description="The number of the last archived one; 0 for none.", examples=[0])


class RecalledMessage(MessageAnswer):
    """A message that was found."""

    score: float = Field(description="Relevance, from 0 to 1; 1 for what was asked for by its place.", examples=[0.7])
    signals: dict[str, float] = Field(description="The score by signal.")


class RecallAnswer(BaseModel):
    """What was found, and how far it was looked."""

    results: list[RecalledMessage]
    total_count: int = Field(description="All that fitted, before the limit.", examples=[1])
    searched_sessions: int = Field(examples=[1])
    left_out_sessions: int = Field(description="Sessions of the user that were too many to look into.", examples=[0])


class RemovalAnswer(BaseModel):
    """What is gone."""

    deleted: str = Field(description="The session's key.", examples=["telegram:42:7"])
    removed: dict[str, int] = Field(
        description="How much of each kind.", examples=[{"messages": 12, "observations": 1, "memories": 3}]
    )
