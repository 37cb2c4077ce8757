"""What was decided about texts that read like instructions, for an export and from an import."""

import sqlalchemy as sa

from lamina.context.quarantine import HOLD, State
from lamina.context.tables import quarantine
from lamina.context.types import Origin, parse_place
from lamina.database.link import Link
from lamina.database.schema import dump_json, load_json
from lamina.kernel.checks import refuse
from lamina.kernel.text import unstorable
from lamina.transfer.fields import Field, Shape, choice, moment, name, optional, words
from lamina.transfer.port import Batch, Carried, Cursor, Outcome, Record
from lamina.transfer.rows import count_rows, page

_DIGEST_BYTES = 32


def _check_digest(name: str, given: object) -> bytes:
    try:
        found = bytes.fromhex(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = b""
    if len(found) != _DIGEST_BYTES:
        refuse(f"{name} must be {_DIGEST_BYTES} bytes in hexadecimal digits.", None, field=name)
    return found


def _check_layer(name: str, given: object) -> str:
    try:
        return parse_place(str(given)).value
    except ValueError:
        refuse(f"There is no {name} {str(given)[:80]!a}.", None, field=name)


def _check_reasons(name: str, given: object) -> str:
    if not isinstance(given, list) or not all(isinstance(one, str) and unstorable(one) is None for one in given):
        refuse(f"{name} must be a list of texts.", None, field=name)
    return dump_json(given)


_CASE = Shape(
    "quarantine",
    id=name(),
    layer=Field(_check_layer),
    key=words(),
    digest=Field(_check_digest, lambda stored: bytes(stored).hex()),
    content=words(),
    origin=choice(Origin),
    reasons=Field(_check_reasons, load_json),
    state=choice(State),
    held_at=moment(),
    decided_at=optional(moment()),
    session_key=optional(words()),
)


class QuarantineCarrier:
    """Cases; one about the same text is the same, whatever its id."""

    kind = "quarantine"

    def count(self, link: Link, tenant: str) -> int:
        """How many cases there are."""
        return count_rows(link, quarantine, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Cases in the order in which they were opened."""
        found = page(link, quarantine, tenant, _CASE.names, after, limit)
        return [(row, _CASE.record(values)) for row, values in found]

    def parse(self, given: object) -> Carried:
        """A case."""
        values = _CASE.values(given)
        return Carried(key=values["digest"].hex(), values=values)

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store cases."""
        columns = quarantine.c
        same = sa.and_(
            columns.tenant == batch.tenant,
            sa.or_(
                columns.digest.in_([item.values["digest"] for item in batch.items]),
                columns.id.in_([item.values["id"] for item in batch.items]),
            ),
        )
        found = link.execute(sa.select(columns.digest, columns.id).where(same)).all()
        digests, ids = {bytes(row[0]) for row in found}, {row[1] for row in found}
        present = {item.key for item in batch.items if item.values["digest"] in digests or item.values["id"] in ids}
        chosen = batch.chosen(present)
        if found and batch.on_conflict == "replace":
            link.execute(sa.delete(quarantine).where(same))
        for item in chosen:
            link.run(HOLD[link.name], {**item.values, "tenant": batch.tenant})
        return batch.outcome(chosen, present)
