"""Where notes lead back to, for rooms that mostly never ask: the store of notes is imported with the first question."""

from collections.abc import Sequence

from lamina.database.link import Link
from lamina.session.reading import StoredSession


def note_sources(link: Link, of: StoredSession, id: str) -> Sequence[int] | None:
    """The messages that a note of the session, or one of its entries, rests on; None where there is no such note."""
    from lamina.observation.store import find_note_sources

    return find_note_sources(link, of, id)
