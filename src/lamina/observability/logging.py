"""Log output for the commands and the service; a library user's own logging set-up is never touched."""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

from lamina.observability.settings import LogFormat, LogLevel

current_request: ContextVar[str | None] = ContextVar("lamina request", default=None)
"""The id of the request that is being answered; every line that is written meanwhile carries it."""

_UNSEEN = (*range(0x20), *range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {code: chr(code).encode("unicode_escape").decode() for code in _UNSEEN}
_ESCAPES_WITHIN_LINES = {code: escape for code, escape in _ESCAPES.items() if chr(code) not in "\n\t"}
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class _LaminaHandler(logging.StreamHandler[TextIO]):
    """Ours, so that configuring twice replaces it and leaves others alone. It names the request in every line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as its formatter writes it, with the id of the request, if there is one."""
        request = current_request.get()
        if request is None:
            return super().format(record)
        record.request_id = request
        line = super().format(record)
        return line if isinstance(self.formatter, JsonFormatter) else f"{line} [{request}]"


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, what `extra` added, and the traceback if any."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line; values that JSON does not know are shown as text."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD | line.keys()}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """A line a record, whatever is said in it: what others sent can neither begin another line nor drive a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; a traceback that another formatter left on it is written anew."""
        record.exc_text = None
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- the name that logging calls
        """The line itself."""
        return super().formatMessage(record).translate(_ESCAPES)

    def formatException(self, ei: Any) -> str:  # noqa: N802 -- the name that logging calls
        """The traceback below it."""
        return super().formatException(ei).translate(_ESCAPES_WITHIN_LINES)


def configure_logging(level: LogLevel = "warning", format: LogFormat = "text", *, stream: TextIO | None = None) -> None:
    """Write what the `lamina` loggers say to `stream`, else to standard error; calling again replaces it."""
    handler = _LaminaHandler(stream or sys.stderr)
    if format == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(TextFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    logger = logging.getLogger("lamina")
    for old in [each for each in logger.handlers if isinstance(each, _LaminaHandler)]:
        logger.removeHandler(old)
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False
