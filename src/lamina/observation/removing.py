"""Removes what was noted about a session, in the transaction that deletes the session."""

from lamina.database.link import Link
from lamina.observation.state import delete_state
from lamina.observation.store import delete_observations_by_session, delete_reflections_by_session
from lamina.session.reading import StoredSession


def remove_notes(link: Link, held: StoredSession) -> dict[str, int]:
    """Delete a session's notes and how far it was observed; what went, by kind."""
    removed = {
        "observations": delete_observations_by_session(link, held),
        "reflections": delete_reflections_by_session(link, held),
    }
    delete_state(link, held)
    return removed
