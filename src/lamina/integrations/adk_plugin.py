"""The plugin that lets an app of ADK remember: it tells models and tools their session, stores what is said, and
learns from tools that fail.

Nothing it does can fail a turn: what goes wrong is counted and logged, and the turn goes on. Put it first in the list
of plugins; one that answers in a callback's place keeps the later ones from hearing of it.
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions.session import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from lamina.app import App
from lamina.errors import LaminaError
from lamina.integrations.adk_contents import said
from lamina.integrations.adk_learning import ToolLearning
from lamina.integrations.adk_messages import failure_of, reported_error
from lamina.integrations.adk_recording import Recorder, Recording
from lamina.integrations.adk_turn import Turn, current_turn, enter_turn, session_key_of
from lamina.integrations.attached import attach
from lamina.memory.types import Identifiers

_log = logging.getLogger("lamina.integrations.adk")
_MOST_RUNS = 4096
_CLOSE_S: Final = 4.0


@dataclass(slots=True)
class _Run:
    """One invocation while it runs."""

    turn: Turn
    recording: Recording | None
    """None for an agent that runs inside a tool: its talk with the calling agent is no conversation of the user's."""
    learning: ToolLearning
    leave: list[Callable[[], None]] = field(default_factory=list)


class LaminaPlugin(BasePlugin):
    """Sets the session, stores messages, and learns from tools, for every agent of an app."""

    def __init__(
        self,
        app: App | str | Path,
        *,
        session_key: Callable[[Session], str] = session_key_of,
        identifiers: Callable[[Session], Identifiers] | None = None,
        name: str = "lamina",
    ) -> None:
        """Work on an app; one that is not open is opened by the first turn and closed with the runner.

        `session_key` names a session of ADK, `app:user:session` by default; `identifiers` say whose memories are
        found, by default those of the user, and of the app as `agent_id`.
        """
        super().__init__(name=name)
        self._attached = attach(app)
        self._recorder = Recorder(self._attached)
        self._session_key = session_key
        self._identifiers = identifiers or _of_session
        self._runs: OrderedDict[str, _Run] = OrderedDict()

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> types.Content | None:
        """Begin an invocation: the user's message is stored."""
        with _guarded(self._attached.app):
            run = self._begin(
                invocation_context.invocation_id, invocation_context.session, invocation_context.user_content
            )
            if run.recording is not None:
                run.recording.wake()
        return None

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> types.Content | None:
        """Bind the session for the agent and everything it starts."""
        with _guarded(self._attached.app):
            run = self._run(callback_context)
            run.leave.append(enter_turn(run.turn))
        return None

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> types.Content | None:
        """Bind what was bound before the agent."""
        with _guarded(self._attached.app):
            run = self._runs.get(callback_context.invocation_id)
            if run is not None and run.leave:
                run.leave.pop()()
        return None

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Bind the session for the model, and store what tools gave back."""
        with _guarded(self._attached.app):
            run = self._run(callback_context)
            enter_turn(run.turn)
            if run.recording is not None:
                run.recording.wake()
        return None

    async def on_event_callback(self, *, invocation_context: InvocationContext, event: Event) -> Event | None:
        """Store what was said before this event, in a live conversation, which has no other steps."""
        with _guarded(self._attached.app):
            run = self._runs.get(invocation_context.invocation_id)
            if run is not None and run.recording is not None and invocation_context.live_request_queue is not None:
                run.recording.wake()
        return None

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Bind the session for the tool, and watch it."""
        with _guarded(self._attached.app):
            run = self._run(tool_context)
            enter_turn(replace(run.turn, in_tool=True))
            run.learning.begin(tool, tool_context.function_call_id)
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Note how the call ended; an error that the tool returned counts as one, and may get its known fix."""
        answer = None
        with _guarded(self._attached.app):
            run = self._run(tool_context)
            error = reported_error(result)
            watched = run.learning.ended(tool, tool_context.function_call_id, tool_args, error)
            if watched and error is not None and (fix := await run.learning.known_fix(tool, error)) is not None:
                answer = {**result, **fix}
        return answer

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: BaseException
    ) -> dict[str, Any] | None:
        """Learn from an error, and hand its known fix to the model once where self-correction is on.

        A cancelled call teaches nothing.
        """
        answer: dict[str, Any] | None = None
        with _guarded(self._attached.app):
            run, call_id = self._run(tool_context), tool_context.function_call_id
            run.learning.ended(tool, call_id, tool_args, error)
            if isinstance(error, Exception):
                answer = await run.learning.known_fix(tool, error)
            if answer is None and run.recording is not None and call_id is not None:
                run.recording.fail(call_id, failure_of(call_id, tool.name, run.learning.told(error)))
        return answer

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """End an invocation: everything that was said is stored."""
        await self._end(invocation_context)

    async def on_run_error_callback(self, *, invocation_context: InvocationContext, error: Exception) -> None:
        """End an invocation that failed, in the same way."""
        await self._end(invocation_context)

    async def close(self) -> None:
        """Wait for what is still being stored or learned, and close the app unless its owner opened it."""
        with _guarded(self._attached.app):
            await self._recorder.settle(_CLOSE_S)
            if self._attached.app.is_open:
                await self._attached.run(lambda app: app.learning.drain())
        await self._attached.close()

    async def _end(self, context: InvocationContext) -> None:
        run = self._runs.pop(context.invocation_id, None)
        if run is None:
            return
        with _guarded(self._attached.app):
            while run.leave:
                run.leave.pop()()
            if run.recording is not None:
                await run.recording.finish()

    def _run(self, context: CallbackContext) -> _Run:
        known = self._runs.get(context.invocation_id)
        return known or self._begin(context.invocation_id, context.session, context.user_content)

    def _begin(self, invocation_id: str, session: Session, message: types.Content | None) -> _Run:
        outer = current_turn()
        if outer is not None and outer.in_tool:
            run = _Run(replace(outer, query=said(message), in_tool=False), None, ToolLearning(self._attached))
        else:
            key = self._session_key(session)
            turn = Turn(session_key=key, identifiers=self._identifiers(session), query=said(message))
            run = _Run(turn, self._recorder.begin(key, session), ToolLearning(self._attached))
        self._runs[invocation_id] = run
        while len(self._runs) > _MOST_RUNS:  # those that were cancelled never end
            self._runs.popitem(last=False)
        return run


def _of_session(session: Session) -> Identifiers:
    return Identifiers(agent_id=session.app_name, user_id=session.user_id)


@contextmanager
def _guarded(app: App) -> Iterator[None]:
    """Keep whatever goes wrong inside from the turn, and count it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 -- isolation: ADK ends a run when a plugin fails
        code = error.code if isinstance(error, LaminaError) else type(error).__name__
        app.metrics.operation_failed("adk_plugin", code)
        _log.warning("the plugin failed and the turn went on: %s", code, exc_info=error)
