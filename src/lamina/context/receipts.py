"""Stored receipts: the newest of each tenant, to be looked at later. Secrets in a query are hidden first."""

from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa

from lamina.context.receipt import Receipt
from lamina.context.tables import context_receipt
from lamina.database.engine import Database
from lamina.database.link import Link, Prepared
from lamina.database.schema import dump_json, load_json, to_micros
from lamina.errors import ReceiptNotFoundError
from lamina.kernel.checks import check_limit
from lamina.kernel.redact import redact

_MOST = 1000
_columns = context_receipt.c
_ADD = Prepared(
    sa.insert(context_receipt).values(
        {name: sa.bindparam(name) for name in ("tenant", "id", "at", "session_key", "content")}
    )
)
_OLDEST_KEPT = Prepared(
    sa.select(_columns.row)
    .where(_columns.tenant == sa.bindparam("tenant"))
    .order_by(_columns.row.desc())
    .limit(1)
    .offset(sa.bindparam("keep", type_=sa.Integer))
)
_DROP = Prepared(
    sa.delete(context_receipt).where(
        _columns.tenant == sa.bindparam("tenant"), _columns.row <= sa.bindparam("row", type_=sa.BigInteger)
    )
)


class ReceiptStore:
    """The receipts of a store."""

    def __init__(self, database: Database, *, keep: int) -> None:
        """Keep so many of each tenant, the newest; 0 keeps all."""
        self._database = database
        self._keep = keep

    async def add(self, tenant: str, receipt: Receipt) -> None:
        """Store a receipt, and let go of the oldest one beyond those to keep."""
        kept = replace(receipt, query=redact(receipt.query), keywords=tuple(_redacted(receipt)))
        values = {
            "tenant": tenant,
            "id": receipt.id,
            "at": to_micros(receipt.at),
            "session_key": None if receipt.session_key is None else _storable(receipt.session_key),
            "content": dump_json(_plain(kept.to_dict())),
        }

        def write(link: Link) -> None:
            link.run(_ADD, values)
            if self._keep:
                oldest = link.run(_OLDEST_KEPT, {"tenant": tenant, "keep": self._keep}).fetchone()
                if oldest is not None:
                    link.run(_DROP, {"tenant": tenant, "row": oldest[0]})

        await self._database.write(write)

    async def list(self, tenant: str, *, session_key: str | None = None, limit: int = 20) -> tuple[Receipt, ...]:
        """The newest receipts, of one session where it is named. Raises InvalidInputError for a limit out of range."""
        size = check_limit(limit, most=_MOST, operation="receipts")
        wanted = [_columns.tenant == tenant]
        if session_key is not None:
            wanted.append(_columns.session_key == session_key)

        def read(link: Link) -> list[Any]:
            chosen = sa.select(_columns.content).where(*wanted).order_by(_columns.row.desc()).limit(size)
            return list(link.execute(chosen).all())

        return tuple(_receipt(row[0]) for row in await self._database.read(read))

    async def get(self, tenant: str, id: str) -> Receipt:
        """The receipt of this id, or of the one id that begins so. Raises ReceiptNotFoundError."""

        def read(link: Link) -> list[Any]:
            chosen = sa.select(_columns.content).where(
                _columns.tenant == tenant, _columns.id.startswith(id, autoescape=True)
            )
            return list(link.execute(chosen.limit(2)).all())

        found = await self._database.read(read) if id.isascii() and id.isprintable() and id else []
        if len(found) != 1:
            raise ReceiptNotFoundError(
                "More than one receipt begins so; give more of its id." if found else None, details={"id": id}
            )
        return _receipt(found[0][0])


def _receipt(content: object) -> Receipt:
    return Receipt.from_dict(cast(dict[str, Any], load_json(content)))


def _redacted(receipt: Receipt) -> list[str]:
    """The keywords that are still in the query once its secrets are hidden."""
    shown = redact(receipt.query).lower()
    return [word for word in receipt.keywords if word in shown or word not in receipt.query.lower()]


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _plain(value: object) -> object:
    """What both engines store as JSON."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, dict):
        return {_storable(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
