"""The verbs of conversations: what agents, doors and other rooms call."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self, cast

from lamina.database.engine import Database
from lamina.database.link import Link
from lamina.embedding.cached import Vector
from lamina.embedding.job import EmbeddingJob, EmbeddingSink
from lamina.embedding.query import QueryEmbedder
from lamina.errors import LaminaError, MissingIdentifierError
from lamina.index.engine import SearchEngine
from lamina.index.query import Query, prepare_query
from lamina.kernel.checks import check_limit, check_name, check_query, check_share, check_text
from lamina.kernel.clock import Clock
from lamina.kernel.saved import SavedListener
from lamina.kernel.session_key import current_session_key
from lamina.kernel.tokens import TokenCounter, estimate_tokens
from lamina.observability.metrics import Metrics
from lamina.session.appending import AppendedMessages, NewMessages, append_messages
from lamina.session.archiving import compact_session, refuse_unsafe_cut
from lamina.session.checked import check_message, check_sequence, check_session_key
from lamina.session.counting import message_tokens
from lamina.session.cut import recent_window
from lamina.session.preparing import prepare_messages
from lamina.session.reading import (
    StoredSession,
    list_sessions,
    read_before,
    read_live,
    read_messages,
    read_window,
    required_session,
)
from lamina.session.recall import NoteSources, RecallRequest, recall_messages
from lamina.session.removing import Deletion, SessionRemovedListener, delete_session
from lamina.session.rows import message_scope
from lamina.session.settings import SessionSettings
from lamina.session.stored import is_told, saved_text
from lamina.session.types import (
    Appended,
    AppendedListener,
    DeletedListener,
    Message,
    NewMessage,
    Part,
    Recall,
    Role,
    Session,
    SessionPage,
    SessionRemoval,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionService:
    """The conversations of one tenant."""

    database: Database
    engine: SearchEngine
    settings: SessionSettings
    clock: Clock
    metrics: Metrics
    tenant: str
    embedder: QueryEmbedder | None = None
    """Without one, messages are found by their words alone."""
    embeddings: EmbeddingSink | None = None
    """Where messages wait for their vectors; without it vectors are computed during the append."""
    count: TokenCounter = estimate_tokens
    """Counts tokens as the model in use does."""
    session: Callable[[], str | None] = current_session_key
    """The session of the current request, for calls that name none."""
    on_appended: AppendedListener | None = None
    """Told of every append."""
    on_saved: SavedListener | None = None
    """Told of what people and the assistant said."""
    on_removed: tuple[SessionRemovedListener, ...] = ()
    """Remove what other rooms derived from a session, in the transaction that deletes it."""
    on_deleted: DeletedListener | None = None
    """Told of every session that is gone, to let go of what is in memory."""
    note_sources: NoteSources | None = None
    """Knows which messages a note rests on."""

    def for_tenant(self, tenant: str) -> Self:
        """The same for another tenant; raises InvalidInputError for a blank one."""
        return replace(self, tenant=check_name("tenant", tenant))

    def counting_with(self, count: TokenCounter) -> Self:
        """The same with another token counter, for what is appended from now on."""
        return replace(self, count=count)

    async def append(
        self,
        *,
        role: Role | str,
        content: str = "",
        parts: Sequence[Part] = (),
        author: str | None = None,
        at: datetime | None = None,
        id: str | None = None,
        session_key: str | None = None,
        user_id: str | None = None,
    ) -> Message:
        """Store one message at the end of a session, which is made where it is not there yet.

        Without `session_key` it is the bound session; without `at`, now. A message whose `id` the session has already
        is not stored again: the stored one comes back. Raises MissingIdentifierError without a session,
        InvalidInputError, ContentTooLongError.
        """
        new = NewMessage(role=cast(Role, role), content=content, parts=tuple(parts), author=author, at=at, id=id)
        return (await self.append_many([new], session_key=session_key, user_id=user_id))[0]

    async def append_many(
        self, messages: Sequence[NewMessage], *, session_key: str | None = None, user_id: str | None = None
    ) -> tuple[Message, ...]:
        """Store messages in their order, all or none, in one transaction; they come back as they are stored."""
        with self._verb("session_append"):
            key = self._key(session_key)
            user = None if user_id is None else check_name("user_id", user_id)
            checked = [check_message(one, self.settings) for one in messages]
            if not checked:
                return ()
            new = await self._prepared(key, user, checked)
            done = await self.database.write(lambda link: append_messages(link, new))
            self._announce(key, done)
            return done.messages

    async def messages(
        self,
        session_key: str | None = None,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        archived: bool | None = False,
    ) -> tuple[Message, ...]:
        """Messages after a sequence number, oldest first: those not archived, the archived ones, or (None) all.

        With `before` it is the newest ones before that number, still oldest first, so that a conversation can be read
        backwards. With `after` 0 and no `before` the live conversation begins with the summary of what is archived,
        where there is one. Raises SessionNotFoundError, InvalidInputError.
        """
        with self._verb("session_messages"):
            key = self._key(session_key)
            start = check_sequence("after", after)
            end = None if before is None else check_sequence("before", before, least=1)
            size = self._limit(limit, self.settings.list_limit)

            def read(link: Link) -> list[Message]:
                with link.snapshot():  # the summary and what follows it belong together
                    found = self._found(link, key)
                    through = found.session.archived_count
                    if end is not None:
                        above, top = max(start, through if archived is False else 0), through + 1 if archived else end
                        return read_before(link, found, above=above, before=min(end, top), limit=size)
                    if archived is False:
                        return read_live(link, found, after=start, limit=size)
                    last = through if archived else None
                    return read_messages(link, found, first=start + 1, last=last, limit=size)

            return tuple(await self.database.read(read))

    async def get(self, session_key: str | None = None) -> Session:
        """The session as a whole. Raises SessionNotFoundError."""
        with self._verb("session_get"):
            key = self._key(session_key)
            return (await self.database.read(lambda link: self._found(link, key))).session

    async def list(
        self, *, user_id: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> SessionPage:
        """One page of sessions, the newest first, of one user where one is named.

        Raises InvalidInputError, InvalidCursorError.
        """
        with self._verb("session_list"):
            user = None if user_id is None else check_name("user_id", user_id)
            size = self._limit(limit, self.settings.list_limit)
            return await self.database.read(
                lambda link: list_sessions(link, self.tenant, user_id=user, limit=size, cursor=cursor)
            )

    async def recent(self, session_key: str | None = None, *, budget_tokens: int = 0) -> tuple[Message, ...]:
        """The newest live messages within a budget, oldest first, for a prompt; 0 is unlimited.

        No tool call is apart from its result, and the user's latest message is always there (see `recent_window`).
        Raises SessionNotFoundError.
        """
        with self._verb("session_recent"):
            key = self._key(session_key)
            budget = check_sequence("budget_tokens", budget_tokens)

            def read(link: Link) -> list[Message]:
                with link.snapshot():
                    return read_window(link, self._found(link, key), budget)

            return recent_window(await self.database.read(read), budget_tokens=budget)

    async def recall(
        self,
        query: str | None = None,
        *,
        session_key: str | None = None,
        first: int | None = None,
        last: int | None = None,
        note: str | None = None,
        user_id: str | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        vector: Vector | None = None,
        archived: bool = False,
    ) -> Recall:
        """Messages found again, live and archived alike; with `archived` and a query, archived ones only.

        With a query, those whose words and meaning fit best; without one, those in a range of sequence numbers, or
        those that a note (or one of its entries) rests on; with both, the best of that range or note. A `user_id`
        without a `session_key` looks into all of the user's sessions, the most recently used first, as many as
        `session.recall_sessions` allows. Raises SessionNotFoundError, MissingIdentifierError, QueryTooLongError,
        InvalidInputError.
        """
        with self._verb("session_recall"):
            asked = RecallRequest(
                query=None if query is None else check_query(query, longest=self.settings.max_query_length),
                key=None if session_key is None and user_id is not None else self._key(session_key),
                user_id=None if user_id is None else check_name("user_id", user_id),
                first=None if first is None else check_sequence("first", first, least=1),
                last=None if last is None else check_sequence("last", last, least=1),
                note=None if note is None else check_name("note", note),
                limit=self._limit(limit, self.settings.recall_limit if query is not None else self.settings.max_limit),
                threshold=self.settings.threshold if threshold is None else check_share("threshold", threshold),
                most_sessions=self.settings.recall_sessions,
                archived=archived,
            )
            prepared = None if asked.query is None else await self._query(asked.query, vector)
            now = self.clock.now()
            return await self.database.read(
                lambda link: recall_messages(
                    link, self.engine, self.tenant, asked, prepared, now=now, note_sources=self.note_sources
                )
            )

    async def compact_messages(self, session_key: str | None = None, *, up_to: int, summary: str) -> Message:
        """Archive what was said up to a sequence number and put a summary in its place, in one transaction.

        Nothing is deleted, and `recall` finds what is archived. With `up_to` 0, or what is archived already, only the
        summary is put in place. Raises SessionNotFoundError, and InvalidInputError where the cut would part a tool
        call from its result or take the user's latest message; it names the largest cut that does not.
        """
        with self._verb("session_compact"):
            key = self._key(session_key)
            end = check_sequence("up_to", up_to)
            text = check_text("summary", summary, longest=self.settings.max_message_length)
            tokens = message_tokens(self.count, text)
            now = self.clock.now()

            def compact(link: Link) -> Message:
                held = self._found(link, key, hold=True)
                refuse_unsafe_cut(link, held, end)
                return compact_session(link, held, up_to=end, summary=text, tokens=tokens, now=now)[1]

            return await self.database.write(compact)

    async def delete(
        self, session_key: str | None = None, *, actor: str = "agent", only_of: str | None = None
    ) -> SessionRemoval:
        """Remove a session with everything derived from it, in one transaction. Raises SessionNotFoundError.

        `actor` is who did it in the audit log. With `only_of`, memories and receipts of other users who took part stay.
        """
        with self._verb("session_delete"):
            key = self._key(session_key)
            deletion = Deletion(actor=actor, only_of=only_of)
            scope_id, removed = await self.database.write(
                lambda link: delete_session(link, self._found(link, key, hold=True), deletion, self.on_removed)
            )
            if scope_id is not None:
                self.engine.drop(scope_id)
            if self.on_deleted is not None:
                self.on_deleted(self.tenant, key)
            return SessionRemoval(session_key=key, removed=removed)

    async def _prepared(self, key: str, user_id: str | None, checked: Sequence[NewMessage]) -> NewMessages:
        now = self.clock.now()
        prepared, model_id = await prepare_messages(
            checked,
            key=key,
            now=now,
            count=self.count,
            tenant=self.tenant,
            embedder=self.embedder if self.embeddings is None else None,
            failed=lambda code: self.metrics.operation_failed("session_append", code),
        )
        return NewMessages(tenant=self.tenant, key=key, user_id=user_id, now=now, messages=prepared, model_id=model_id)

    def _announce(self, key: str, done: AppendedMessages) -> None:
        if self.embeddings is not None:
            scope_key = message_scope(self.tenant, done.session_row)
            for one in done.new:
                self.embeddings.submit(EmbeddingJob(scope_key=scope_key, entry=one.row, text=one.prepared.text))
        if self.on_saved is not None:
            for one in done.new:
                if is_told(one.message):
                    self.on_saved(saved_text(self.tenant, one.row, one.message))
        if self.on_appended is not None and done.new:
            self.on_appended(
                Appended(
                    tenant=self.tenant,
                    session_key=key,
                    last_sequence=done.last_sequence,
                    total_tokens=done.total_tokens,
                )
            )

    async def _query(self, query: str, vector: Vector | None) -> Query:
        """A question, analysed; without a vector where the embedder fails, since words find most of it."""
        if vector is None and self.embedder is not None:
            try:
                vector = await self.embedder.embed(query, tenant=self.tenant, purpose="query")
            except LaminaError as error:
                self.metrics.operation_failed("session_recall", error.code)
        return prepare_query(query, vector)

    def _found(self, link: Link, key: str, *, hold: bool = False) -> StoredSession:
        return required_session(link, self.tenant, key, hold=hold)

    def _key(self, given: str | None) -> str:
        key = self.session() if given is None else given
        if key is None:
            raise MissingIdentifierError(
                "No session: pass session_key, or bind one with `with app.session(key):`.",
                details={"missing": ["session_key"], "next": "Name the session; on the command line, --session KEY."},
            )
        return check_session_key(key)

    def _limit(self, given: int | None, default: int) -> int:
        return check_limit(default if given is None else given, most=self.settings.max_limit)

    @contextmanager
    def _verb(self, operation: str) -> Iterator[None]:
        """Measure a verb, and name it in the errors that leave it."""
        with self.metrics.measure(operation):
            try:
                yield
            except LaminaError as error:
                error.operation = error.operation or operation
                raise
