"""What tools of ADK teach: their calls are noted for the learning engine, and known fixes are handed out."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from google.adk.tools.base_tool import BaseTool

from lamina.context.sources import solution_origin
from lamina.context.suspicion import findings
from lamina.errors import LaminaError, OperationTimeoutError
from lamina.integrations.attached import AttachedApp
from lamina.kernel.redact import redact
from lamina.learning.pattern import error_text
from lamina.learning.proxy import watch_of
from lamina.learning.wrapper import Watch

_log = logging.getLogger("lamina.integrations.adk")


class ReportedError(Exception):
    """An error that a tool returned instead of raising it."""


class ToolLearning:
    """Watches the tools of one invocation."""

    def __init__(self, attached: AttachedApp) -> None:
        self._attached = attached
        self._began: dict[str | None, tuple[Watch, int]] = {}
        self._handed: set[str] = set()

    def begin(self, tool: BaseTool, call_id: str | None) -> None:
        """A tool is about to be called; one that is wrapped already notes its calls itself."""
        app = self._attached.app
        if not app.is_open or watch_of(getattr(tool, "func", tool)) is not None:
            return
        watch = app.learning.watch(tool.name)
        if watch is not None:
            self._began[call_id] = (watch, watch.begin())

    def ended(
        self, tool: BaseTool, call_id: str | None, arguments: Mapping[str, Any], error: BaseException | str | None
    ) -> bool:
        """A call ended; whether it was being watched, which it is once."""
        watch, began = self._began.pop(call_id, (None, 0))
        if watch is None:
            return False
        if error is None:
            watch.succeeded(began, (), (), arguments)
        else:
            watch.failed(began, (), (), arguments, ReportedError(error) if isinstance(error, str) else error)
        return True

    async def known_fix(self, tool: BaseTool, error: BaseException | str) -> dict[str, str] | None:
        """What the model is told of a trusted fix for this error, once an invocation; None where that is off.

        A fix that reads like orders, from somebody who may not give any, is not handed out.
        """
        app = self._attached.app
        if not app.is_open or not app.settings.learning.self_correction:
            return None
        try:
            async with asyncio.timeout(app.settings.context.turn_deadline_s or None):
                known = await self._attached.run(lambda app: app.learning.fix_for(tool.name, error))
        except (LaminaError, TimeoutError) as failure:
            code = failure.code if isinstance(failure, LaminaError) else OperationTimeoutError.code
            app.metrics.operation_failed("adk_fix", code)
            _log.warning("a known fix could not be looked up: %s", code)
            return None
        if known is None or known.fix is None or known.id in self._handed:
            return None
        if findings(known.fix, solution_origin(known.pattern, known.origin.value)):
            _log.warning("the fix of learning %s reads like instructions and was not handed out", known.id)
            return None
        self._handed.add(known.id)
        return {
            "error": self.told(error),
            "known_fix": known.fix,
            "hint": "This fix helped with the same error before. Apply it and call the tool again, once.",
        }

    @staticmethod
    def told(error: BaseException | str) -> str:
        """An error as a model or a store may see it, secrets hidden."""
        return redact(error if isinstance(error, str) else error_text(error))
