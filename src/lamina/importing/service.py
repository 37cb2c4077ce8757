"""Takes what a reader finds into a store: memories as an import of Lamina's own, conversations message by message."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from lamina.app import App
from lamina.errors import InvalidInputError, SessionNotFoundError
from lamina.importing.adk import read_adk
from lamina.importing.chatgpt import read_chatgpt
from lamina.importing.claude import read_claude
from lamina.importing.langgraph import read_langgraph
from lamina.importing.mem0 import read_mem0
from lamina.importing.types import Found, FoundConversation, FoundMemory, LeftOut, Reader, Report
from lamina.integrations.langgraph_namespaces import Namespace
from lamina.kernel.clock import SystemClock
from lamina.memory.parsing import ImportedMemory, parse_line
from lamina.memory.transfer import BATCH, Transfer
from lamina.memory.types import Identifiers
from lamina.session.checked import check_message, check_session_key
from lamina.session.types import NewMessage

Progress = Callable[[int, int | None], None]


class Origin(StrEnum):
    """Where an import comes from."""

    MEM0 = "mem0"
    LANGGRAPH = "langgraph"
    ADK = "adk"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


READERS: Final[Mapping[Origin, Reader]] = {
    Origin.MEM0: read_mem0,
    Origin.LANGGRAPH: read_langgraph,
    Origin.ADK: read_adk,
    Origin.OPENAI: read_chatgpt,
    Origin.ANTHROPIC: read_claude,
}


async def import_from(
    app: App,
    origin: Origin,
    path: Path,
    *,
    whose: Identifiers,
    layouts: Sequence[Namespace] = (),
    dry_run: bool = False,
    progress: Progress = lambda done, total: None,
) -> Report:
    """Take over what `path` holds; what is there already stays as it is, so that an import can be run again.

    What cannot be taken is reported and stops nothing. `layouts` say which namespaces of LangGraph are which layer, as
    for `LaminaStore`. Raises InvalidInputError for a file that is not what it should be: what was taken before that is
    kept.
    """
    if layouts and origin is not Origin.LANGGRAPH:
        raise InvalidInputError("Only LangGraph has namespaces to lay out.", details={"field": "layouts"})
    read = partial(read_langgraph, layouts=layouts) if layouts else READERS[origin]
    taking = _Taking(app, Report(source=origin.value, dry_run=dry_run), progress)
    for found in read(path, whose):
        await taking.take(found)
    await taking.flush()
    return taking.report


class _Taking:
    """An import under way; memories wait for company, as a transaction each would take long."""

    def __init__(self, app: App, report: Report, progress: Progress) -> None:
        self.report = report
        self._app = app
        self._progress = progress
        self._lines: list[bytes] = []
        self._sessions: set[str] = set()
        self._transfer = Transfer(
            database=app.parts.database,
            provider=app.parts.provider,
            settings=app.settings.memory,
            clock=SystemClock(),
            tenant=app.settings.memory.tenant,
        )

    async def take(self, found: Found) -> None:
        """Deal with one thing that was found."""
        match found:
            case LeftOut():
                self.report.leave_out(found)
            case FoundMemory():
                self._remember(found)
            case FoundConversation():
                await self._converse(found)
        if len(self._lines) >= BATCH:
            await self.flush()

    async def flush(self) -> None:
        """Store the memories that wait."""
        lines, self._lines = self._lines, []
        report = self.report
        if report.dry_run:
            report.memories += len(lines)
        elif lines:
            done = await self._transfer.import_lines(lines, on_conflict="skip")
            report.memories += done.stored
            report.known += done.skipped
            report.expired += done.expired
        self._progress(report.memories + report.messages + report.known + report.expired, None)

    def _remember(self, found: FoundMemory) -> None:
        record = {name: value for name, value in found.record.items() if value is not None}
        line = json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "replace")
        try:
            checked = parse_line(
                1,
                line,
                tenant=self._transfer.tenant,
                settings=self._transfer.settings,
                now=self._transfer.clock.now(),
            )
            assert isinstance(checked, ImportedMemory)
        except InvalidInputError as error:
            why = error.message.removeprefix("Line 1: ")
            self.report.leave_out(LeftOut(why=why, what=str(record.get("id"))))
        else:
            self._lines.append(line)

    async def _converse(self, found: FoundConversation) -> None:
        report, sessions = self.report, self._app.sessions
        good = list(self._sayable(found))
        if not good:
            return
        new, before = len(good), 0
        if not report.dry_run:
            before = await self._length(found.session_key)
            for start in range(0, len(good), BATCH):
                stretch = good[start : start + BATCH]
                await sessions.append_many(stretch, session_key=found.session_key, user_id=found.user_id)
            new = await self._length(found.session_key) - before
        report.messages += new
        report.known += len(good) - new
        if found.session_key not in self._sessions and before == 0:
            report.conversations += 1
        self._sessions.add(found.session_key)
        self._progress(report.memories + report.messages + report.known + report.expired, None)

    def _sayable(self, found: FoundConversation) -> Iterator[NewMessage]:
        """The messages that the store takes."""
        for message in found.messages:
            try:
                check_session_key(found.session_key)
                yield check_message(message, self._app.sessions.settings)
            except InvalidInputError as error:
                self.report.leave_out(LeftOut(why=error.message, what=str(message.id)[:80]))

    async def _length(self, key: str) -> int:
        try:
            return (await self._app.sessions.get(key)).last_sequence
        except SessionNotFoundError:
            return 0
