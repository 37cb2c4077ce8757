"""Where rooms report what was done: the port of the audit log, which lives on the floor of the stores."""

from collections.abc import Mapping
from typing import Protocol


class AuditSink(Protocol):
    """Takes a row of the audit log. An implementation never raises: a failing write is counted, not thrown."""

    async def record(
        self,
        *,
        tenant: str,
        action: str,
        actor: str,
        target: str | None = None,
        details: Mapping[str, object] | None = None,
        session_key: str | None = None,
    ) -> None:
        """Keep what was done, by whom, to what; secrets in `target` and `details` are hidden before writing."""
        ...
