"""What the notes of sessions cost in prompts: counted beside the state, without taking part in its version."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from lamina.database.link import Link, Prepared
from lamina.observation.tables import observation_state
from lamina.session.tables import session

_c = observation_state.c
_NAMES = ("turns", "sent_tokens", "unchanged_tokens")
_ADD = Prepared(
    sa.update(observation_state)
    .where(
        _c.tenant == sa.bindparam("of_tenant"),
        _c.session_row
        == sa.select(session.c.row)
        .where(session.c.tenant == sa.bindparam("of_tenant"), session.c.key == sa.bindparam("of_key"))
        .scalar_subquery(),
    )
    .values({name: _c[name] + sa.bindparam(f"more_{name}", type_=sa.BigInteger) for name in _NAMES})
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentTurns:
    """Turns of a session: the tokens of their notes, and those that a turn had in common with the one before it."""

    tenant: str
    session_key: str
    turns: int
    sent_tokens: int
    unchanged_tokens: int

    def __add__(self, other: "SentTurns") -> "SentTurns":
        """Both together; they are of one session."""
        return replace(
            self,
            turns=self.turns + other.turns,
            sent_tokens=self.sent_tokens + other.sent_tokens,
            unchanged_tokens=self.unchanged_tokens + other.unchanged_tokens,
        )


def add_turns(link: Link, counted: Sequence[SentTurns]) -> int:
    """Add turns to their sessions; how many sessions there were. One that was deleted meanwhile is passed over."""
    # In one order, so that two processes never wait for each other.
    return sum(
        link.run(
            _ADD,
            {
                "of_tenant": one.tenant,
                "of_key": one.session_key,
                **{f"more_{name}": getattr(one, name) for name in _NAMES},
            },
        ).rowcount
        for one in sorted(counted, key=lambda one: (one.tenant, one.session_key))
    )
