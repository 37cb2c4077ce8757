"""Learnings with what is believed of them, for an export and from an import."""

import sqlalchemy as sa

from lamina.database.link import Link
from lamina.database.texts import RemovedListener
from lamina.index.late import put_terms
from lamina.index.store import touch
from lamina.knowledge.statements import insert_unless_taken
from lamina.knowledge.types import Origin
from lamina.learning.pattern import LONGEST_ERROR, LONGEST_PATTERN
from lamina.learning.rows import identity_of, learning_scope, searched_text
from lamina.learning.settings import LearningSettings
from lamina.learning.tables import learning
from lamina.learning.types import LearningCategory
from lamina.learning.writing import remove
from lamina.transfer.fields import Shape, choice, hidden, moment, name, number, optional, tags, text, whole
from lamina.transfer.port import Batch, Carried, Cursor, Outcome, Record
from lamina.transfer.rows import count_rows, insert_one, page

_INSERT = insert_unless_taken(learning, learning.c.tenant, learning.c.identity)
_LEAST_BELIEF = 1e-9


class LearningCarrier:
    """Learnings; one about the same error of the same tool is the same, whatever its id."""

    kind = "learning"

    def __init__(
        self, rules: LearningSettings, *, hide_secrets: bool, on_removed: RemovedListener | None = None
    ) -> None:
        """`on_removed` removes what other rooms derived from a learning that is replaced."""
        self._on_removed = on_removed
        said = hidden(text(longest=max(rules.max_text_length, LONGEST_ERROR)), hide=hide_secrets)
        self._shape = Shape(
            "learning",
            id=name(),
            tool=optional(name()),
            trigger=said,
            pattern=optional(text(longest=LONGEST_PATTERN)),
            diagnosis=optional(said),
            fix=optional(said),
            category=choice(LearningCategory),
            tags=tags(),
            origin=choice(Origin),
            alpha=number(least=_LEAST_BELIEF),
            beta=number(least=_LEAST_BELIEF),
            occurrence_count=whole(),
            success_count=whole(),
            failure_count=whole(),
            created_at=moment(),
            updated_at=moment(),
            last_seen_at=moment(),
        )

    def count(self, link: Link, tenant: str) -> int:
        """How many learnings there are."""
        return count_rows(link, learning, tenant)

    def read(self, link: Link, tenant: str, after: Cursor, limit: int) -> list[tuple[Cursor, Record]]:
        """Learnings in the order in which they were made."""
        found = page(link, learning, tenant, self._shape.names, after, limit)
        return [(row, self._shape.record(values)) for row, values in found]

    def parse(self, given: object) -> Carried:
        """A learning."""
        values = self._shape.values(given)
        about = {name: values[name] for name in ("tool", "trigger", "pattern")}
        identity = identity_of(**about)
        searched = searched_text(**about, diagnosis=values["diagnosis"], fix=values["fix"])
        return Carried(key=identity, values={**values, "identity": identity}, text=searched)

    def put(self, link: Link, batch: Batch) -> Outcome:
        """Store learnings."""
        tenant = batch.tenant
        same = sa.or_(
            learning.c.identity.in_([item.key for item in batch.items]),
            learning.c.id.in_([item.values["id"] for item in batch.items]),
        )
        found = link.execute(
            sa.select(learning.c.identity, learning.c.id).where(learning.c.tenant == tenant, same)
        ).all()
        identities, ids = {row[0] for row in found}, {row[1] for row in found}
        present = {item.key for item in batch.items if item.key in identities or item.values["id"] in ids}
        chosen = batch.chosen(present)
        if found and batch.on_conflict == "replace":
            remove(link, tenant, [same], self._on_removed)
        if chosen:
            place = touch(link, learning_scope(tenant), added=len(chosen))
            common = {"tenant": tenant, "scope_id": place.scope_id, "indexed": place.version}
            rows = [(insert_one(link, _INSERT[link.name], item, common), item.indexed) for item in chosen]
            put_terms(link, place, tenant=tenant, rows=rows, model_id=batch.model_id)
        return batch.outcome(chosen, present)
