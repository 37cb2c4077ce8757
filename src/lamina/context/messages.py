"""Archived messages of the session that fit the query: the words themselves, beside the notes on them.

What is not archived is in the conversation anyway, so it is never looked for here.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lamina.context.settings import ContextSettings
from lamina.context.types import ContextItem, LayerRequest, Origin, Semantic
from lamina.errors import SessionNotFoundError
from lamina.session.service import SessionService
from lamina.session.types import Attachment, Message, RecallHit, Role, ToolCall, ToolResult

_ORIGINS = {Role.USER: Origin.USER, Role.SYSTEM: Origin.HOST, Role.ASSISTANT: Origin.AGENT, Role.TOOL: Origin.TOOL}
_MOST_ARCHIVES = 4096
_LONGEST = 50_000
"""Characters of a message that are looked at; a budget leaves out what is far shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSource:
    """Archived messages of the request's own session."""

    service: SessionService
    settings: ContextSettings
    archives: "OrderedDict[tuple[str, str], None]" = field(default_factory=OrderedDict)
    """Sessions that are known to have an archive, so that the others cost no embedding of the query."""

    async def retrieve(self, request: LayerRequest) -> Sequence[ContextItem]:
        """The archived messages that fit the query, best first; none, and no question asked, without a session."""
        if request.session_key is None:
            return ()
        service = self.service if self.service.tenant == request.tenant else self.service.for_tenant(request.tenant)
        try:
            if not await self._has_archive(service, request.session_key):
                return ()
            found = await service.recall(
                request.query,
                session_key=request.session_key,
                limit=request.limit,
                threshold=self.settings.memory_threshold,
                archived=True,
            )
        except SessionNotFoundError:  # nothing was said in it yet
            return ()
        return [message_item(hit) for hit in found]

    async def _has_archive(self, service: SessionService, session_key: str) -> bool:
        key = (service.tenant, session_key)
        if key not in self.archives:
            if not (await service.get(session_key)).archived_count:
                return False
            self.archives[key] = None
            if len(self.archives) > _MOST_ARCHIVES:
                self.archives.popitem(last=False)
        return True


def message_item(hit: RecallHit) -> ContextItem:
    """A recalled message as an item; whatever a tool gave back is the tool's, whoever sent it."""
    message = hit.message
    author = f", {message.author}" if message.author else ""
    return ContextItem(
        layer=Semantic.MESSAGE,
        key=str(message.sequence),
        content=_text(message),
        score=hit.score,
        signals=hit.signals,
        origin=Origin.TOOL if message.results else _ORIGINS[message.role],
        category=f"message {message.sequence}, {message.at:%Y-%m-%d %H:%M}{author}",
        session_key=message.session_key,
        at=message.at,
    )


def _text(message: Message) -> str:
    text = "\n".join(_told(message))
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… (message {message.sequence} goes on)"


def _told(message: Message) -> Iterator[str]:
    if message.content:
        yield message.content
    for part in message.parts:
        match part:
            case ToolCall():
                yield f"calls {part.name}({part.arguments[:_LONGEST]})"
            case ToolResult():
                yield f"{part.name or 'tool'}: {part.content[:_LONGEST]}"
            case Attachment():
                yield f"attached {part.name or 'a file'} ({part.media_type})"
