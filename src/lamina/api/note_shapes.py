"""What answers about notes on conversations look like."""

from datetime import date, datetime

from pydantic import BaseModel, Field

from lamina.api.shapes import Body
from lamina.observation.types import EntryKind, Priority, Speaker, Status


class ToObserve(Body):
    """How to observe now."""

    force: bool = Field(default=False, description="Everything that may be taken, also below the threshold.")


class PeriodAnswer(BaseModel):
    """Days, both included."""

    first: date
    last: date


class EntryAnswer(BaseModel):
    """One line of a note."""

    id: str
    text: str = Field(examples=["Parked on the second floor."])
    kind: EntryKind = Field(examples=["fact"])
    priority: Priority = Field(examples=["medium"])
    status: Status = Field(examples=["open"])
    origin: Speaker = Field(description="Whose words it rests on.", examples=["user"])
    author: str | None
    said_at: datetime
    refers_to: PeriodAnswer | None = Field(description="The days it is about.")
    sources: list[int] = Field(description="The numbers of the messages it comes from.", examples=[[1]])


class NoteAnswer(BaseModel):
    """Entries on one stretch of a conversation."""

    id: str
    generation: int = Field(description="0 for an observation, more for a reflection.", examples=[0])
    first_sequence: int = Field(description="The first message it stands for.", examples=[1])
    last_sequence: int = Field(description="The last one.", examples=[8])
    tokens: int = Field(description="Its tokens in a prompt.", examples=[42])
    source_tokens: int = Field(description="Tokens of the messages it stands for.", examples=[610])
    written_by: str = Field(description="The model's name, or `extractive`.", examples=["extractive"])
    provisional: bool = Field(description="Whether a model will write it anew.")
    created_at: datetime
    entries: list[EntryAnswer]


class NotesAnswer(BaseModel):
    """Observations of a conversation, oldest first."""

    notes: list[NoteAnswer]


class ReflectionsAnswer(BaseModel):
    """Reflections of a conversation, oldest first."""

    reflections: list[NoteAnswer]


class TimelineAnswer(BaseModel):
    """A conversation from its first message to its last: what is archived, noted, condensed and still raw."""

    session_key: str = Field(examples=["telegram:42:7"])
    last_sequence: int = Field(examples=[12])
    archived_through: int = Field(description="The last message in the archive; 0 for none.", examples=[0])
    watermark: int = Field(description="The last message that was observed; 0 for none.", examples=[8])
    pending_tokens: int = Field(description="Tokens after the watermark.", examples=[120])
    observations: list[NoteAnswer]
    reflections: list[NoteAnswer]
    set_aside: list[NoteAnswer] = Field(description="Pinned entries that no prompt has room for.")


class SpentAnswer(BaseModel):
    """What writing notes cost."""

    calls: int = Field(examples=[1])
    input_tokens: int = Field(examples=[640])
    output_tokens: int = Field(examples=[58])


class StatusAnswer(BaseModel):
    """What notes save and cost. Tokens are counted as they are sent."""

    session_key: str | None = Field(description="Null for all conversations together.", examples=["telegram:42:7"])
    sessions: int = Field(examples=[1])
    raw_tokens: int = Field(description="Tokens of everything ever said.", examples=[730])
    observed_tokens: int = Field(examples=[610])
    pending_tokens: int = Field(examples=[120])
    observations: int = Field(examples=[1])
    reflections: int = Field(examples=[0])
    provisional: int = Field(description="Notes that a model has to write anew.", examples=[0])
    memory_tokens: int = Field(description="Tokens of all notes there are now.", examples=[42])
    aside_tokens: int = Field(examples=[0])
    compression: float | None = Field(description="Tokens of messages for each token of notes.", examples=[14.5])
    turns: int = Field(description="Prompts that carried notes.", examples=[3])
    sent_tokens: int = Field(examples=[126])
    unchanged_tokens: int = Field(description="Those that a provider's cache can serve.", examples=[84])
    observer: SpentAnswer
    reflector: SpentAnswer
    dropped_entries: int = Field(description="Lines that could not be proved from the messages.", examples=[0])
    failing: int = Field(description="Conversations whose observation failed last time.", examples=[0])
    last_error: str | None
    next_attempt_at: datetime | None


class ObservedAnswer(BaseModel):
    """What observing now did."""

    sessions: int = Field(examples=[1])
    observed: int = Field(description="Stretches that became a note.", examples=[1])
    nothing: int = Field(description="Stretches with nothing to record.", examples=[0])
    rewritten: int = Field(examples=[0])
    reflected: int = Field(examples=[0])
    consolidated: int = Field(examples=[0])
    rejected: int = Field(examples=[0])
    failures: list[str] = Field(description="Codes of what failed; it is tried again later.")
    busy: list[str] = Field(description="Conversations that somebody else works on.")
