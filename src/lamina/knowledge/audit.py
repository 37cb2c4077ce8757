"""The audit log: what was done, by whom, to what. Rows are only ever added.

Targets and details are redacted before they are written, long texts are cut, and what JSON or the engine cannot hold is
made holdable. A write that fails is logged and counted and never breaks what it reports on.
"""

import logging
import math
import threading
from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any, cast

import sqlalchemy as sa

from lamina.database.engine import Database
from lamina.database.failure import is_driver_error, translate
from lamina.database.link import Link, Prepared
from lamina.database.schema import dump_json, from_micros, load_json, to_micros
from lamina.errors import LaminaError
from lamina.kernel.checks import MAX_INTEGER, check_limit, check_moment, check_name
from lamina.kernel.clock import Clock
from lamina.kernel.cursor import decode_cursor, encode_cursor, fingerprint
from lamina.kernel.redact import redact, redact_value
from lamina.knowledge.tables import audit_log
from lamina.knowledge.types import AuditPage, AuditRow
from lamina.observability.metrics import Metrics

_log = logging.getLogger("lamina.audit")

_LONGEST_TEXT = 2_000
_LONGEST_READ = 20_000  # far more than is stored: a secret that the cut would divide is seen whole
_MOST_ITEMS = 100
_DEEPEST = 32
_MOST_ROWS = 1_000
_DEFAULT_ROWS = 50
_COLUMNS = ("row", "at", "action", "actor", "target", "session_key", "details")
_NAMES = ("tenant", "at", "action", "actor", "target", "session_key", "details")
_ADD = Prepared(sa.insert(audit_log).values({name: sa.bindparam(name) for name in _NAMES}))


class AuditLog:
    """The audit log of a store; implements `lamina.kernel.audit.AuditSink`."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        metrics: Metrics,
        enabled: bool = True,
        tenant: str = "default",
    ) -> None:
        """Write while `enabled`; `tenant` is whose rows a listing shows that names none."""
        self._database = database
        self._tenant = tenant
        self._clock = clock
        self._metrics = metrics
        self._enabled = enabled
        self._gate = threading.Lock()
        self.failed_count = 0
        """Rows that could not be written."""

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
        """Add a row; never raises. Nothing is written while knowledge is switched off."""
        if not self._enabled:
            return
        try:
            values = self._values(tenant, action, actor, target, details, session_key)
            await self._database.write(lambda link: link.run(_ADD, values))
        except Exception as error:  # noqa: BLE001 -- isolation: what is reported on must not fail because its report did
            self._lost(action, error)

    def add(
        self,
        link: Link,
        *,
        tenant: str,
        action: str,
        actor: str,
        target: str | None = None,
        details: Mapping[str, object] | None = None,
        session_key: str | None = None,
    ) -> None:
        """Add a row in the transaction of what it reports on: both are kept, or neither.

        A row that cannot be written is undone alone and counted; only a transaction that is lost as a whole raises.
        """
        if not self._enabled:
            return
        try:
            values = self._values(tenant, action, actor, target, details, session_key)
            with link.savepoint():
                link.run(_ADD, values)
        except Exception as error:  # isolation: what is reported on must not fail because its report did
            if link.name == "sqlite" and not link.raw.in_transaction:
                raise
            self._lost(action, error)

    def _values(
        self,
        tenant: str,
        action: str,
        actor: str,
        target: str | None,
        details: Mapping[str, object] | None,
        session_key: str | None,
    ) -> dict[str, object]:
        return {
            "tenant": tenant,
            "at": to_micros(self._clock.now()),
            "action": _storable(action),
            "actor": _storable(actor),
            "target": None if target is None else _storable(redact(target[:_LONGEST_READ])),
            "session_key": None if session_key is None else _storable(session_key),
            "details": dump_json(_plain(redact_value(_bounded(dict(details or {}))))),
        }

    def _lost(self, action: str, error: Exception) -> None:
        with self._gate:  # rows are written from several threads
            self.failed_count += 1
        known = translate(error) if is_driver_error(error) else error
        self._metrics.operation_failed("audit", known.code if isinstance(known, LaminaError) else LaminaError.code)
        _log.warning("an audit row for %s was lost (%d so far)", action, self.failed_count, exc_info=known)

    async def list(
        self,
        *,
        tenant: str | None = None,
        action: str | None = None,
        actor: str | None = None,
        target: str | None = None,
        session_key: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = _DEFAULT_ROWS,
        cursor: str | None = None,
    ) -> AuditPage:
        """One page of rows that match everything given, newest first; `since` is inclusive, `until` is not.

        Raises InvalidInputError for a limit out of range or a time without a zone, and InvalidCursorError.
        """
        size = check_limit(limit, most=_MOST_ROWS, operation="audit_list")
        since, until = (
            check_moment(name, moment, operation="audit_list") for name, moment in (("since", since), ("until", until))
        )
        whose = self._tenant if tenant is None else check_name("tenant", tenant, operation="audit_list")
        columns = audit_log.c
        exact = {"action": action, "actor": actor, "target": target and redact(target), "session_key": session_key}
        wanted = [columns.tenant == whose]
        wanted += [columns[name] == _storable(value) for name, value in exact.items() if value is not None]
        if since is not None:
            wanted.append(columns.at >= to_micros(since))
        if until is not None:
            wanted.append(columns.at < to_micros(until))
        mark = fingerprint(["audit", whose, exact, since and to_micros(since), until and to_micros(until)])
        if cursor is not None:
            wanted.append(columns.row < decode_cursor(cursor, mark, operation="audit_list"))

        def read(link: Link) -> list[Any]:
            chosen = sa.select(*(columns[name] for name in _COLUMNS)).where(*wanted)
            return list(link.execute(chosen.order_by(columns.row.desc()).limit(size + 1)).all())

        found = await self._database.read(read)
        following = encode_cursor(found[size - 1][0], mark) if len(found) > size else None
        return AuditPage(rows=tuple(map(_row, found[:size])), next_cursor=following)


def _row(row: Any) -> AuditRow:
    return AuditRow(
        sequence=row[0],
        at=from_micros(row[1]),
        action=row[2],
        actor=row[3],
        target=row[4],
        session_key=row[5],
        details=cast(dict[str, object], load_json(row[6])),
    )


def _bounded(value: object, depth: int = 0) -> object:
    """As much of a value as is looked at, so that a huge one costs no more than a large one; cuts say so."""
    if isinstance(value, str):
        return value[:_LONGEST_READ]
    if depth >= _DEEPEST:
        return "[too deep]"
    if isinstance(value, Mapping):
        some = {key: _bounded(item, depth + 1) for key, item in islice(value.items(), _MOST_ITEMS)}
        return some if len(value) <= _MOST_ITEMS else {**some, "…": f"and {len(value) - _MOST_ITEMS} more"}
    if isinstance(value, list | tuple | set | frozenset):
        items = [_bounded(item, depth + 1) for item in islice(value, _MOST_ITEMS)]
        return items if len(value) <= _MOST_ITEMS else [*items, f"… and {len(value) - _MOST_ITEMS} more"]
    return value


def _plain(value: object) -> object:
    """What both engines store as JSON."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_INTEGER:
        return str(value)
    if isinstance(value, dict):
        return {_storable(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _storable(text: str) -> str:
    clean = text.replace("\0", "").encode("utf-8", "replace").decode()
    if len(clean) <= _LONGEST_TEXT:
        return clean
    length = f"{len(clean)}" if len(clean) < _LONGEST_READ else f"{_LONGEST_READ} or more"
    return f"{clean[:_LONGEST_TEXT]}… ({length} characters)"
