"""The tables of observational memory.

`observation_state` says how far each session was observed, who works on it, and what that cost; `version` changes with
every lease and every commit, so that nobody commits on what somebody else has changed meanwhile. A `note` is an
observation (generation 0) or a reflection, and its entries go with it. Both belong to the number of a session, which is
never used again.
"""

import sqlalchemy as sa

from lamina.database.schema import Json, RowId, Text, metadata


def _count(name: str) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger, nullable=False)


observation_state = sa.Table(
    "observation_state",
    metadata,
    sa.Column("tenant", Text, nullable=False),
    sa.Column("session_row", sa.BigInteger, nullable=False),
    _count("watermark"),  # the sequence of the last message that was observed
    _count("observed_tokens"),  # the session's tokens up to there
    _count("version"),
    _count("unsettled"),  # 1 while notes changed and nobody looked yet whether they must be condensed
    _count("provisional"),  # notes that a model has to write anew
    sa.Column("lease_owner", Text, nullable=True),
    sa.Column("leased_at", sa.BigInteger, nullable=True),
    sa.Column("lease_until", sa.BigInteger, nullable=True),
    _count("failures"),
    sa.Column("last_error", Text, nullable=True),
    sa.Column("next_attempt_at", sa.BigInteger, nullable=True),
    _count("reflect_failures"),
    sa.Column("reflect_at", sa.BigInteger, nullable=True),
    sa.Column("reflect_tried", Text, nullable=True),  # the observations that no reflection made smaller
    sa.Column("consolidate_tried", Text, nullable=True),  # the reflections that no reflection made smaller
    _count("rewrite_failures"),
    sa.Column("rewrite_at", sa.BigInteger, nullable=True),
    _count("observations"),  # written in all
    _count("reflections"),
    _count("dropped_entries"),
    _count("observer_calls"),
    _count("observer_input_tokens"),
    _count("observer_output_tokens"),
    _count("reflector_calls"),
    _count("reflector_input_tokens"),
    _count("reflector_output_tokens"),
    _count("turns"),
    _count("sent_tokens"),
    _count("unchanged_tokens"),
    sa.PrimaryKeyConstraint("tenant", "session_row"),
)

note = sa.Table(
    "note",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("session_row", sa.BigInteger, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("first_sequence", sa.BigInteger, nullable=False),
    sa.Column("last_sequence", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("source_tokens", sa.BigInteger, nullable=False),
    sa.Column("written_by", Text, nullable=False),
    sa.Column("provisional", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("tenant", "id"),
    sa.Index("ix_note_tenant_session_row_last_sequence", "tenant", "session_row", "last_sequence"),
)

note_entry = sa.Table(
    "note_entry",
    metadata,
    sa.Column("row", RowId, primary_key=True, autoincrement=True),
    sa.Column("tenant", Text, nullable=False),
    sa.Column("note_row", sa.BigInteger, nullable=False),
    sa.Column("id", Text, nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("text", Text, nullable=False),
    sa.Column("kind", Text, nullable=False),
    sa.Column("priority", Text, nullable=False),
    sa.Column("status", Text, nullable=False),
    sa.Column("origin", Text, nullable=False),
    sa.Column("author", Text, nullable=True),
    sa.Column("said_at", sa.BigInteger, nullable=False),
    sa.Column("refers_first", Text, nullable=True),
    sa.Column("refers_last", Text, nullable=True),
    sa.Column("sources", Json, nullable=False),
    sa.UniqueConstraint("tenant", "id"),
    sa.Index("ix_note_entry_note_row_position", "note_row", "position"),
)
