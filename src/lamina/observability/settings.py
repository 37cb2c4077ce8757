"""The knobs of logging."""

from dataclasses import dataclass
from typing import Literal

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingSettings:
    """What the commands and the service write to standard error; a library user configures logging alone."""

    level: LogLevel = "warning"
    """The least severe message shown: `debug`, `info`, `warning` or `error`."""
    format: LogFormat = "text"
    """`text` for people, `json` for one object a line."""
