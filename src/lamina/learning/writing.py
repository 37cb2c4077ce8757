"""Changes to stored learnings: each function is one step of a transaction and keeps the index in step.

Counts are added in the statement itself, so that no concurrent count is lost, and they touch no index.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.database.schema import to_micros
from lamina.database.slots import Slot, reserve_slot
from lamina.database.texts import RemovedListener
from lamina.errors import ProviderError
from lamina.index.late import put_terms
from lamina.index.store import Indexable, bury, forget, indexable, touch
from lamina.kernel.ids import new_id
from lamina.knowledge.statements import find_to_change, insert_unless_taken, update_row
from lamina.knowledge.types import Origin
from lamina.learning.confidence import UNTRIED, USER_SAID, Belief
from lamina.learning.rows import (
    LEARNING_COLUMNS,
    identity_of,
    learning_from_row,
    learning_scope,
    learning_values,
    text_of,
)
from lamina.learning.tables import learning
from lamina.learning.types import Learning, LearningCategory, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is to be learned, checked and without secrets."""

    tenant: str
    tool: str | None
    trigger: str
    pattern: str | None
    diagnosis: str | None
    fix: str | None
    category: LearningCategory
    tags: tuple[str, ...] | None
    origin: Origin
    now: datetime
    seen: int
    """How often the error occurred; 0 for what somebody said."""
    slot: Slot | None
    most: int

    @property
    def identity(self) -> str:
        """The key of its row."""
        return identity_of(tool=self.tool, trigger=self.trigger, pattern=self.pattern)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A learning after a change, and its row."""

    row: int
    learning: Learning
    outcome: Outcome


class LearningTakenError(ProviderError):
    """Another process stored the same new learning at this moment; try again."""


_INSERT = insert_unless_taken(learning, learning.c.tenant, learning.c.identity)
_UPDATE = update_row(learning)
_FIND = find_to_change(learning, LEARNING_COLUMNS, learning.c.identity)
_FIND_BY_ID = find_to_change(learning, LEARNING_COLUMNS, learning.c.id)
_AT = (learning.c.tenant == sa.bindparam("of_tenant"), learning.c.row == sa.bindparam("at_row"))
_SEE = Prepared(
    sa.update(learning)
    .where(*_AT)
    .values(
        occurrence_count=learning.c.occurrence_count + sa.bindparam("seen", type_=sa.BigInteger),
        last_seen_at=sa.case(
            (learning.c.last_seen_at > sa.bindparam("now", type_=sa.BigInteger), learning.c.last_seen_at),
            else_=sa.bindparam("now", type_=sa.BigInteger),
        ),
    )
)


def _counted(name: str, column: sa.ColumnElement[Any], kind: Any) -> sa.ColumnElement[Any]:
    return column + sa.cast(sa.bindparam(name, type_=sa.BigInteger), kind)


_COUNT = Prepared(
    sa.update(learning)
    .where(learning.c.tenant == sa.bindparam("of_tenant"), learning.c.id == sa.bindparam("of_id"))
    .values(
        alpha=_counted("won", learning.c.alpha, sa.Double),
        success_count=_counted("won", learning.c.success_count, sa.BigInteger),
        beta=_counted("lost", learning.c.beta, sa.Double),
        failure_count=_counted("lost", learning.c.failure_count, sa.BigInteger),
        updated_at=sa.bindparam("now"),
    )
    .returning(*LEARNING_COLUMNS)
)


def prior(origin: Origin, fix: str | None) -> Belief:
    """What is believed of a fix before its first trial."""
    return USER_SAID if origin is Origin.USER and fix is not None else UNTRIED


def learn(link: Link, draft: Draft) -> Saved:
    """Store a new learning, or count an occurrence of a known one and take over its new fix, if there is one.

    Raises RateLimitedError when a new learning finds no slot left, LearningTakenError when another was first.
    """
    found = link.run(_FIND[link.name], {"tenant": draft.tenant, "name": draft.identity}).fetchone()
    if found is None:
        return _create(link, draft)
    old = learning_from_row(found)
    if draft.seen:
        link.run(_SEE, {**_at(draft.tenant, found[0]), "seen": draft.seen, "now": to_micros(draft.now)})
        old = replace(
            old,
            occurrence_count=old.occurrence_count + draft.seen,
            last_seen_at=max(draft.now, old.last_seen_at),
        )
    if draft.fix is None:
        return Saved(row=found[0], learning=old, outcome="unchanged")
    return _amend(link, draft.tenant, found, old, draft)


def _create(link: Link, draft: Draft) -> Saved:
    if draft.slot is not None:
        reserve_slot(link, draft.slot, most=draft.most)
    new = Learning(
        id=new_id(),
        tool=draft.tool,
        trigger=draft.trigger,
        pattern=draft.pattern,
        diagnosis=draft.diagnosis,
        fix=draft.fix,
        category=draft.category,
        tags=draft.tags or (),
        origin=draft.origin,
        belief=prior(draft.origin, draft.fix),
        occurrence_count=draft.seen,
        success_count=0,
        failure_count=0,
        created_at=draft.now,
        updated_at=draft.now,
        last_seen_at=draft.now,
    )
    place = touch(link, learning_scope(draft.tenant), added=1)
    values = {**learning_values(draft.tenant, new), "scope_id": place.scope_id, "indexed": place.version}
    inserted = link.run(_INSERT[link.name], values).fetchone()
    if inserted is None:
        raise LearningTakenError
    put_terms(link, place, tenant=draft.tenant, rows=[(inserted[0], _indexable(new))])
    return Saved(row=inserted[0], learning=new, outcome="created")


def _amend(link: Link, tenant: str, found: Any, old: Learning, draft: Draft) -> Saved:
    """Give a known learning another fix or explanation. A fix starts afresh: the record is that of the old one."""
    fixed = draft.fix != old.fix
    if fixed and draft.origin is not Origin.USER and _users_word(old):
        return Saved(row=found[0], learning=old, outcome="kept")
    by_user = draft.origin is Origin.USER and old.origin is not Origin.USER
    start = prior(draft.origin, draft.fix)
    new = replace(
        old,
        diagnosis=old.diagnosis if draft.diagnosis is None else draft.diagnosis,
        fix=draft.fix,
        category=draft.category if draft.category is LearningCategory.USER_CORRECTION else old.category,
        tags=old.tags if draft.tags is None else draft.tags,
        origin=draft.origin if fixed or by_user else old.origin,
        belief=start if fixed or (by_user and start.confidence > old.confidence) else old.belief,
    )
    if new == old:
        return Saved(row=found[0], learning=old, outcome="unchanged")
    new = replace(new, updated_at=max(draft.now, old.updated_at))
    _store(link, tenant, found[0], found[1], old, new)
    return Saved(row=found[0], learning=new, outcome="changed")


def _users_word(one: Learning) -> bool:
    """Whether a fix is the user's; it stands against an agent's until its own record speaks against it."""
    return one.fix is not None and one.origin is Origin.USER and one.belief.alpha > one.belief.beta


def change(link: Link, tenant: str, id: str, draft: Draft) -> Saved | None:
    """Give the learning of this id another fix; None when there is none."""
    found = link.run(_FIND_BY_ID[link.name], {"tenant": tenant, "name": id}).fetchone()
    return None if found is None else _amend(link, tenant, found, learning_from_row(found), draft)


def _store(link: Link, tenant: str, row: int, indexed: int, old: Learning, new: Learning) -> None:
    if text_of(new) != text_of(old):
        place = touch(link, learning_scope(tenant), added=0)
        bury(link, tenant=tenant, scope_id=place.scope_id, rows=[(row, indexed)])
        put_terms(link, place, tenant=tenant, rows=[(row, _indexable(new))])
        indexed = place.version
    link.run(_UPDATE, {**learning_values(tenant, new), "indexed": indexed, "at_row": row, "of_tenant": tenant})


def count_outcomes(
    link: Link, tenant: str, id: str, *, successes: int, failures: int, now: datetime
) -> Learning | None:
    """Add what became of a fix; None when there is no such learning."""
    params = {"of_tenant": tenant, "of_id": id, "won": successes, "lost": failures, "now": to_micros(now)}
    row = link.run(_COUNT, params).fetchone()
    return None if row is None else learning_from_row(row)


def remove(
    link: Link, tenant: str, condition: Sequence[sa.ColumnElement[bool]], on_removed: RemovedListener | None
) -> list[Learning]:
    """Delete the learnings a condition chooses, with their index rows; what they were, newest first."""
    chosen = choose(condition, tenant)
    if link.name == "postgresql":
        chosen = chosen.with_for_update()
    rows = list(link.execute(chosen).all())
    if rows:
        place = touch(link, learning_scope(tenant), added=-len(rows))
        pairs = [(row[0], row[1]) for row in rows]
        forget(link, tenant=tenant, scope_id=place.scope_id, version=place.version, rows=pairs)
        for start in range(0, len(rows), _CHUNK):
            numbers = [row[0] for row in rows[start : start + _CHUNK]]
            link.execute(sa.delete(learning).where(learning.c.tenant == tenant, learning.c.row.in_(numbers)))
        if on_removed is not None:
            on_removed(link, tenant, "learning", [row[2] for row in rows])
    return [learning_from_row(row) for row in reversed(rows)]


_CHUNK = 500


def choose(condition: Sequence[sa.ColumnElement[bool]], tenant: str) -> sa.Select[Any]:
    """The rows a condition chooses, in the order in which they are locked."""
    return sa.select(*LEARNING_COLUMNS).where(learning.c.tenant == tenant, *condition).order_by(learning.c.row)


def _indexable(one: Learning) -> Indexable:
    return indexable(text_of(one), None)


def _at(tenant: str, row: int) -> dict[str, Any]:
    return {"of_tenant": tenant, "at_row": row}
