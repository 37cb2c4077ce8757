"""One turn of a client's conversation: what is known goes into the request, what is said goes into the store.

Memory helps a turn and never costs one: whatever goes wrong with it, or takes too long, the upstream is asked what the
client asked, and that is counted.
"""

import asyncio
import json
import logging
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Never

from lamina.app import App
from lamina.context.adapter import ContextAdapter, Message
from lamina.context.offering import ToolOffering
from lamina.context.receipt import Prompt
from lamina.endpoint.settings import ProxySettings
from lamina.errors import ForbiddenError, LaminaError, OperationTimeoutError, SessionNotFoundError
from lamina.house.tenant import Tenant
from lamina.proxy.answer import Listening
from lamina.proxy.caller import Caller, caller_of
from lamina.proxy.error import EndpointError, error_answer
from lamina.proxy.form import Body, ChatMessage, Form, offered_tools
from lamina.proxy.headers import RECEIPT, SESSION, WITHOUT, RawHeaders
from lamina.proxy.incoming import Said, latest_user_text, said_in
from lamina.proxy.leaving_out import places_to_leave_out
from lamina.proxy.recording import Record, Recorder, Recording
from lamina.visitor import Visitor

_log = logging.getLogger("lamina.proxy")
OPERATION: Final = "proxy_context"
"""What failures of context are counted as."""
_MOST_ANSWERS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A turn as the upstream gets it."""

    body: bytes
    added: tuple[tuple[str, str], ...] = ()
    """Headers for the answer."""
    listener: Listening | None = None


class Turns:
    """Prepares turns for one tenant of an open app."""

    def __init__(self, app: App, rooms: Tenant, settings: ProxySettings) -> None:
        self._app = app
        self._rooms = rooms
        self._settings = settings
        self.recorder = Recorder(app, rooms)
        self._offering = ToolOffering()
        self._answers: OrderedDict[tuple[bytes, str], str] = OrderedDict()
        """The session of each answer that a later request may refer to, by caller and the answer's id."""

    async def prepare(self, form: Form, visitor: Visitor, headers: RawHeaders, sent: bytes) -> Prepared:
        """The request with context in it; what is no conversation passes as it is.

        Raises EndpointError for headers that name nothing, for a session of another user, and for what the visitor's
        key is not for.
        """
        try:
            return await self._prepared(form, visitor, headers, sent)
        except EndpointError:
            raise
        except (ForbiddenError, SessionNotFoundError) as error:
            raise error_answer(error) from None
        except Exception as error:  # noqa: BLE001 -- isolation: what we cannot read is the upstream's to judge
            self._failed(type(error).__name__)
            return Prepared(body=sent)

    async def _prepared(self, form: Form, visitor: Visitor, headers: RawHeaders, sent: bytes) -> Prepared:
        body = read_body(sent)
        messages = None if body is None else form.messages(body)
        if body is None or messages is None:
            return Prepared(body=sent)
        caller = await _within_reach(visitor, self._caller(headers, body, messages))
        said = said_in(messages)
        prompt, changed, code = await self._with_context(form, body, messages, said, caller)
        added = [(SESSION, caller.session_key)] if caller.session_key is not None else []
        if prompt is not None:
            added.append((RECEIPT, prompt.receipt.id))
        if code is not None:
            added.append((WITHOUT, code))
        return Prepared(
            body=sent if changed is body else write_body(changed),
            added=tuple(added),
            listener=self._listener(form, caller, said),
        )

    def _caller(self, headers: RawHeaders, body: Body, messages: Sequence[ChatMessage]) -> Caller:
        caller = caller_of(headers, body, messages, tenant=self._rooms.name)
        earlier = body.get("previous_response_id")
        known = self._answers.get((caller.credential, earlier)) if isinstance(earlier, str) else None
        if known is None or caller.named:
            return caller
        return Caller(session_key=known, user_id=caller.user_id, named=True, credential=caller.credential)

    async def _with_context(
        self, form: Form, body: Body, messages: Sequence[ChatMessage], said: Sequence[Said], caller: Caller
    ) -> tuple[Prompt | None, Body, str | None]:
        """The prompt, the body with it, and why there is none."""
        deadline = self._app.settings.context.turn_deadline_s
        try:
            # Twice the deadline: within its own, context gives up by itself and says so in the receipt.
            async with asyncio.timeout(2 * deadline or None):
                record = None
                if caller.session_key is not None:
                    record = await self.recorder.record(caller.session_key)
                    _refuse_others(record, caller)
                prompt = await self._prompt(form, body, messages, caller)
                return prompt, await self._changed(form, body, said, record, prompt, caller), prompt.receipt.error
        except EndpointError:
            raise
        except TimeoutError:
            code = OperationTimeoutError.code
        except Exception as error:  # noqa: BLE001 -- isolation: a turn must not fail because its memory did
            code = error.code if isinstance(error, LaminaError) else type(error).__name__
        self._failed(code)
        return None, body, code

    def _failed(self, code: str) -> None:
        self._app.metrics.operation_failed(OPERATION, code)
        _log.warning("a turn went on without context: %s", code)

    async def _prompt(self, form: Form, body: Body, messages: Sequence[ChatMessage], caller: Caller) -> Prompt:
        base = form.instructions(body) if self._settings.placement == "system" else ""
        adapter = ContextAdapter(context=self._offering.context(self._rooms.context, offered_tools(body)))
        return await adapter.augment(
            base,
            [Message(role="user", text=latest_user_text(messages))],
            session_key=caller.session_key,
            identifiers=replace(caller.bound_to, user_id=caller.user_id),
        )

    async def _changed(
        self, form: Form, body: Body, said: Sequence[Said], record: Record | None, prompt: Prompt, caller: Caller
    ) -> Body:
        base = form.instructions(body) if self._settings.placement == "system" else ""
        addition = prompt.text[len(base) :].lstrip("\n")
        if not addition:
            return body
        changed = body
        if self._settings.leave_out_noted and record is not None and prompt.receipt.memory_tokens:
            assert caller.session_key is not None
            noted = (await self._rooms.sessions.get(caller.session_key)).archived_count
            changed = form.without(body, places_to_leave_out(said, record.history, noted))
        return form.extended(changed, addition, self._settings.placement)

    def _listener(self, form: Form, caller: Caller, said: Sequence[Said]) -> Listening | None:
        if caller.session_key is None or not said:
            return None
        recording = Recording(self.recorder, caller, said)
        recording.begin()

        def ended(listening: Listening) -> None:
            if listening.given_up is not None:
                self.recorder.failed(listening.given_up)
            if (id := listening.reader.id) is not None:
                self._remember(caller, id)
            recording.end(said_in(listening.messages()), whole=listening.is_whole)

        return Listening(form.reader(), ended)

    def _remember(self, caller: Caller, answer: str) -> None:
        assert caller.session_key is not None
        self._answers[caller.credential, answer] = caller.session_key
        while len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)


def read_body(sent: bytes) -> Body | None:
    """A JSON object; None for anything else, and for what could not be written again as it is."""
    try:
        body = json.loads(sent, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def write_body(body: Mapping[str, Any]) -> bytes:
    """The JSON text of a body; half of a surrogate pair passes as the escape that it came as."""
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":")).encode()


def _refuse(constant: str) -> Never:
    raise ValueError(constant)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


async def _within_reach(visitor: Visitor, caller: Caller) -> Caller:
    """The caller as the visitor's key has it: whoever is bound to a user is that user, in sessions of their own."""
    if not visitor.grant.bound:
        return caller
    user = visitor.user(caller.user_id, operation=OPERATION)
    bound = replace(caller, user_id=user, bound_to=visitor.grant.identifiers)
    if bound.session_key is not None:
        await visitor.conversation(bound.session_key)
    return bound


def _refuse_others(record: Record, caller: Caller) -> None:
    if caller.user_id is not None and record.user_id not in (None, caller.user_id):
        raise EndpointError(403, "session_of_another_user", "The session belongs to another user.")
